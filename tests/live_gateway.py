"""A gateway's live streams on a real Redis, and an inbox role in one object: it writes the tail and publishes."""

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, cast

import jwt
import msgspec
from aiohttp import ClientWebSocketResponse, web
from aiohttp.test_utils import TestClient, TestServer

from notify_streams.gateway import keys as key_files
from notify_streams.gateway.auth import auth_of
from notify_streams.gateway.inbox_cache import InboxCache
from notify_streams.gateway.keys import Key, Role
from notify_streams.gateway.live.live import Live
from notify_streams.gateway.pipelined import Pipelined
from notify_streams.gateway.problems import problems
from notify_streams.gateway.publisher import Headers
from notify_streams.inbox.tail import Frame, LiveTail
from notify_streams.ports import InboxCounts, InboxStore, Unavailable
from notify_streams.settings import Auth, Kafka, Redis, Settings
from notify_streams.settings import Gateway as GatewaySettings
from notify_streams.stores.inbox_keys import InboxKeys
from notify_streams.stores.redis import Expendable
from schemas.codec import encode
from schemas.frames import ItemFrame, ItemView
from schemas.inbox import InboxCommandV1, decode_inbox_record
from tests.builders import an_id

SECRET = "a secret of at least thirty-two bytes"
KEYS = InboxKeys.of(Kafka())


def frame_of(sequence: int, body: str = "") -> bytes:
    """A new item; all are unread and unseen."""
    item = ItemView(
        item_id=f"item-{sequence}",
        notification_id=f"n-{sequence}",
        type="order.confirmed",
        category="orders",
        accepted_at=datetime(2026, 12, 1, tzinfo=UTC),
        sequence=sequence,
        title=f"item {sequence}",
        body=body,
        payload=msgspec.Raw(b"{}"),
    )
    return encode(ItemFrame(sequence=sequence, unread=sequence, unseen=sequence, item=item))


@dataclass
class Log:
    """A publisher that keeps what it is given."""

    records: list[tuple[str, bytes, bytes]] = field(default_factory=list)
    away: bool = False

    async def publish(self, topic: str, key: bytes, value: bytes, headers: Headers = ()) -> None:
        if self.away:
            raise Unavailable("the broker is away")
        self.records.append((topic, key, value))

    async def probe(self) -> None:
        """Always there."""

    def commands(self) -> list[InboxCommandV1]:
        """Of all users, in order."""
        found = [decode_inbox_record(value) for _, _, value in self.records]
        return [command for command in found if isinstance(command, InboxCommandV1)]


@dataclass
class Stored:
    """Headers as Cassandra has them."""

    headers: dict[str, InboxCounts] = field(default_factory=dict)

    async def counts(self, user_id: str) -> InboxCounts:
        return self.headers.get(user_id, InboxCounts())


@dataclass
class Inbox:
    """One user's, written as the inbox role does: header, then in one round trip tail, counts and channel."""

    user_id: str
    redis: Expendable
    stored: Stored
    sequence: int = 0

    async def add(self, count: int = 1, *, published: bool = True, body: str = "") -> None:
        """New items; unpublished ones are in the tail, and their messages lost."""
        for _ in range(count):
            await self._write(*self.next(body), published)

    def next(self, body: str = "") -> tuple[Frame, InboxCounts]:
        """One more item, stored and not yet told."""
        self.sequence += 1
        counts = self.stored.headers[self.user_id] = InboxCounts(self.sequence, self.sequence, self.sequence)
        return Frame(self.user_id, self.sequence, frame_of(self.sequence, body)), counts

    async def hear(self, sequences: Sequence[int]) -> None:
        """Only the messages, in this order."""
        client: Any = self.redis.client
        for sequence in sequences:
            await client.execute_command("SPUBLISH", KEYS.channel(self.user_id), frame_of(sequence))

    async def forget(self) -> None:
        """What the writer does about users it owes: no tail, no counts."""
        await self.redis.client.delete(KEYS.tail(self.user_id), KEYS.counts(self.user_id))

    async def _write(self, frame: Frame, counts: InboxCounts, published: bool) -> None:
        if published:
            await LiveTail(self.redis, KEYS).publish([frame], {self.user_id: counts})
        else:
            await self.redis.client.zadd(KEYS.tail(self.user_id), {frame.payload: frame.sequence})
            await self.redis.client.set(KEYS.counts(self.user_id), encode(counts), ex=300)


def live_app(settings: Settings, redis: Expendable, stored: Stored, log: Log) -> tuple[web.Application, Live]:
    """The streams alone, as the gateway serves them."""
    pipelined = Pipelined(redis)
    cache = InboxCache(pipelined, KEYS)
    live = Live(
        settings,
        auth=auth_of(settings),
        redis=pipelined,
        cache=cache,
        store=cast(InboxStore, stored),
        publisher=log,
    )
    app = web.Application(middlewares=[problems])
    for route in live.routes():
        app.router.add_route(route.method, route.path, route.handler)
    app.cleanup_ctx.append(live.run)
    app.on_shutdown.append(live.drain)
    return app, live


def token(user_id: str, *, seconds: float = 300, **claims: Any) -> str:
    """A user's token that is good for so long."""
    expires = datetime.now(UTC) + timedelta(seconds=seconds)
    return jwt.encode({"sub": user_id, "exp": expires, **claims}, SECRET, "HS256")


@dataclass
class Gateway:
    """One that is served, and everything around it."""

    client: TestClient[Any, Any]
    live: Live
    redis: Expendable
    settings: Settings
    stored: Stored
    log: Log

    @property
    def url(self) -> str:
        """Its root, with a slash."""
        return str(self.client.make_url("/"))

    def inbox(self, sequence: int = 0) -> Inbox:
        """Of a new user."""
        return Inbox(an_id(), self.redis, self.stored, sequence)

    def socket(self, user_id: str, *, after: int | None = None, **options: Any) -> Any:
        """A WebSocket of this user, to be used by `async with`."""
        query = {} if after is None else {"after": str(after)}
        headers = {"Authorization": f"Bearer {token(user_id)}"}
        return self.client.ws_connect("/v1/stream", params=query, headers=headers, **options)

    def key(self, role: Role) -> dict[str, str]:
        """A header with a new key."""
        secret = key_files.new_secret()
        path = Path(self.settings.auth.keys_file)
        key_files.create(path, Key(name=f"{role}-{secret[3:9]}", role=role, hash=""), secret)
        return {"Authorization": f"Bearer {secret}"}


def settings_of(redis: Redis, directory: Path, **gateway: Any) -> Settings:
    """Those of a gateway with this Redis."""
    return Settings(
        redis=redis,
        auth=Auth(keys_file=str(directory / "keys.json"), jwt_secret=SECRET, signing_secret=SECRET),
        gateway=GatewaySettings(**{"stream_drain": "1s", "stream_ping": "5m", **gateway}),
    )


@asynccontextmanager
async def a_gateway(redis: Redis, directory: Path, **gateway: Any) -> AsyncIterator[Gateway]:
    """Served on a real socket."""
    settings, stored, log = settings_of(redis, directory, **gateway), Stored(), Log()
    expendable = Expendable(redis)
    app, live = live_app(settings, expendable, stored, log)
    async with TestClient(TestServer(app)) as client:
        yield Gateway(client, live, expendable, settings, stored, log)
    await expendable.close()


async def sequences(socket: ClientWebSocketResponse, count: int) -> list[int]:
    """Those of the next frames, whatever they are."""
    return [(await socket.receive_json(timeout=5))["sequence"] for _ in range(count)]


async def until(holds: Callable[[], bool], *, seconds: float = 5.0) -> None:
    """Wait for it. Raises TimeoutError."""
    end = time.monotonic() + seconds
    while not holds():
        if time.monotonic() > end:
            raise TimeoutError("it did not come to be")
        await asyncio.sleep(0.02)
