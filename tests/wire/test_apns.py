"""The APNs adapter against HTTP/2 servers that answer, refuse, go away, hang and vanish."""

import asyncio
from pathlib import Path

import jwt
import msgspec
import pytest

from notify_streams.domain.answers import Answer, EndpointGone, Misconfigured, Refused, Sent, TryLater, Unknown
from notify_streams.providers.apns.adapter import ApnsProvider
from notify_streams.providers.apns.auth import PERIOD_S
from notify_streams.providers.simulator.http2 import Outcome, Request, Response, Session
from notify_streams.settings import Channel, Provider, SettingsError
from tests.builders import NOW
from tests.push import (
    DEVICE,
    IDENTITY,
    a_push,
    accepting,
    answers,
    apns_at,
    apns_settings,
    apple,
    p256,
    public_pem,
    refusal,
)


async def test_a_notification_goes_out_as_apple_documents_it(tmp_path: Path) -> None:
    """RTY-07: its own time to live is the 90 s that are left."""
    message = a_push(badge=3, link="https://shop.example/1")
    async with apple(tmp_path) as server, apns_at(server, tmp_path) as provider:
        assert await provider.send(message, now=NOW) == Sent(message.delivery_id)
    request = server.requests[0]
    assert (request.method, request.path) == ("POST", f"/3/device/{DEVICE}")
    own = {name: value for name, value in request.headers.items() if name.startswith("apns-")}
    assert own == {
        "apns-id": message.delivery_id,
        "apns-topic": "com.example.shop",
        "apns-push-type": "alert",
        "apns-priority": "10",
        "apns-expiration": str(NOW // 1000 + 90),
        "apns-collapse-id": IDENTITY,
    }
    assert msgspec.json.decode(request.body) == {
        "aps": {
            "alert": {"title": "Hello", "body": "Ann wrote"},
            "badge": 3,
            "sound": "default",
            "thread-id": "social",
        },
        "id": message.delivery_id,
        "link": "https://shop.example/1",
    }


async def test_the_provider_token_is_one_that_apple_can_check(tmp_path: Path) -> None:
    async with apple(tmp_path) as server, apns_at(server, tmp_path) as provider:
        await provider.send(a_push(), now=NOW)
    token = server.requests[0].headers["authorization"].removeprefix("bearer ")
    claims = jwt.decode(token, public_pem(p256()), ["ES256"], options={"verify_iat": False})
    assert claims["iss"] == "TEAM123456"
    assert 0 <= NOW // 1000 - claims["iat"] < PERIOD_S
    assert jwt.get_unverified_header(token) == {"alg": "ES256", "kid": "KEY1234567"}


async def test_a_token_is_kept_for_fifty_minutes_and_is_the_same_in_every_process(tmp_path: Path) -> None:
    start = NOW // 1000 // PERIOD_S * PERIOD_S * 1000
    async with apple(tmp_path) as server, apns_at(server, tmp_path) as one, apns_at(server, tmp_path) as other:
        await one.send(a_push(), now=start)
        await other.send(a_push(), now=start + 1_000_000)
        await one.send(a_push(), now=start + PERIOD_S * 1000 - 1)
        await one.send(a_push(), now=start + PERIOD_S * 1000)
    tokens = [request.headers["authorization"] for request in server.requests]
    assert tokens[0] == tokens[1] == tokens[2] != tokens[3]


async def test_an_expired_token_is_renewed_once_within_the_attempt(tmp_path: Path) -> None:
    late = (NOW // 1000 // PERIOD_S * PERIOD_S + 1800) * 1000
    expired = refusal(403, "ExpiredProviderToken")
    async with (
        apple(tmp_path, answers(expired, Response(200), expired)) as server,
        apns_at(server, tmp_path) as provider,
    ):
        assert isinstance(await provider.send(a_push(), now=late), Sent)
        assert len({request.headers["authorization"] for request in server.requests}) == 2
        assert await provider.send(a_push(), now=late + 1000) == Misconfigured("403 ExpiredProviderToken")
        assert len(server.requests) == 3  # renewed less than 20 minutes ago: Apple would refuse a third one


TABLE: list[tuple[Response, Answer]] = [
    (refusal(410, "Unregistered", timestamp=1_700_000_000_123), EndpointGone("410 Unregistered", 1_700_000_000_123)),
    (refusal(410, "ExpiredToken", timestamp=5), EndpointGone("410 ExpiredToken", 5)),
    (refusal(410, "Unregistered"), EndpointGone("410 Unregistered")),
    (Response(410), EndpointGone("410")),
    (refusal(400, "BadDeviceToken"), EndpointGone("400 BadDeviceToken")),
    (refusal(400, "DeviceTokenNotForTopic"), EndpointGone("400 DeviceTokenNotForTopic")),
    (refusal(400, "TopicDisallowed"), Misconfigured("400 TopicDisallowed")),
    (refusal(400, "BadTopic"), Misconfigured("400 BadTopic")),
    (refusal(403, "MissingProviderToken"), Misconfigured("403 MissingProviderToken")),
    (refusal(403, "InvalidProviderToken"), Misconfigured("403 InvalidProviderToken")),
    (refusal(403, "BadEnvironmentKeyIdInToken"), Misconfigured("403 BadEnvironmentKeyIdInToken")),
    (refusal(403, "SomethingNew"), Misconfigured("403 SomethingNew")),
    (refusal(413, "PayloadTooLarge"), Refused("413 PayloadTooLarge")),
    (refusal(400, "BadCollapseId"), Refused("400 BadCollapseId")),
    (refusal(404, "BadPath"), Refused("404 BadPath")),
    (refusal(405, "MethodNotAllowed"), Refused("405 MethodNotAllowed")),
    (refusal(429, "TooManyRequests"), TryLater("429 TooManyRequests", None, "endpoint")),
    (refusal(429, "TooManyProviderTokenUpdates"), TryLater("429 TooManyProviderTokenUpdates", None, "provider")),
    (refusal(500, "InternalServerError"), TryLater("500 InternalServerError", None, "provider")),
    (refusal(503, "Shutdown"), TryLater("503 Shutdown", None, "provider")),
    (
        refusal(503, "ServiceUnavailable", headers={"retry_after": "7"}),
        TryLater("503 ServiceUnavailable", 7.0, "provider"),
    ),
    (Response(400, {}, b"no json"), Refused("400")),
    (Response(503, {}, b'{"reason":"token 0f0f is busy"}'), TryLater("503", None, "provider")),
]


@pytest.mark.parametrize(("reply", "expected"), TABLE, ids=[answer.detail for _, answer in TABLE])
async def test_each_reason_has_its_meaning(tmp_path: Path, reply: Response, expected: Answer) -> None:
    """TOK-01, TOK-11, RTY-04."""
    async with apple(tmp_path, answers(reply)) as server, apns_at(server, tmp_path) as provider:
        assert await provider.send(a_push(), now=NOW) == expected


async def test_only_the_throttled_token_waits(tmp_path: Path) -> None:
    """TOK-11: 50 messages to several tokens, one of which is throttled."""
    throttled = "aa" * 32

    async def answering(request: Request, session: Session) -> Outcome:
        if request.path.endswith(throttled):
            return refusal(429, "TooManyRequests")
        return await accepting(request, session)

    tokens = [throttled if i % 5 == 0 else f"{i:064x}" for i in range(50)]
    async with apple(tmp_path, answering) as server, apns_at(server, tmp_path) as provider:
        got = await asyncio.gather(*(provider.send(a_push(token), now=NOW) for token in tokens))
    assert [type(answer) for answer in got] == [TryLater if t == throttled else Sent for t in tokens]
    assert all(answer.about == "endpoint" for answer in got if isinstance(answer, TryLater))


async def test_a_stream_that_is_reset_without_an_answer_is_unknown_and_its_repeat_the_same(tmp_path: Path) -> None:
    """IDM-03, IDM-05: the collapse id is what a device sees that two are one by."""
    async with apple(tmp_path, answers("drop", Response(200))) as server, apns_at(server, tmp_path) as provider:
        assert isinstance(await provider.send(a_push(), now=NOW), Unknown)
        assert isinstance(await provider.send(a_push(), now=NOW + 5000), Sent)
        assert server.connections == 1
    assert len({request.headers["apns-collapse-id"] for request in server.requests}) == 1
    assert len({request.headers["apns-id"] for request in server.requests}) == 1
    assert provider.repeatable


async def test_a_connection_lost_under_a_request_is_unknown(tmp_path: Path) -> None:
    """IDM-03."""
    async with apple(tmp_path, answers("reset", Response(200))) as server, apns_at(server, tmp_path) as provider:
        assert isinstance(await provider.send(a_push(), now=NOW), Unknown)
        assert isinstance(await provider.send(a_push(), now=NOW), Sent)
        assert server.connections == 2


async def test_silence_is_unknown_and_takes_nothing_from_the_others(tmp_path: Path) -> None:
    async def answering(request: Request, session: Session) -> Outcome:
        if request.path.endswith("ee"):
            await asyncio.sleep(30)
        return await accepting(request, session)

    async with apple(tmp_path, answering) as server, apns_at(server, tmp_path, timeout="400ms") as provider:
        hanging = asyncio.create_task(provider.send(a_push("ee" * 32), now=NOW))
        await asyncio.sleep(0.1)
        assert isinstance(await provider.send(a_push(), now=NOW), Sent)
        assert isinstance(await hanging, Unknown)
        assert isinstance(await provider.send(a_push(), now=NOW), Sent)
        assert server.connections == 1


async def test_a_connection_that_has_fallen_silent_is_replaced(tmp_path: Path) -> None:
    async def answering(request: Request, session: Session) -> Outcome:
        await asyncio.sleep(0 if request.headers["apns-priority"] == "10" else 30)
        return await accepting(request, session)

    async with apple(tmp_path, answering) as server, apns_at(server, tmp_path, timeout="200ms") as provider:
        await provider.send(a_push(), now=NOW)
        await asyncio.sleep(0.05)
        assert isinstance(await provider.send(a_push(lane="low"), now=NOW), Unknown)
        assert isinstance(await provider.send(a_push(), now=NOW), Sent)
        assert server.connections == 2


async def test_what_a_goodbye_leaves_unprocessed_goes_over_another_connection(tmp_path: Path) -> None:
    """TOK-11: shutting down; what was below the last stream is still answered."""
    first = asyncio.Event()

    async def answering(request: Request, session: Session) -> Outcome:
        if request.path.endswith("01"):
            first.set()
            await asyncio.sleep(0.2)
        elif len(server.requests) == 2:
            session.go_away(last_stream_id=1, reason="Shutdown")
            await asyncio.sleep(5)
        return await accepting(request, session)

    async with apple(tmp_path, answering) as server, apns_at(server, tmp_path) as provider:
        below = asyncio.create_task(provider.send(a_push(f"{1:064x}"), now=NOW))
        await first.wait()
        assert isinstance(await provider.send(a_push(f"{2:064x}"), now=NOW), Sent)
        assert isinstance(await below, Sent)
        assert server.connections == 2


async def test_a_service_that_only_says_goodbye_is_tried_later(tmp_path: Path) -> None:
    async def answering(request: Request, session: Session) -> Outcome:
        session.go_away(last_stream_id=0, reason="Shutdown")
        await asyncio.sleep(5)
        return Response(200)

    async with apple(tmp_path, answering) as server, apns_at(server, tmp_path) as provider:
        assert await provider.send(a_push(), now=NOW) == TryLater("Lost Shutdown", None, "provider")
        assert len(server.requests) == 2


async def test_no_more_streams_are_opened_than_the_server_lets(tmp_path: Path) -> None:
    """Apple lets one in until a token was found good, then many."""

    async def answering(request: Request, session: Session) -> Outcome:
        await asyncio.sleep(0.02)
        session.let(5)
        return await accepting(request, session)

    async with apple(tmp_path, answering, streams=1) as server, apns_at(server, tmp_path) as provider:
        got = await asyncio.gather(*(provider.send(a_push(f"{i:064x}"), now=NOW) for i in range(60)))
    assert all(isinstance(answer, Sent) for answer in got)
    assert server.most_at_once <= 5 * server.connections
    assert 1 < server.connections <= 4


async def test_a_large_body_waits_for_the_window(tmp_path: Path) -> None:
    """RFC 9113, 5.2: 60 bodies of 4 KB are more than the 64 KB that a connection begins with."""
    async with apple(tmp_path) as server, apns_at(server, tmp_path) as provider:
        got = await asyncio.gather(*(provider.send(a_push(body="x" * 6000), now=NOW) for _ in range(60)))
    assert all(isinstance(answer, Sent) for answer in got)
    assert {len(request.body) for request in server.requests} == {4096}


async def test_a_body_goes_out_in_as_many_parts_as_the_server_s_window_asks_for(tmp_path: Path) -> None:
    async with apple(tmp_path, window=500) as server, apns_at(server, tmp_path) as provider:
        got = await asyncio.gather(*(provider.send(a_push(body="x" * 6000), now=NOW) for _ in range(5)))
    assert all(isinstance(answer, Sent) for answer in got)
    assert {len(request.body) for request in server.requests} == {4096}


async def test_a_request_that_was_never_whole_may_be_tried_again(tmp_path: Path) -> None:
    async with apple(tmp_path, window=0) as server, apns_at(server, tmp_path, timeout="200ms") as provider:
        assert await provider.send(a_push(), now=NOW) == TryLater("TimeoutError", None, "provider")
        assert server.requests == []


async def test_a_stream_that_was_refused_unprocessed_is_sent_once_more(tmp_path: Path) -> None:
    """RFC 9113, 8.7."""
    async with apple(tmp_path, answers("refuse", Response(200))) as server, apns_at(server, tmp_path) as provider:
        assert isinstance(await provider.send(a_push(), now=NOW), Sent)
        assert len(server.requests) == 2
    async with apple(tmp_path, answers("refuse")) as server, apns_at(server, tmp_path) as provider:
        assert isinstance(await provider.send(a_push(), now=NOW), TryLater)
        assert len(server.requests) == 2


async def test_nobody_listening_may_be_tried_again(tmp_path: Path) -> None:
    async with apple(tmp_path) as server:
        pass
    async with apns_at(server, tmp_path) as provider:
        answer = await provider.send(a_push(), now=NOW)
        assert answer == TryLater("ConnectionRefusedError ECONNREFUSED", None, "provider")


async def test_a_server_without_http2_or_with_another_certificate_is_not_spoken_to(tmp_path: Path) -> None:
    async with apple(tmp_path, alpn=("http/1.1",)) as server, apns_at(server, tmp_path) as provider:
        assert isinstance(await provider.send(a_push(), now=NOW), TryLater)
    other = tmp_path / "other"
    other.mkdir()
    async with apple(tmp_path) as server, apple(other) as stranger:
        server.port = stranger.port
        async with apns_at(server, tmp_path) as provider:
            answer = await provider.send(a_push(), now=NOW)
            assert answer == TryLater("SSLCertVerificationError EPERM", None, "provider")
    assert stranger.requests == []


async def test_waiting_for_settings_that_never_come_ends_with_the_attempt(tmp_path: Path) -> None:
    async with apple(tmp_path, streams=0) as server, apns_at(server, tmp_path, timeout="200ms") as provider:
        assert isinstance(await provider.send(a_push(), now=NOW), TryLater)
        server.streams = 10
        assert isinstance(await provider.send(a_push(), now=NOW), Sent)


async def test_cancelling_an_attempt_cancels_it(tmp_path: Path) -> None:
    async def answering(request: Request, session: Session) -> Outcome:
        await asyncio.sleep(30)
        return Response(200)

    async with apple(tmp_path, answering) as server, apns_at(server, tmp_path) as provider:
        task = asyncio.create_task(provider.send(a_push(), now=NOW))
        await asyncio.sleep(0.1)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert len(server.requests) == 1


@pytest.mark.parametrize(
    ("message", "taken"),
    [
        (a_push(), True),
        (a_push("device-2"), True),
        (a_push("c0ffee:APA91b" + "x" * 100), False),
        (a_push(platform="android"), False),
        (a_push(platform="web"), False),
        (a_push('{"endpoint":"https://push.example/1"}'), False),
    ],
)
async def test_it_takes_the_tokens_of_ios_that_are_not_fcm_s(tmp_path: Path, message: object, taken: bool) -> None:
    async with apple(tmp_path) as server, apns_at(server, tmp_path) as provider:
        assert provider.takes(message) is taken  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "wrong",
    [
        {"key_file": ""},
        {"key_file": "/nowhere.p8"},
        {"key_file": __file__},
        {"key_id": ""},
        {"team_id": " "},
        {"topic": ""},
        {"url": "http://127.0.0.1"},
        {"url": "https://"},
        {"url": "https://127.0.0.1:x"},
        {"ca_file": __file__},
    ],
)
async def test_settings_that_make_no_sense_are_named(tmp_path: Path, wrong: dict[str, str]) -> None:
    async with apple(tmp_path) as server:
        settings = msgspec.structs.replace(apns_settings(tmp_path, server), **wrong)
    assert isinstance(settings, Provider)
    with pytest.raises(SettingsError, match=rf"^providers\.apns\.{next(iter(wrong))}: "):
        ApnsProvider.of(settings, Channel(), name="apns")
