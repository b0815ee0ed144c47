"""Live streams as server-sent events, and the tickets for them."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx
import orjson
import pytest

from notify_streams.settings import Redis
from tests.live_gateway import Gateway, a_gateway, token

AWAY = Redis(url="redis://127.0.0.1:1/0", timeout="100ms")


@pytest.fixture
async def gateway(redis: Redis, tmp_path: Path) -> AsyncIterator[Gateway]:
    async with a_gateway(redis, tmp_path, stream_ping="1s") as gateway:
        yield gateway


def bearer(user_id: str, **fields: float) -> dict[str, str]:
    return {"Authorization": f"Bearer {token(user_id, **fields)}"}


class Events:
    """What a reader of the WHATWG's rules makes of a stream."""

    def __init__(self, response: httpx.Response) -> None:
        self._lines, self.comments = response.aiter_lines(), 0
        self.retry: int | None = None

    async def next(self) -> dict[str, Any]:
        """The next event: its name, its id, its data."""
        found: dict[str, Any] = {}
        async with asyncio.timeout(5):
            async for line in self._lines:
                name, _, value = line.partition(":")
                match name:
                    case "" if line:
                        self.comments += 1
                    case "" if found:
                        return found
                    case "retry":
                        self.retry = int(value)
                    case "data":
                        found["data"] = orjson.loads(value)
                    case "event" | "id":
                        found[name] = value.strip()
                    case _:
                        assert not line
        raise EOFError

    async def sequences(self, count: int) -> list[int]:
        """Those of the next events."""
        return [(await self.next())["data"]["sequence"] for _ in range(count)]


@asynccontextmanager
async def listening(gateway: Gateway, place: str, headers: dict[str, str] | None = None) -> AsyncIterator[Events]:
    """By a client that nobody here wrote."""
    async with (
        httpx.AsyncClient(base_url=gateway.url, timeout=10) as client,
        client.stream("GET", place, headers=headers or {}) as response,
    ):
        assert response.status_code == 200, await response.aread()
        assert response.headers["content-type"] == "text/event-stream"
        yield Events(response)


async def test_frames_come_as_events_with_the_sequence_as_id(gateway: Gateway) -> None:
    inbox = gateway.inbox()
    await inbox.add(2)
    async with listening(gateway, "/v1/stream/sse", bearer(inbox.user_id)) as events:
        hello = {"type": "hello", "sequence": 2, "unread": 2, "unseen": 2}
        assert await events.next() == {"event": "hello", "id": "2", "data": hello}
        await inbox.add()
        item = await events.next()
        assert (item["event"], item["id"], item["data"]["item"]["title"]) == ("item", "3", "item 3")


@pytest.mark.parametrize("by_header", [True, False])
async def test_reconnecting_catches_up(gateway: Gateway, by_header: bool) -> None:
    """INB-07: by Last-Event-ID, as browsers do, or by ?after=."""
    inbox = gateway.inbox()
    for _ in range(100):
        start = inbox.sequence
        await inbox.add(5)
        creating = asyncio.create_task(inbox.add(5))
        place = "/v1/stream/sse" if by_header else f"/v1/stream/sse?after={start}"
        headers = bearer(inbox.user_id) | ({"Last-Event-ID": str(start)} if by_header else {})
        async with listening(gateway, place, headers) as events:
            assert await events.sequences(11) == list(range(start, start + 11))
        await creating


async def test_heartbeats_are_comments(gateway: Gateway) -> None:
    inbox = gateway.inbox()
    async with listening(gateway, "/v1/stream/sse", bearer(inbox.user_id)) as events:
        await events.next()
        before = events.comments
        await asyncio.sleep(1.3)
        await inbox.add()
        await events.next()
        assert events.comments > before


async def test_a_ticket_opens_one_stream_and_is_used_up(gateway: Gateway) -> None:
    inbox = gateway.inbox()
    async with gateway.client.post("/v1/stream/ticket", headers=bearer(inbox.user_id)) as answer:
        assert answer.status == 200
        ticket = await answer.json()
    assert ticket["expires_in"] == 30
    place = f"/v1/stream/sse?ticket={ticket['ticket']}"
    async with listening(gateway, place) as events:
        await events.next()
        await inbox.add()
        assert await events.sequences(1) == [1]
    async with gateway.client.get(place) as again:
        assert (again.status, (await again.json(content_type=None))["code"]) == (401, "ticket_invalid")


async def test_a_ticket_is_for_users_and_not_for_ever(gateway: Gateway) -> None:
    assert (await gateway.client.post("/v1/stream/ticket")).status == 401
    assert (await gateway.client.post("/v1/stream/ticket", headers=gateway.key("operator"))).status == 403
    await gateway.client.post("/v1/stream/ticket", headers=bearer("ann"))
    client = gateway.redis.client
    lives = [await client.ttl(key) async for key in client.scan_iter("*:ticket:*")]
    assert lives
    assert all(0 < life <= 30 for life in lives)


async def test_a_stream_ends_with_the_token_that_its_ticket_was_given_for(gateway: Gateway) -> None:
    headers = bearer(gateway.inbox().user_id, seconds=2)
    async with gateway.client.post("/v1/stream/ticket", headers=headers) as answer:
        ticket = (await answer.json())["ticket"]
    async with listening(gateway, f"/v1/stream/sse?ticket={ticket}") as events:
        await events.next()
        ending = await events.next()
        assert (ending["event"], ending["data"]["code"]) == ("end", 4410)
        with pytest.raises(EOFError):
            await events.next()


async def test_without_redis_there_are_no_tickets_and_streams_begin_all_the_same(tmp_path: Path) -> None:
    async with a_gateway(AWAY, tmp_path) as gateway:
        async with gateway.client.post("/v1/stream/ticket", headers=bearer("ann")) as answer:
            assert (answer.status, (await answer.json(content_type=None))["code"]) == (503, "tickets_unavailable")
        async with gateway.client.get("/v1/stream/sse?ticket=x") as answer:
            assert answer.status == 503
        async with listening(gateway, "/v1/stream/sse", bearer("ann")) as events:
            assert (await events.next())["event"] == "hello"


async def test_a_gateway_that_stops_says_when_to_come_back(redis: Redis, tmp_path: Path) -> None:
    async with a_gateway(redis, tmp_path) as gateway:
        async with listening(gateway, "/v1/stream/sse", bearer(gateway.inbox().user_id)) as events:
            await events.next()
            await gateway.live.hub.drain()
            assert (await events.next())["event"] == "bye"
            assert events.retry is not None
            assert 0 <= events.retry <= 1000
            assert (await events.next())["data"]["code"] == 1001
        refused = await gateway.client.get("/v1/stream/sse", headers=bearer("ann"))
        assert refused.status == 503


async def test_a_reader_that_goes_without_a_word_is_noticed(gateway: Gateway) -> None:
    inbox = gateway.inbox()
    async with listening(gateway, "/v1/stream/sse", bearer(inbox.user_id)) as events:
        await events.next()
        assert gateway.live.hub.count == 1
    for _ in range(60):
        if not gateway.live.hub.count:
            break
        await asyncio.sleep(0.05)
    assert gateway.live.hub.count == 0


async def test_pages_of_allowed_origins_may_read_it(redis: Redis, tmp_path: Path) -> None:
    origin = "https://app.example"
    async with a_gateway(redis, tmp_path, allowed_origins=(origin,)) as gateway:
        headers = bearer("ann") | {"Origin": origin}
        async with gateway.client.get("/v1/stream/sse", headers=headers) as answer:
            assert answer.headers["Access-Control-Allow-Origin"] == origin
        headers["Origin"] = "https://evil.example"
        assert (await gateway.client.get("/v1/stream/sse", headers=headers)).status == 403
