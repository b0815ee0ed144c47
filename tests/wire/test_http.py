"""The HTTP session that adapters share, against servers that break off in every phase."""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from notify_streams.domain.answers import Refused, TryLater, Unknown
from notify_streams.providers.http import BODY_BYTES, Http, Reply
from notify_streams.settings import Channel, Provider, SettingsError
from tests.http_servers import CLOSE, HANG, OK, RESET, raw_http

SECRET = "d3adb33f-token"


@contextlib.asynccontextmanager
async def a_session(timeout: str = "2s", *, guarded: bool = False, concurrency: int = 4) -> AsyncIterator[Http]:
    channel = Channel(attempt_timeout=timeout, concurrency=concurrency)
    http = Http.of(Provider(), channel, name="test", guarded=guarded)
    try:
        yield http
    finally:
        await http.close()


async def test_what_comes_back_is_status_headers_and_body() -> None:
    answer = b"HTTP/1.1 429 Slow\r\nretry-after: 3\r\nContent-Length: 7\r\n\r\n" + b'{"a":1}'
    async with raw_http(answer) as server, a_session() as http:
        reply = await http.post_json(f"{server.url}/a/b?c=%2F", {"x": "ü"}, {"Authorization": "Bearer t"})
        assert isinstance(reply, Reply)
        assert (reply.status, reply.accepted, reply.json(), reply.retry_after(0)) == (429, False, {"a": 1}, 3.0)
        head, _, body = server.requests[0].partition(b"\r\n\r\n")
        assert head.startswith(b"POST /a/b?c=%2F HTTP/1.1\r\n")
        assert b"\r\nAuthorization: Bearer t\r\n" in head + b"\r\n"
        assert body == '{"x":"ü"}'.encode()


async def test_nobody_listening_may_be_tried_again_and_is_about_the_provider() -> None:
    async with raw_http() as server:
        url = server.url
    async with a_session() as http:
        assert await http.post(url, b"x", {}) == TryLater("ClientConnectorError ECONNREFUSED", about="provider")


@pytest.mark.parametrize("answer", [CLOSE, RESET, HANG, b"HTTP/1.1 ", b"gibberish\r\n\r\n"])
async def test_no_answer_after_the_request_was_handed_over_is_unknown(answer: bytes) -> None:
    """IDM-03."""
    async with raw_http(answer) as server, a_session("300ms") as http:
        assert isinstance(await http.post(f"{server.url}/{SECRET}", b"x", {}), Unknown)
        assert len(server.requests) == 1


async def test_a_stumble_of_the_clients_own_is_about_headers_only_before_the_request_was_handed_over() -> None:
    """IDM-03: a ValueError while the answer is read ends no delivery."""
    async with a_session() as http:
        assert isinstance(http._failed(ValueError("x"), handed=True), Unknown)
        assert isinstance(http._failed(ValueError("x"), handed=False), Refused)


async def test_a_handshake_that_hangs_may_be_tried_again() -> None:
    async with raw_http(before=HANG) as server, a_session("300ms") as http:
        answer = await http.post(f"https://127.0.0.1:{server.port}/{SECRET}", b"x", {})
        assert answer == TryLater("TimeoutError", about="provider")


@pytest.mark.parametrize("before", [CLOSE, RESET, b"no TLS at all\r\n"])
async def test_a_handshake_that_fails_may_be_tried_again(before: bytes) -> None:
    async with raw_http(before=before) as server, a_session() as http:
        answer = await http.post(f"https://127.0.0.1:{server.port}/{SECRET}", b"x", {})
        assert isinstance(answer, TryLater)
        assert SECRET not in answer.detail
        assert "127.0.0.1" not in answer.detail


async def test_a_kept_connection_that_the_server_has_closed_is_not_used() -> None:
    async with raw_http(OK + b"", OK) as server, a_session() as http:
        assert isinstance(await http.post(server.url, b"1", {}), Reply)
        for conversation in list(server.conversations):
            conversation.cancel()
        await asyncio.sleep(0.05)
        assert isinstance(await http.post(server.url, b"2", {}), Reply)
        assert server.connections == 2


async def test_connections_are_kept_and_bounded() -> None:
    async with raw_http() as server, a_session(concurrency=3) as http:
        replies = await asyncio.gather(*(http.post(server.url, b"x", {}) for _ in range(30)))
        assert all(isinstance(reply, Reply) for reply in replies)
        assert server.connections <= 3


async def test_a_redirect_is_an_answer_and_is_not_followed() -> None:
    answer = b"HTTP/1.1 307 Moved\r\nLocation: http://127.0.0.1:1/\r\nContent-Length: 0\r\n\r\n"
    async with raw_http(answer) as server, a_session() as http:
        reply = await http.post(server.url, b"x", {})
        assert isinstance(reply, Reply)
        assert reply.status == 307


async def test_a_cookie_is_not_kept() -> None:
    answer = b"HTTP/1.1 200 OK\r\nSet-Cookie: a=b\r\nContent-Length: 0\r\n\r\n"
    async with raw_http(answer) as server, a_session() as http:
        for _ in range(2):
            await http.post(server.url, b"x", {})
        assert b"cookie" not in b"".join(server.requests).lower()


async def test_of_a_long_body_only_the_beginning_is_read() -> None:
    long = b"HTTP/1.1 200 OK\r\nContent-Length: 90000000\r\n\r\n" + b"x" * (BODY_BYTES * 3)
    async with raw_http(long, OK) as server, a_session("1s") as http:
        reply = await http.post(server.url, b"x", {})
        assert isinstance(reply, Reply)
        assert len(reply.body) == BODY_BYTES
        assert isinstance(await http.post(server.url, b"x", {}), Reply)
        assert server.connections == 2


@pytest.mark.parametrize("rest", [b"Content-Length: 20\r\n\r\n{}", b"Transfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n"])
async def test_a_body_that_stays_away_takes_nothing_from_the_status(rest: bytes) -> None:
    async with raw_http(b"HTTP/1.1 404 Not Found\r\n" + rest) as server, a_session("300ms") as http:
        reply = await http.post(server.url, b"x", {})
        assert isinstance(reply, Reply)
        assert reply.status == 404


@pytest.mark.parametrize("url", ["", "push", "http://", "http://127.0.0.1:99999", "http://[::1", "ftp://127.0.0.1/"])
async def test_what_is_no_url_is_refused(url: str) -> None:
    async with a_session() as http:
        assert await http.post(url, b"x", {}) == Refused("the address is no URL")


async def test_a_header_cannot_be_broken_out_of() -> None:
    async with raw_http() as server, a_session() as http:
        answer = await http.post(server.url, b"x", {"X-A": "1\r\nX-B: 2"})
        assert answer == Refused("a header has characters that none can have")
        assert server.requests == []


async def test_what_a_url_cannot_hold_is_quoted() -> None:
    async with raw_http() as server, a_session() as http:
        await http.post(f"{server.url}/ä b%2F", b"x", {})
        assert server.requests[0].startswith(b"POST /%C3%A4%20b%2F HTTP/1.1\r\n")


async def test_a_body_of_megabytes_goes_out_whole() -> None:
    async with raw_http() as server, a_session() as http:
        assert isinstance(await http.post(server.url, b"x" * 3_000_000, {}), Reply)
        assert server.requests[0].endswith(b"x" * 3_000_000)


@pytest.mark.parametrize("body", [b"", b"[1]", b"{", b"null", b"\xff"])
def test_a_body_that_is_no_object_is_an_empty_one(body: bytes) -> None:
    assert Reply(200, {}, body).json() == {}


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "[::1]", "[::ffff:127.0.0.1]", "0.0.0.0"])
async def test_a_guarded_session_opens_nothing_to_our_own_networks(host: str) -> None:
    async with raw_http() as server, a_session(guarded=True) as http:
        answer = await http.post(f"http://{host}:{server.port}/{SECRET}", b"x", {})
        assert answer == Refused("the address is not one of the public internet")
        assert server.connections == 0


async def test_the_guard_is_not_asked_of_a_provider_of_ours() -> None:
    async with raw_http() as server, a_session() as http:
        assert isinstance(await http.post(server.url, b"x", {}), Reply)


@pytest.mark.parametrize(("networks", "is_called"), [(("127.0.0.0/8",), True), (("10.0.0.0/8", "::1/128"), False)])
async def test_of_our_own_networks_those_that_are_named_may_be_called(
    networks: tuple[str, ...], is_called: bool
) -> None:
    provider = Provider(allow_private=True, private_networks=networks)
    http = Http.of(provider, Channel(attempt_timeout="2s"), name="webhook")
    async with raw_http() as server:
        answer = await http.post(server.url, b"x", {})
        assert isinstance(answer, Reply) == is_called
        assert server.connections == is_called
    await http.close()


async def test_a_network_that_is_none_is_named() -> None:
    with pytest.raises(SettingsError, match=r"^providers\.webhook\.private_networks: "):
        Http.of(Provider(allow_private=True, private_networks=("10.0.0.1/8",)), Channel(), name="webhook")


@pytest.mark.parametrize("content", [None, "no certificate"])
def test_a_ca_file_without_certificates_is_named(tmp_path: Path, content: str | None) -> None:
    path = tmp_path / "ca.pem"
    if content is not None:
        path.write_text(content)
    with pytest.raises(SettingsError, match=r"^providers\.fcm\.ca_file: "):
        Http.of(Provider(ca_file=str(path)), Channel(), name="fcm")
