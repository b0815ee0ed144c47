"""Who gets no live stream, and how one ends: every close code, and nothing of it harms the process."""

import asyncio
import logging
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import jwt
import pytest
from aiohttp import ClientWebSocketResponse, WSMsgType

from notify_streams.settings import Redis
from tests.live_gateway import SECRET, Gateway, a_gateway, sequences, token


@pytest.fixture
async def gateway(redis: Redis, tmp_path: Path) -> AsyncIterator[Gateway]:
    async with a_gateway(redis, tmp_path) as gateway:
        yield gateway


async def ended(socket: ClientWebSocketResponse) -> int | None:
    """The close code that came."""
    async with asyncio.timeout(10):
        while True:
            message = await socket.receive()
            if message.type is not WSMsgType.TEXT:
                return message.data if message.type is WSMsgType.CLOSE else socket.close_code


async def serves(gateway: Gateway) -> None:
    """The process is unharmed."""
    inbox = gateway.inbox()
    async with gateway.socket(inbox.user_id) as socket:
        assert await sequences(socket, 1) == [0]
        await inbox.add()
        assert await sequences(socket, 1) == [1]


@pytest.mark.parametrize(
    ("bearer", "code"),
    [
        (lambda: "", 4401),
        (lambda: "Bearer nonsense", 4401),
        (lambda: "Bearer nk_nonsense", 4401),
        (lambda: "Bearer " + jwt.encode({"sub": "ann", "exp": 2**33}, "", "none"), 4401),
        (lambda: "Bearer " + jwt.encode({"sub": "ann", "exp": 2**33}, SECRET[::-1], "HS256"), 4401),
        (lambda: "Bearer " + jwt.encode({"sub": "ann"}, SECRET, "HS256"), 4401),
        (lambda: "Bearer " + token("ann", seconds=-60), 4410),
    ],
)
async def test_who_shows_no_good_token_is_told_by_a_close_code(
    gateway: Gateway, bearer: Callable[[], str], code: int
) -> None:
    headers = {"Authorization": bearer()} if bearer() else {}
    async with gateway.client.ws_connect("/v1/stream", headers=headers) as socket:
        assert await ended(socket) == code
    assert (await gateway.client.get("/v1/stream/sse", headers=headers)).status == 401


async def test_a_token_reaches_its_own_user_only_and_a_producers_key_nobody(gateway: Gateway) -> None:
    """SEC-03"""
    for headers in ({"Authorization": f"Bearer {token('ben')}"}, gateway.key("producer"), gateway.key("service")):
        async with gateway.client.ws_connect("/v1/stream?user_id=ann", headers=headers) as socket:
            assert await ended(socket) == 4403
        assert (await gateway.client.get("/v1/stream/sse?user_id=ann", headers=headers)).status == 403


async def test_an_operator_names_the_user(gateway: Gateway) -> None:
    inbox = gateway.inbox()
    await inbox.add(2)
    place, headers = f"/v1/stream?user_id={inbox.user_id}", gateway.key("operator")
    async with gateway.client.ws_connect(place, headers=headers) as socket:
        assert await sequences(socket, 1) == [2]


@pytest.mark.parametrize(
    ("frame", "code"),
    [
        ("no json", 1007),
        ("{}", 1007),
        ('{"type":"delete"}', 1007),
        ('{"type":"read","item_ids":[]}', 1007),
        ('{"type":"read","item_ids":7}', 1007),
        ('{"type":"pong","x":' + "[" * 4000, 1007),
        ('{"type":"pong","x":' + "[" * 1990 + "]" * 1990 + "}", 1007),
        ("x" * 4097, 1009),
        ("x" * 1_000_000, 1009),
        (b"\x00\x01", 1003),
    ],
)
async def test_a_frame_that_is_none_ends_its_connection_and_nothing_else(
    gateway: Gateway, frame: str | bytes, code: int
) -> None:
    """SEC-10: deep nesting is one of them; a megabyte another."""
    inbox = gateway.inbox()
    async with gateway.socket(inbox.user_id) as other, gateway.socket(inbox.user_id) as socket:
        assert [await sequences(one, 1) for one in (other, socket)] == [[0], [0]]
        await (socket.send_bytes(frame) if isinstance(frame, bytes) else socket.send_str(frame))
        assert await ended(socket) == code
        await inbox.add()
        assert await sequences(other, 1) == [1]
    await serves(gateway)


async def test_ten_thousand_commands_a_second_are_too_many(gateway: Gateway) -> None:
    inbox = gateway.inbox()
    await inbox.add()
    async with gateway.socket(inbox.user_id) as socket:
        await socket.receive_json()
        for _ in range(10_000):
            if socket.closed:
                break
            await socket.send_str('{"type":"seen"}')
        assert await ended(socket) == 4429
    assert len(gateway.log.records) <= 60
    await serves(gateway)


async def test_a_command_that_is_not_known_to_be_on_the_log_ends_the_connection(gateway: Gateway) -> None:
    inbox = gateway.inbox()
    await inbox.add()
    gateway.log.away = True
    async with gateway.socket(inbox.user_id) as socket:
        await socket.receive_json()
        await socket.send_str('{"type":"seen"}')
        assert await ended(socket) == 1013


async def test_who_does_not_answer_pings_is_let_go_and_who_does_stays(redis: Redis, tmp_path: Path) -> None:
    async with a_gateway(redis, tmp_path, stream_ping="300ms", stream_pong="300ms") as gateway:
        inbox = gateway.inbox()
        async with gateway.socket(inbox.user_id) as silent, gateway.socket(inbox.user_id) as well:
            await well.receive_json()
            for _ in range(4):
                assert await well.receive_json(timeout=2) == {"type": "ping"}
                await well.send_json({"type": "pong"})
            assert await ended(silent) == 4408
            assert not well.closed


async def test_a_token_that_expires_ends_the_connection(gateway: Gateway) -> None:
    inbox = gateway.inbox()
    headers = {"Authorization": f"Bearer {token(inbox.user_id, seconds=2)}"}
    async with gateway.client.ws_connect("/v1/stream", headers=headers) as socket:
        assert await sequences(socket, 1) == [0]
        assert await ended(socket) == 4410


async def test_a_user_has_so_many_connections(redis: Redis, tmp_path: Path) -> None:
    async with a_gateway(redis, tmp_path, stream_per_user=2) as gateway:
        inbox = gateway.inbox()
        async with gateway.socket(inbox.user_id) as one, gateway.socket(inbox.user_id):
            await one.receive_json()
            async with gateway.socket(inbox.user_id) as third:
                assert await ended(third) == 4429
            headers = {"Authorization": f"Bearer {token(inbox.user_id)}"}
            assert (await gateway.client.get("/v1/stream/sse", headers=headers)).status == 429
        await serves(gateway)


async def test_a_full_process_sends_people_to_another(redis: Redis, tmp_path: Path) -> None:
    async with a_gateway(redis, tmp_path, stream_connections=1) as gateway, gateway.socket("ann") as socket:
        await socket.receive_json()
        headers = {"Authorization": f"Bearer {token('ben')}"}
        async with gateway.client.get("/v1/stream/sse", headers=headers) as answer:
            assert (answer.status, (await answer.json(content_type=None))["code"]) == (503, "no_place")
            assert answer.headers["Retry-After"] == "2"


@pytest.mark.parametrize(
    ("origin", "status"),
    [(None, 101), ("own", 101), ("https://app.example", 101), ("https://evil.example", 403), ("null", 403)],
)
async def test_pages_of_other_sites_open_no_stream(
    redis: Redis, tmp_path: Path, origin: str | None, status: int
) -> None:
    async with a_gateway(redis, tmp_path, allowed_origins=("https://app.example",)) as gateway:
        headers = {"Authorization": f"Bearer {token('ann')}", **WANTS}
        if origin is not None:
            headers["Origin"] = str(gateway.client.make_url("")).rstrip("/") if origin == "own" else origin
        async with gateway.client.get("/v1/stream", headers=headers) as answer:
            assert answer.status == status


WANTS = {
    "Connection": "Upgrade",
    "Upgrade": "websocket",
    "Sec-WebSocket-Version": "13",
    "Sec-WebSocket-Key": "dGhlIHNhbXBsZSBub25jZQ==",
}


@pytest.mark.parametrize("place", ["/v1/stream?after=-1", "/v1/stream?after=x", "/v1/stream?after=" + "9" * 19])
async def test_what_is_no_sequence_is_a_problem(gateway: Gateway, place: str) -> None:
    headers = {"Authorization": f"Bearer {token('ann')}", **WANTS}
    async with gateway.client.get(place, headers=headers) as answer:
        assert (answer.status, (await answer.json(content_type=None))["code"]) == (400, "invalid_sequence")


async def test_a_plain_request_is_no_stream(gateway: Gateway) -> None:
    headers = {"Authorization": f"Bearer {token('ann')}"}
    assert (await gateway.client.get("/v1/stream", headers=headers)).status == 400
    assert (await gateway.client.head("/v1/stream/sse", headers=headers)).status == 405


async def test_logs_name_neither_people_nor_tokens(gateway: Gateway, caplog: pytest.LogCaptureFixture) -> None:
    """SEC-09"""
    caplog.set_level(logging.DEBUG)
    marks = [token("marker-user"), token("marker-user", seconds=-1)]
    for one in marks:
        for options in ({"headers": {"Authorization": f"Bearer {one}"}}, {"protocols": ("notify.v1", f"bearer.{one}")}):
            await _ended_badly(gateway, options)
    await gateway.client.get("/v1/stream/sse?ticket=marker-ticket")
    text = "\n".join(one.getMessage() for one in caplog.records if one.name.startswith("notify_streams"))
    assert "stream.ended" in text
    assert not [mark for mark in (*marks, "marker-user", "marker-ticket") if mark in text]


async def _ended_badly(gateway: Gateway, options: dict[str, Any]) -> None:
    async with gateway.client.ws_connect("/v1/stream", **options) as socket:
        await socket.send_str("marker-user is no frame")
        assert await ended(socket) in (1007, 4410)
