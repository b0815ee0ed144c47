"""The Web Push adapter against a local push service."""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from datetime import UTC, datetime
from pathlib import Path

import http_ece
import msgspec
import pytest

from notify_streams.domain.answers import EndpointGone, Refused, Sent, TryLater, Unknown
from notify_streams.providers.webpush.adapter import WebPushProvider
from notify_streams.settings import Channel, Provider, SettingsError
from tests.builders import NOW
from tests.http_servers import CLOSE, RawHttp, raw_http
from tests.push import IDENTITY, Browser, a_push, p256, pem, rsa_key, written

CREATED = b"HTTP/1.1 201 Created\r\nLocation: https://push.example/m/1\r\nContent-Length: 0\r\n\r\n"


def status(code: int, *headers: str) -> bytes:
    lines = [f"HTTP/1.1 {code} x", *headers, "Content-Length: 0", "", ""]
    return "\r\n".join(lines).encode()


@contextlib.asynccontextmanager
async def webpush_at(folder: Path, *, own: str = "", private: bool = True) -> AsyncIterator[WebPushProvider]:
    settings = Provider(
        url=own,
        vapid_key_file=written(folder / "vapid.pem", pem(p256())),
        vapid_subject="mailto:push@example.com",
        allow_private=private,
    )
    provider = WebPushProvider.of(settings, Channel(attempt_timeout="500ms"))
    try:
        yield provider
    finally:
        await provider.close()


def at(server: RawHttp) -> Browser:
    return Browser(f"{server.url}/push/s3cr3t")


def heard(request: bytes) -> tuple[dict[str, str], bytes]:
    head, _, body = request.partition(b"\r\n\r\n")
    lines = [line.partition(": ") for line in head.decode().split("\r\n")[1:]]
    return {name.lower(): value for name, _, value in lines}, body


@pytest.mark.parametrize("answer", [CREATED, status(200), status(202)])
async def test_a_message_goes_out_encrypted_for_its_browser_alone(tmp_path: Path, answer: bytes) -> None:
    """RTY-07: its own time to live is the 90 s that are left. TOK-05: every request carries one."""
    async with raw_http(answer) as server, webpush_at(tmp_path) as provider:
        browser = at(server)
        message = a_push(browser.subscription, platform="web", lane="high", link="https://shop.example/1", badge=2)
        assert await provider.send(message, now=NOW) == Sent()
    headers, body = heard(server.requests[0])
    assert server.requests[0].startswith(b"POST /push/s3cr3t HTTP/1.1\r\n")
    assert headers["ttl"] == "90"
    assert headers["urgency"] == "high"
    assert headers["topic"] == IDENTITY
    assert headers["content-encoding"] == "aes128gcm"
    assert headers["authorization"].startswith("vapid t=")
    assert b"Ann" not in body
    assert msgspec.json.decode(http_ece.decrypt(body, private_key=browser.key, auth_secret=browser.auth)) == {
        "title": "Hello",
        "body": "Ann wrote",
        "id": message.delivery_id,
        "link": "https://shop.example/1",
        "tag": IDENTITY,
        "badge": 2,
    }


async def test_a_time_to_live_is_at_most_four_weeks(tmp_path: Path) -> None:
    async with raw_http(CREATED) as server, webpush_at(tmp_path) as provider:
        await provider.send(a_push(at(server).subscription, expires_at=NOW + 400 * 86_400_000), now=NOW)
    assert heard(server.requests[0])[0]["ttl"] == "2419200"


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        (status(404), EndpointGone("404")),
        (status(410), EndpointGone("410")),
        (status(400), Refused("400", "sender")),
        (status(401), Refused("401", "sender")),
        (status(403), Refused("403", "sender")),
        (status(413), Refused("413")),
        (status(429, "Retry-After: 30"), TryLater("429", 30.0, "endpoint")),
        (status(500), TryLater("500", None, "provider")),
    ],
)
async def test_each_status_has_its_meaning(tmp_path: Path, answer: bytes, expected: object) -> None:
    """TOK-05."""
    async with raw_http(answer) as server, webpush_at(tmp_path, own=server.url) as provider:
        assert await provider.send(a_push(at(server).subscription), now=NOW) == expected
        assert len(server.requests) == 1


@pytest.mark.parametrize(
    ("value", "wait"),
    [
        ("120", 120.0),
        ("Mon, 01 Jun 2026 12:05:00 GMT", 300.0),
        ("Monday, 01-Jun-26 12:05:00 GMT", 300.0),
        ("Mon Jun  1 12:05:00 2026", 300.0),
        ("Mon, 01 Jun 2026 11:55:00 GMT", None),
        ("0", None),
        ("soon", None),
    ],
)
async def test_retry_after_is_understood_in_all_its_forms(tmp_path: Path, value: str, wait: float | None) -> None:
    """RTY-02: 429 with each of them."""
    noon = int(datetime(2026, 6, 1, 12, tzinfo=UTC).timestamp() * 1000)
    async with raw_http(status(429, f"Retry-After: {value}")) as server, webpush_at(tmp_path) as provider:
        assert await provider.send(a_push(at(server).subscription), now=noon) == TryLater("429", wait, "endpoint")


async def test_an_answer_that_was_lost_is_unknown_and_its_repeat_the_same(tmp_path: Path) -> None:
    """IDM-03, IDM-05: the topic."""
    async with raw_http(CLOSE, CREATED) as server, webpush_at(tmp_path, own=server.url) as provider:
        message = a_push(at(server).subscription)
        assert isinstance(await provider.send(message, now=NOW), Unknown)
        assert await provider.send(message, now=NOW + 2000) == Sent()
    first, second = (heard(request)[0] for request in server.requests)
    assert first["topic"] == second["topic"] == IDENTITY
    assert (first["ttl"], second["ttl"]) == ("90", "88")
    assert provider.repeatable


async def test_a_stranger_s_host_that_fails_counts_for_its_own_subscriptions_alone(tmp_path: Path) -> None:
    async with raw_http(CLOSE, status(503)) as server, webpush_at(tmp_path) as provider:
        browser = at(server)
        for _ in range(2):
            answer = await provider.send(a_push(browser.subscription), now=NOW)
            assert isinstance(answer, TryLater)
            assert answer.about == "endpoint"
    async with webpush_at(tmp_path) as provider:
        answer = await provider.send(a_push(browser.subscription), now=NOW)
        assert answer == TryLater("ClientConnectorError ECONNREFUSED", None, "endpoint")


async def test_private_addresses_are_refused_when_they_are_connected_to(tmp_path: Path) -> None:
    async with raw_http() as server, webpush_at(tmp_path, private=False) as provider:
        for host in ("127.0.0.1", "localhost", "[::1]", "[::ffff:127.0.0.1]"):
            message = a_push(Browser(f"https://{host}:{server.port}/x").subscription)
            answer = await provider.send(message, now=NOW)
            assert answer == Refused("the address is not one of the public internet")
        assert server.connections == 0


async def test_a_push_service_without_tls_is_not_spoken_to(tmp_path: Path) -> None:
    """RFC 8030, 8."""
    async with raw_http() as server, webpush_at(tmp_path, private=False) as provider:
        answer = await provider.send(a_push(at(server).subscription), now=NOW)
        assert answer == Refused("a push service is reached by https only")
        assert server.connections == 0


async def test_a_subscription_without_usable_keys_is_gone(tmp_path: Path) -> None:
    async with webpush_at(tmp_path) as provider:
        broken = '{"endpoint":"https://push.example/1","keys":{"p256dh":"a","auth":"b"}}'
        assert await provider.send(a_push(broken), now=NOW) == EndpointGone("no subscription")


async def test_every_message_has_a_key_of_its_own(tmp_path: Path) -> None:
    async with raw_http(CREATED) as server, webpush_at(tmp_path) as provider:
        message = a_push(at(server).subscription)
        await asyncio.gather(*(provider.send(message, now=NOW) for _ in range(5)))
    assert len({heard(request)[1][:86] for request in server.requests}) == 5


async def test_it_takes_subscriptions_and_nothing_else(tmp_path: Path) -> None:
    async with webpush_at(tmp_path) as provider:
        assert provider.takes(a_push(Browser("https://push.example/1").subscription, platform="web"))
        assert not provider.takes(a_push("0f" * 32))
        assert not provider.takes(a_push("cRx9:APA91b", platform="web"))


@pytest.mark.parametrize(
    ("setting", "value"),
    [
        ("vapid_key_file", ""),
        ("vapid_key_file", "/nowhere.pem"),
        ("vapid_subject", ""),
        ("vapid_subject", "push@example.com"),
        ("ca_file", __file__),
    ],
)
def test_settings_that_make_no_sense_are_named(tmp_path: Path, setting: str, value: str) -> None:
    good = {"vapid_key_file": written(tmp_path / "v.pem", pem(p256())), "vapid_subject": "mailto:push@example.com"}
    with pytest.raises(SettingsError, match=rf"^providers\.webpush\.{setting}: "):
        WebPushProvider.of(Provider(**{**good, setting: value}), Channel(), name="webpush")  # type: ignore[arg-type]


def test_a_key_of_another_kind_is_named_and_not_shown(tmp_path: Path) -> None:
    path = written(tmp_path / "rsa.pem", pem(rsa_key()))
    with pytest.raises(SettingsError, match=r"^providers\.webpush\.vapid_key_file: .* P-256$"):
        WebPushProvider.of(Provider(vapid_key_file=path, vapid_subject="mailto:a@b.example"), Channel())
