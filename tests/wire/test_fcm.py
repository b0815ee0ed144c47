"""The FCM adapter against a local Google."""

import asyncio
import logging
from pathlib import Path
from typing import Any

import jwt
import msgspec
import pytest

from notify_streams.domain.answers import Answer, EndpointGone, Misconfigured, Refused, Sent, TryLater, Unknown
from notify_streams.providers.fcm.adapter import FcmProvider
from notify_streams.settings import Channel, Provider, SettingsError
from tests.builders import NOW
from tests.google import BAD_FIELD, fcm_at, fcm_code, fcm_error, google, quota
from tests.push import IDENTITY, a_push, p256, pem, public_pem, rsa_key, written

TOKEN = "cRx9:APA91bToken"
HOUR = 3_600_000


async def test_a_message_goes_out_as_firebase_documents_it(tmp_path: Path) -> None:
    """RTY-07: its own time to live is the 90 s that are left."""
    message = a_push(TOKEN, platform="android", lane="high", link="https://shop.example/1", image="https://i.example")
    async with google() as server, fcm_at(server, tmp_path) as provider:
        assert await provider.send(message, now=NOW) == Sent("projects/shop-1/messages/1")
    assert server.paths == ["/v1/projects/shop-1/messages:send"]
    assert server.messages == [
        {
            "token": TOKEN,
            "notification": {"title": "Hello", "body": "Ann wrote", "image": "https://i.example"},
            "data": {"delivery_id": message.delivery_id, "link": "https://shop.example/1"},
            "android": {
                "collapse_key": IDENTITY,
                "ttl": "90s",
                "priority": "HIGH",
                "notification": {"tag": IDENTITY},
            },
        }
    ]


async def test_a_token_of_ios_or_the_web_brings_its_platform_s_block(tmp_path: Path) -> None:
    async with google() as server, fcm_at(server, tmp_path) as provider:
        await provider.send(a_push(TOKEN, badge=2, lane="low"), now=NOW)
        await provider.send(a_push(TOKEN, platform="web", link="https://shop.example/1"), now=NOW)
    ios, web = server.messages
    assert ios["apns"] == {
        "headers": {
            "apns-push-type": "alert",
            "apns-priority": "5",
            "apns-expiration": str(NOW // 1000 + 90),
            "apns-collapse-id": IDENTITY,
        },
        "payload": {"aps": {"sound": "default", "badge": 2}},
    }
    assert web["webpush"] == {
        "headers": {"TTL": "90", "Urgency": "normal", "Topic": IDENTITY},
        "notification": {"tag": IDENTITY},
        "fcm_options": {"link": "https://shop.example/1"},
    }


async def test_a_time_to_live_is_at_most_four_weeks(tmp_path: Path) -> None:
    async with google() as server, fcm_at(server, tmp_path) as provider:
        await provider.send(a_push(TOKEN, platform="android", expires_at=NOW + 400 * 24 * HOUR), now=NOW)
    assert server.messages[0]["android"]["ttl"] == "2419200s"


async def test_a_long_text_is_cut_to_what_fcm_takes(tmp_path: Path) -> None:
    """TPL-11: bytes, at the border of a character as read."""
    family = "\U0001f468\u200d\U0001f469\u200d\U0001f467\u200d\U0001f466"
    message = a_push(TOKEN, platform="android", body=family * 300)
    async with google() as server, fcm_at(server, tmp_path) as provider:
        assert isinstance(await provider.send(message, now=NOW), Sent)
    body = server.messages[0]["notification"]["body"]
    counted = len(server.bodies[0]) - len('{"message":{"token":"",}}') - len(TOKEN)
    assert 4096 - 25 < counted <= 4096
    assert body == family * body.count(family) + "…"
    assert b"\\u" not in server.bodies[0]


async def test_what_has_no_room_for_a_text_is_refused_before_anybody_is_called(tmp_path: Path) -> None:
    async with google() as server, fcm_at(server, tmp_path) as provider:
        assert isinstance(await provider.send(a_push(TOKEN, link="https://x/" + "x" * 5000), now=NOW), Refused)
        assert server.assertions == server.messages == []


async def test_the_assertion_is_one_that_google_can_check(tmp_path: Path) -> None:
    async with google() as server, fcm_at(server, tmp_path) as provider:
        await provider.send(a_push(TOKEN), now=NOW)
    form = server.assertions[0]
    assert form["grant_type"] == "urn:ietf:params:oauth:grant-type:jwt-bearer"
    audience = f"http://127.0.0.1:{server.port}/token"
    options: Any = {"verify_iat": False, "verify_exp": False}
    claims = jwt.decode(form["assertion"], public_pem(rsa_key()), ["RS256"], audience=audience, options=options)
    assert claims == {
        "iss": "push@shop-1.iam.gserviceaccount.com",
        "scope": "https://www.googleapis.com/auth/firebase.messaging",
        "aud": audience,
        "iat": NOW // 1000,
        "exp": NOW // 1000 + 3600,
    }
    assert jwt.get_unverified_header(form["assertion"])["kid"] == "kid-1"
    assert server.bearers == ["Bearer ya29.1"]


async def test_a_token_is_fetched_once_and_renewed_before_its_end_without_anybody_waiting(tmp_path: Path) -> None:
    async with google(token_takes_s=0.1) as server, fcm_at(server, tmp_path) as provider:
        await asyncio.gather(*(provider.send(a_push(TOKEN), now=NOW) for _ in range(20)))
        assert len(server.assertions) == 1
        late = NOW + HOUR - 60_000
        await asyncio.gather(*(provider.send(a_push(TOKEN), now=late) for _ in range(20)))
        assert len(server.assertions) == 2
        assert set(server.bearers) == {"Bearer ya29.1"}
        await asyncio.sleep(0.15)
        await provider.send(a_push(TOKEN), now=late)
        assert server.bearers[-1] == "Bearer ya29.2"
        assert len(server.assertions) == 2


async def test_a_refused_assertion_is_ours_to_mend(tmp_path: Path) -> None:
    refused = (400, {"error": "invalid_grant", "error_description": "Invalid JWT Signature for push@shop-1"})
    async with google(tokens=[refused]) as server, fcm_at(server, tmp_path) as provider:
        answers = await asyncio.gather(*(provider.send(a_push(TOKEN), now=NOW) for _ in range(10)))
        assert set(answers) == {Misconfigured("no access token: 400 invalid_grant")}
        assert len(server.assertions) == 1
        assert server.messages == []


@pytest.mark.parametrize("told", [(503, {}), (0, {}), (429, {})])
async def test_a_token_that_cannot_be_had_now_is_asked_for_later(tmp_path: Path, told: tuple[int, Any]) -> None:
    async with google(tokens=[told]) as server, fcm_at(server, tmp_path) as provider:
        answer = await provider.send(a_push(TOKEN), now=NOW)
        assert isinstance(answer, TryLater)
        assert answer.about == "provider"
        assert server.messages == []


async def test_the_attempt_s_time_is_for_token_and_message_together(tmp_path: Path) -> None:
    async with google(token_takes_s=0.5) as server, fcm_at(server, tmp_path, timeout="300ms") as provider:
        began = asyncio.get_running_loop().time()
        assert await provider.send(a_push(TOKEN), now=NOW) == TryLater("no access token in time", None, "provider")
        assert asyncio.get_running_loop().time() - began < 0.45


async def test_while_a_token_holds_a_failed_renewal_is_nobody_s_failure(tmp_path: Path) -> None:
    ok = (200, {"access_token": "ya29.a", "expires_in": 3600})
    async with google(tokens=[ok, (503, {})]) as server, fcm_at(server, tmp_path) as provider:
        await provider.send(a_push(TOKEN), now=NOW)
        for _ in range(3):
            assert isinstance(await provider.send(a_push(TOKEN), now=NOW + HOUR - 1000), Sent)
        assert isinstance(await provider.send(a_push(TOKEN), now=NOW + HOUR), TryLater)


async def test_a_token_that_ended_early_is_replaced_within_the_attempt(tmp_path: Path) -> None:
    sends = [fcm_error(401, "UNAUTHENTICATED"), (200, {"name": "n"}), fcm_error(401, "UNAUTHENTICATED")]
    async with google(sends=sends) as server, fcm_at(server, tmp_path) as provider:
        assert await provider.send(a_push(TOKEN), now=NOW) == Sent("n")
        assert server.bearers == ["Bearer ya29.1", "Bearer ya29.2"]
        assert await provider.send(a_push(TOKEN), now=NOW) == Misconfigured("401 UNAUTHENTICATED")
        assert len(server.bearers) == 4


TABLE: list[tuple[tuple[int, Any], Answer]] = [
    (fcm_error(404, "NOT_FOUND", fcm_code("UNREGISTERED")), EndpointGone("404 UNREGISTERED")),
    (fcm_error(400, "INVALID_ARGUMENT", fcm_code("INVALID_ARGUMENT")), EndpointGone("400 INVALID_ARGUMENT")),
    (fcm_error(400, "INVALID_ARGUMENT", BAD_FIELD), Refused("400 INVALID_ARGUMENT")),
    (fcm_error(403, "PERMISSION_DENIED", fcm_code("SENDER_ID_MISMATCH")), EndpointGone("403 SENDER_ID_MISMATCH")),
    (fcm_error(403, "PERMISSION_DENIED"), Misconfigured("403 PERMISSION_DENIED")),
    (
        fcm_error(429, "RESOURCE_EXHAUSTED", fcm_code("QUOTA_EXCEEDED")),
        TryLater("429 QUOTA_EXCEEDED", 60.0, "provider"),
    ),
    (fcm_error(503, "UNAVAILABLE", fcm_code("UNAVAILABLE")), TryLater("503 UNAVAILABLE", None, "provider")),
    (fcm_error(500, "INTERNAL", fcm_code("INTERNAL")), TryLater("500 INTERNAL", None, "provider")),
    (
        fcm_error(401, "UNAUTHENTICATED", fcm_code("THIRD_PARTY_AUTH_ERROR")),
        TryLater("401 THIRD_PARTY_AUTH_ERROR", None, "endpoint"),
    ),
    (
        fcm_error(429, "RESOURCE_EXHAUSTED", fcm_code("QUOTA_EXCEEDED"), quota("device:x")),
        TryLater("429 QUOTA_EXCEEDED", 60.0, "endpoint"),
    ),
    (
        fcm_error(400, "INVALID_ARGUMENT", fcm_code("INVALID_ARGUMENT"), BAD_FIELD),
        Refused("400 INVALID_ARGUMENT"),
    ),
    (fcm_error(400, "INVALID_ARGUMENT"), Refused("400 INVALID_ARGUMENT")),
    (fcm_error(404, "NOT_FOUND"), Misconfigured("404 NOT_FOUND")),
    ((404, []), Refused("404")),
    ((403, {"error": "text"}), Misconfigured("403")),
    ((413, {}), Refused("413")),
    ((429, {}), TryLater("429", 60.0, "provider")),
    ((502, {"error": {"status": 7, "details": "x"}}), TryLater("502", None, "provider")),
    ((501, {}), Refused("501")),
    ((302, {}), Misconfigured("302")),
]


@pytest.mark.parametrize(("told", "expected"), TABLE, ids=[f"{i}-{a.detail}" for i, (_, a) in enumerate(TABLE)])
async def test_each_code_has_its_meaning(tmp_path: Path, told: tuple[int, Any], expected: Answer) -> None:
    """TOK-04, RTY-04: the two answers with 400 differ in the kind of their detail alone."""
    async with google(sends=[told]) as server, fcm_at(server, tmp_path) as provider:
        assert await provider.send(a_push(TOKEN), now=NOW) == expected
        assert len(server.messages) == 1


async def test_a_token_of_another_sender_is_warned_of_without_being_shown(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """TOK-04."""
    told = fcm_error(403, "PERMISSION_DENIED", fcm_code("SENDER_ID_MISMATCH"))
    async with google(sends=[told]) as server, fcm_at(server, tmp_path) as provider:
        with caplog.at_level(logging.WARNING):
            await provider.send(a_push(TOKEN), now=NOW)
    assert [record.getMessage() for record in caplog.records] == [
        "fcm.configuration provider=fcm code=SENDER_ID_MISMATCH"
    ]
    assert server.messages


async def test_retry_after_is_handed_on(tmp_path: Path) -> None:
    """RTY-02, TOK-11."""
    told = fcm_error(503, "UNAVAILABLE")
    async with google(sends=[told], headers={"Retry-After": "17"}) as server, fcm_at(server, tmp_path) as provider:
        assert await provider.send(a_push(TOKEN), now=NOW) == TryLater("503 UNAVAILABLE", 17.0, "provider")


async def test_an_answer_that_was_lost_is_unknown_and_its_repeat_the_same(tmp_path: Path) -> None:
    """IDM-03, IDM-05: tag and collapse key."""
    message = a_push(TOKEN, platform="android")
    async with google(sends=[(0, {}), (200, {"name": "n"})]) as server, fcm_at(server, tmp_path) as provider:
        assert isinstance(await provider.send(message, now=NOW), Unknown)
        assert await provider.send(message, now=NOW + 2000) == Sent("n")
    first, second = server.messages
    assert first["android"]["collapse_key"] == second["android"]["collapse_key"] == IDENTITY
    assert first["android"]["notification"] == second["android"]["notification"] == {"tag": IDENTITY}
    assert second["android"]["ttl"] == "88s"


@pytest.mark.parametrize(
    ("message", "taken"),
    [
        (a_push("device-1", platform="android"), True),
        (a_push(TOKEN, platform="android"), True),
        (a_push(TOKEN, platform="ios"), True),
        (a_push(TOKEN, platform="web"), True),
        (a_push("device-1", platform=None), True),
        (a_push("0f" * 32, platform="ios"), False),
        (a_push('{"endpoint":"https://x"}', platform="web"), False),
        (a_push('{"endpoint":"https://x"}', platform="android"), False),
    ],
)
async def test_it_takes_android_and_what_has_the_form_of_its_own_tokens(
    tmp_path: Path, message: object, taken: bool
) -> None:
    async with google() as server, fcm_at(server, tmp_path) as provider:
        assert provider.takes(message) is taken  # type: ignore[arg-type]


def test_a_credentials_file_that_is_missing_or_none_is_named_and_not_shown(tmp_path: Path) -> None:
    account = {"project_id": "p", "client_email": "e", "token_uri": "u", "private_key": "s3cret-planted"}
    files = [
        "",
        str(tmp_path / "nowhere.json"),
        written(tmp_path / "a", b"no json"),
        written(tmp_path / "b", msgspec.json.encode(account)),
        written(tmp_path / "c", msgspec.json.encode({**account, "private_key": pem(p256()).decode()})),
        written(tmp_path / "d", msgspec.json.encode({**account, "private_key": pem(rsa_key()).decode()})),
    ]
    for path in files:
        with pytest.raises(SettingsError, match=r"^providers\.fcm\.credentials_file: ") as raised:
            FcmProvider.of(Provider(credentials_file=path), Channel(), name="fcm")
        assert "s3cret" not in str(raised.value)
