"""The simulator's push services: met by our adapters, and by clients that nobody here wrote."""

import asyncio
import shutil
import ssl
import time
from pathlib import Path
from typing import Any

import aiohttp
import httpx
import jwt
import msgspec
import pytest
import pywebpush
from py_vapid import Vapid

from notify_streams.domain.answers import Answer, EndpointGone, Misconfigured, Refused, Sent, TryLater, Unknown
from notify_streams.ports import Message
from notify_streams.providers.simulator.browsers import Refused as NotTaken
from notify_streams.providers.simulator.browsers import Senders
from tests.push import DEVICE, IDENTITY, a_push, p256, pem, rsa_key
from tests.simulated import TOPIC, Simulated, Tell, sending, simulated

FCM_TOKEN = "cRx9:APA91bToken"
KINDS = ("fcm", "apns", "webpush")


async def subscription(to: Simulated, name: str) -> str:
    async with (
        aiohttp.ClientSession() as session,
        session.post(f"{to.url}/webpush/subscribe", json={"name": name}) as r,
    ):
        return await r.text()


async def a_message(to: Simulated, kind: str, name: str = "ann", **more: Any) -> tuple[Message, str]:
    """And the recipient as the log has it."""
    life = {"expires_at": now() + 90_000, **more}
    if kind == "webpush":
        return a_push(await subscription(to, name), platform="web", **life), name
    token = DEVICE if kind == "apns" else FCM_TOKEN
    return a_push(token, platform="ios" if kind == "apns" else "android", **life), token


def now() -> int:
    return round(time.time() * 1000)


@pytest.mark.parametrize("kind", KINDS)
async def test_what_is_sent_is_in_the_log_before_its_answer(tmp_path: Path, kind: str) -> None:
    async with simulated(tmp_path) as to, sending(to, kind) as provider:
        message, name = await a_message(to, kind)
        assert provider.takes(message)
        assert isinstance(await provider.send(message, now=now()), Sent)
    (entry,) = to.kit.entries
    assert (entry.provider, entry.event, entry.to) == (kind, "accepted", name)
    assert (entry.delivery_id, entry.identity) == (message.delivery_id, IDENTITY)
    assert entry.content is not None
    assert b"Ann wrote" in entry.content


@pytest.mark.parametrize("kind", KINDS)
async def test_an_answer_that_is_lost_is_asked_for_once_more_with_the_same_identity(tmp_path: Path, kind: str) -> None:
    """IDM-03, IDM-05: the collapse id, the tag, the topic."""
    async with simulated(tmp_path) as to, sending(to, kind) as provider:
        message, name = await a_message(to, kind)
        to.kit.told[name] = [Tell("drop")]
        assert isinstance(await provider.send(message, now=now()), Unknown)
        assert isinstance(await provider.send(message, now=now()), Sent)
    assert [entry.event for entry in to.kit.entries] == ["dropped", "accepted"]
    assert {entry.identity for entry in to.kit.entries} == {IDENTITY}
    assert {entry.delivery_id for entry in to.kit.entries} == {message.delivery_id}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("told", [Tell("reset"), Tell("hang")])
async def test_a_reset_or_silence_is_unknown(tmp_path: Path, kind: str, told: Tell) -> None:
    async with simulated(tmp_path) as to, sending(to, kind) as provider:
        message, name = await a_message(to, kind)
        to.kit.told[name] = [told]
        assert isinstance(await provider.send(message, now=now()), Unknown)


@pytest.mark.parametrize(
    ("kind", "status", "expected"),
    [
        ("fcm", 404, EndpointGone),
        ("fcm", 400, EndpointGone),
        ("fcm", 403, EndpointGone),
        ("fcm", 429, TryLater),
        ("fcm", 503, TryLater),
        ("apns", 410, EndpointGone),
        ("apns", 400, EndpointGone),
        ("apns", 403, Misconfigured),
        ("apns", 413, Refused),
        ("apns", 429, TryLater),
        ("apns", 503, TryLater),
        ("webpush", 404, EndpointGone),
        ("webpush", 410, EndpointGone),
        ("webpush", 400, Refused),
        ("webpush", 401, Refused),
        ("webpush", 403, Refused),
        ("webpush", 413, Refused),
        ("webpush", 429, TryLater),
        ("webpush", 500, TryLater),
    ],
)
async def test_a_status_alone_is_answered_as_the_vendor_would(
    tmp_path: Path, kind: str, status: int, expected: type[Answer]
) -> None:
    """TOK-04, TOK-05, TOK-11, RTY-04."""
    async with simulated(tmp_path) as to, sending(to, kind) as provider:
        message, name = await a_message(to, kind)
        to.kit.told[name] = [Tell("refuse", status, headers={"Retry-After": "5"})]
        answer = await provider.send(message, now=now())
        assert isinstance(answer, expected)
        if isinstance(answer, TryLater):
            assert answer.retry_after == 5.0
        if kind == "apns" and isinstance(answer, EndpointGone) and status == 410:
            assert answer.since is not None
    assert [entry.event for entry in to.kit.entries] == ["refused"]


@pytest.mark.parametrize("kind", KINDS)
async def test_hundreds_at_once_go_out_once_each(tmp_path: Path, kind: str) -> None:
    async with simulated(tmp_path) as to, sending(to, kind) as provider:
        message, _ = await a_message(to, kind)
        ids = [f"b0a1c2d3-0000-4000-8000-{i:012x}" for i in range(300)]
        messages = [msgspec.structs.replace(message, delivery_id=i) for i in ids]
        answers = await asyncio.gather(*(provider.send(m, now=now()) for m in messages))
    assert all(isinstance(answer, Sent) for answer in answers)
    assert sorted(entry.delivery_id for entry in to.kit.entries) == ids


@pytest.mark.parametrize("kind", KINDS)
async def test_texts_beyond_the_limit_arrive_cut_and_whole_characters_only(tmp_path: Path, kind: str) -> None:
    """TPL-11, TPL-12: it is never sent to be refused."""
    family = "\U0001f468\u200d\U0001f469\u200d\U0001f467\u200d\U0001f466"
    async with simulated(tmp_path) as to, sending(to, kind) as provider:
        message, _ = await a_message(to, kind, body=family * 300)
        assert isinstance(await provider.send(message, now=now()), Sent)
    content = to.kit.entries[0].content
    assert content is not None
    text = content.decode()
    assert family + "…" in text
    assert "\ufffd" not in text
    assert "\\ud83d" not in text.lower()


async def test_apple_s_goodbye_loses_nothing(tmp_path: Path) -> None:
    """TOK-11."""
    async with simulated(tmp_path) as to, sending(to, "apns") as provider:
        message, name = await a_message(to, "apns")
        await provider.send(message, now=now())
        to.kit.told[name] = [Tell("accept", seconds=0.2)] * 50
        under_way = [asyncio.create_task(provider.send(message, now=now())) for _ in range(50)]
        await asyncio.sleep(0.1)
        to.apns.go_away()
        later = [provider.send(message, now=now()) for _ in range(10)]
        answers = await asyncio.gather(*under_way, *later)
    assert all(isinstance(answer, Sent) for answer in answers)
    assert len(to.kit.entries) == 61


async def test_pywebpush_is_understood(tmp_path: Path) -> None:
    async with simulated(tmp_path) as to:
        browser = msgspec.json.decode(await subscription(to, "bea"))
        vapid = Vapid.from_pem(pem(p256()))
        reply = await asyncio.to_thread(
            pywebpush.webpush,
            browser,
            "Hello from another library",
            vapid_private_key=vapid,
            vapid_claims={"sub": "mailto:push@example.com"},
            ttl=60,
        )
        assert reply.status_code == 201
        with pytest.raises(pywebpush.WebPushException, match="403"):
            await asyncio.to_thread(
                pywebpush.webpush,
                browser,
                "Hello",
                vapid_private_key=_another_vapid(),
                vapid_claims={"sub": "mailto:push@example.com"},
                ttl=60,
            )
    assert [entry.content for entry in to.kit.entries] == [b"Hello from another library"]


def _another_vapid() -> Vapid:
    vapid = Vapid()
    vapid.generate_keys()
    return vapid


@pytest.mark.parametrize(
    ("wrong", "status"),
    [
        ({"TTL": None}, 400),
        ({"TTL": "soon"}, 400),
        ({"Authorization": None}, 401),
        ({"Authorization": "vapid t=a.b.c, k=AAAA"}, 403),
        ({"Content-Encoding": "aesgcm"}, 415),
        ({"Topic": "x" * 33}, 400),
        ({"Urgency": "urgent"}, 400),
    ],
)
async def test_a_push_service_takes_nothing_that_is_not_in_order(
    tmp_path: Path, wrong: dict[str, str | None], status: int
) -> None:
    """TOK-05: a request without TTL is refused."""
    async with simulated(tmp_path) as to, sending(to, "webpush") as provider:
        message, _ = await a_message(to, "webpush")
        endpoint = msgspec.json.decode(message.address)["endpoint"]
        good = {
            "TTL": "60",
            "Content-Encoding": "aes128gcm",
            "Authorization": provider.vapid.authorization(to.url, now()),
        }
        headers = {name: value for name, value in {**good, **wrong}.items() if value is not None}
        async with aiohttp.ClientSession() as session, session.post(endpoint, data=b"x", headers=headers) as reply:
            assert reply.status == status
    assert to.kit.entries == []


def test_the_example_of_rfc_8292_is_read_and_no_other_origin_takes_it() -> None:
    """RFC 8292, 2.4."""
    value = (
        "vapid t=eyJ0eXAiOiJKV1QiLCJhbGciOiJFUzI1NiJ9.eyJhdWQiOiJodHRwczovL3B1c2guZXhhbXBsZS5uZXQiLCJleHAiOjE0NTM1"
        "MjM3NjgsInN1YiI6Im1haWx0bzpwdXNoQGV4YW1wbGUuY29tIn0.i3CYb7t4xfxCDquptFOepC9GAu_HLGkMlMuCGSK2rpiUfnK9ojFwDXb"
        "1JrErtmysazNjjvW2L9OkSSHzvoD1oA, k=BA1Hxzyi1RUM1b5wjxsn7nGxAszw2u61m164i3MrAIxHF6YK5h4SDYic-dRuU_RCPCfA5aq9oj"
        "Swk5Y2EmClBPs"
    )
    Senders().check(value, "https://push.example.net", 1_453_523_000)
    for origin, at in (("https://push.example.org", 1_453_523_000), ("https://push.example.net", 1_453_523_768)):
        with pytest.raises(NotTaken) as refused:
            Senders().check(value, origin, at)
        assert refused.value.status == 403


async def test_httpx_is_understood_by_apns(tmp_path: Path) -> None:
    async with simulated(tmp_path) as to:
        trusted = ssl.create_default_context(cafile=to.certificate)
        claims = {"iss": "TEAM123456", "iat": round(time.time())}
        token = jwt.encode(claims, p256(), "ES256", {"kid": "KEY1234567"})
        headers = {"authorization": f"bearer {token}", "apns-topic": TOPIC, "apns-collapse-id": "c1"}
        where = f"https://127.0.0.1:{to.apns.port}/3/device/{DEVICE}"
        async with httpx.AsyncClient(http2=True, verify=trusted) as client:
            reply = await client.post(where, json={"aps": {"alert": "Hello"}}, headers=headers)
            assert (reply.http_version, reply.status_code) == ("HTTP/2", 200)
            for change, status, reason in APPLE_REFUSES:
                wrong = {name: value for name, value in {**headers, **change}.items() if value is not None}
                reply = await client.post(where, content=wrong.pop("content", "{}"), headers=wrong)
                assert (reply.status_code, reply.json()["reason"]) == (status, reason)
    assert [(entry.to, entry.identity) for entry in to.kit.entries] == [(DEVICE, "c1")]


def _token(**claims: Any) -> str:
    header = {"kid": claims.pop("kid", "KEY1234567")}
    key = claims.pop("key", p256())
    claims = {"iss": "TEAM123456", "iat": round(time.time()), **claims}
    return f"bearer {jwt.encode(claims, key, 'RS256' if key is rsa_key() else 'ES256', header)}"


APPLE_REFUSES: list[tuple[dict[str, str | None], int, str]] = [
    ({"authorization": None}, 403, "MissingProviderToken"),
    ({"authorization": "bearer x.y.z"}, 403, "InvalidProviderToken"),
    ({"authorization": _token(kid="OTHER")}, 403, "InvalidProviderToken"),
    ({"authorization": _token(iss="OTHER")}, 403, "InvalidProviderToken"),
    ({"authorization": _token(key=rsa_key())}, 403, "InvalidProviderToken"),
    ({"authorization": _token(iat=round(time.time()) - 3700)}, 403, "ExpiredProviderToken"),
    ({"apns-topic": None}, 400, "MissingTopic"),
    ({"apns-topic": "com.example.other"}, 400, "TopicDisallowed"),
    ({"apns-priority": "7"}, 400, "BadPriority"),
    ({"apns-push-type": "shout"}, 400, "InvalidPushType"),
    ({"apns-expiration": "soon"}, 400, "BadExpirationDate"),
    ({"apns-id": "1"}, 400, "BadMessageId"),
    ({"apns-collapse-id": "x" * 65}, 400, "BadCollapseId"),
    ({"content": ""}, 400, "PayloadEmpty"),
    ({"content": "x" * 4097}, 413, "PayloadTooLarge"),
]


@pytest.mark.skipif(shutil.which("openssl") is None, reason="openssl is not installed")
async def test_openssl_finds_http2_and_nothing_else(tmp_path: Path) -> None:
    async with simulated(tmp_path) as to:
        for offered, chosen in (("h2,http/1.1", b"ALPN protocol: h2"), ("http/1.1", b"No ALPN negotiated")):
            client = await asyncio.create_subprocess_exec(
                *("openssl", "s_client", "-connect", f"127.0.0.1:{to.apns.port}", "-alpn", offered),
                *("-CAfile", to.certificate, "-verify_return_error"),
                stdin=asyncio.subprocess.DEVNULL,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.STDOUT,
            )
            said, _ = await asyncio.wait_for(client.communicate(), 10)
            assert chosen in said
            assert b"Verification: OK" in said


async def test_google_checks_assertions_and_messages(tmp_path: Path) -> None:
    async with simulated(tmp_path) as to, sending(to, "fcm") as provider, aiohttp.ClientSession() as session:
        form = {"grant_type": "urn:ietf:params:oauth:grant-type:jwt-bearer", "assertion": "a.b.c"}
        async with session.post(f"{to.url}/fcm/token", data=form) as reply:
            assert (reply.status, (await reply.json())["error"]) == (400, "invalid_grant")
        where = f"{to.url}/fcm/v1/projects/shop-1/messages:send"
        async with session.post(where, json={}) as reply:
            assert (reply.status, (await reply.json())["error"]["status"]) == (401, "UNAUTHENTICATED")
        token = await provider.tokens.token(now())
        wrong: dict[str, Any]
        for wrong in ({}, {"message": {}}, {"message": {"token": "t", "data": {"a": 1}}}, {"message": {"token": 5}}):
            async with session.post(where, json=wrong, headers={"Authorization": f"Bearer {token}"}) as reply:
                error = (await reply.json())["error"]
                assert (reply.status, error["details"][0]["@type"]) == (
                    400,
                    "type.googleapis.com/google.rpc.BadRequest",
                )
    assert to.kit.entries == []


async def test_two_clocks_that_differ_by_a_little_are_no_fault_of_a_service_account(tmp_path: Path) -> None:
    async with simulated(tmp_path) as to, sending(to, "fcm") as provider:
        message, _ = await a_message(to, "fcm")
        assert isinstance(await provider.send(message, now=now() + 30_000), Sent)
        async with sending(to, "fcm") as another:
            answer = await another.send(message, now=now() + 600_000)
            assert answer == Misconfigured("no access token: 400 invalid_grant")
