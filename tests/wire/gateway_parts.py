"""The gateway on parts in memory, served on a real socket."""

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Literal, cast
from uuid import UUID

import jwt
import msgspec
from aiohttp.test_utils import TestClient, TestServer

from agents.registry import answer
from notify_streams.domain import registry
from notify_streams.domain.commands import carry_out
from notify_streams.domain.status import fold
from notify_streams.gateway import keys
from notify_streams.gateway.app import Parts, application
from notify_streams.gateway.auth import auth_of
from notify_streams.gateway.console.routes import Desk
from notify_streams.gateway.counting import Counting
from notify_streams.gateway.inbox_cache import InboxCache
from notify_streams.gateway.keys import Key, Role
from notify_streams.gateway.notifications import Told
from notify_streams.gateway.profiles import Profiles
from notify_streams.gateway.publisher import Headers, Record
from notify_streams.gateway.receipts.fetching import HttpSns
from notify_streams.gateway.receipts.seen import Seen
from notify_streams.gateway.results import Waiting
from notify_streams.ports import InboxCounts, InboxItem, Records, Renderer, Unavailable
from notify_streams.settings import Auth, Gateway, Limits, Provider, Settings
from notify_streams.stores.inbox_keys import InboxKeys
from schemas.addresses import AddressState, LiftSuppressionV1, ShowAddressV1, SuppressAddressV1, decode_change
from schemas.catalogue import Catalogue, Category, NotificationType
from schemas.codec import encode
from schemas.commands import FieldError, decode_command
from schemas.inbox import InboxCommandV1, InboxResultV1, decode_inbox_record
from schemas.profiles import NOBODY, ProfileV1
from schemas.words import Channel
from tests.fakes import Renderer as Plain
from tests.wire.gateway_stores import MemoryLedger, NoRedis, OneRedis, Settled, Store

SECRET = "a secret of at least thirty-two bytes"
CATALOGUE = Catalogue(
    hash="h",
    channels=("inapp", "email"),
    fallback_locale="en",
    types={
        "order.confirmed": NotificationType(category="orders", channels=("inapp", "email"), required=("order",)),
        "auth.otp": NotificationType(category="security", channels=("email",), priority="high", mandatory=True),
        "endpoint.verification": NotificationType(
            category="security", channels=("email", "sms"), priority="high", mandatory=True, verifies=True
        ),
        "marketing.campaign": NotificationType(category="marketing", channels=("email",), priority="low"),
    },
    categories={"orders": Category(), "security": Category(), "marketing": Category()},
)


@dataclass
class Orchestrator:
    """Takes what is published, and answers as the real one and the registry do."""

    answers: Waiting
    published: list[tuple[str, bytes, bytes, Headers]] = field(default_factory=list)
    profiles: dict[str, ProfileV1] = field(default_factory=dict)
    addresses: dict[str, AddressState | None] = field(default_factory=dict)
    away: bool = False
    silent: bool = False
    carried_out: int = 0
    hold: asyncio.Event | None = None
    inbox: InboxCounts = field(default_factory=InboxCounts)
    wrong: tuple[FieldError, ...] = ()
    lost: frozenset[bytes] = frozenset()

    def of_inbox(self, command: InboxCommandV1, user_id: str) -> InboxResultV1:
        self.inbox = InboxCounts(self.inbox.sequence + 1, self.inbox.unread, self.inbox.unseen)
        return InboxResultV1(
            command_id=command.command_id,
            user_id=user_id,
            status="invalid" if self.wrong else "applied",
            sequence=self.inbox.sequence,
            unread=self.inbox.unread,
            unseen=self.inbox.unseen,
            errors=self.wrong,
        )

    async def publish(self, topic: str, key: bytes, value: bytes, headers: Headers = ()) -> None:
        if self.hold is not None:
            await self.hold.wait()
        if self.away:
            raise Unavailable("the broker is away")
        self.published.append((topic, key, value, headers))
        if topic == "inbox-commands" and not self.silent:
            command = decode_inbox_record(value)
            assert isinstance(command, InboxCommandV1)
            self.answers.take(encode(self.of_inbox(command, key.decode())))
        if topic == "user-commands" and not self.silent:
            self._carry_out(key.decode(), value)
        if topic == "address-changes" and not self.silent:
            self._register(key.decode(), value)

    async def publish_all(self, records: Sequence[Record]) -> Sequence[bool]:
        for record in records:
            await self.publish(record.topic, record.key, record.value, record.headers)
        return [record.key not in self.lost for record in records]

    async def probe(self) -> None:
        if self.away:
            raise Unavailable("the broker is away")

    def _register(self, key: str, value: bytes) -> None:
        change, known = decode_change(value), self.addresses.get(key)
        assert registry.why_not(change, key, known) is None
        place, now = (1, len(self.published)), time.time_ns() // 1_000_000
        step = registry.take(known, change, key=key, place=place, now=now)
        for user_id, command in step.commands:
            self._carry_out(user_id, encode(command))
        self.addresses[key] = step.state
        if isinstance(change, SuppressAddressV1 | LiftSuppressionV1 | ShowAddressV1):
            state = step.state or AddressState(change.channel)
            self.answers.take(encode(answer(change.command_id, state)))

    def _carry_out(self, user_id: str, value: bytes) -> None:
        before = self.profiles.get(user_id, NOBODY)
        self.carried_out += 1
        place = {"generation": 1, "offset": self.carried_out}
        after, result = carry_out(before, decode_command(value), user_id, CATALOGUE, **place)
        self.profiles[user_id] = after
        self.answers.take(encode(msgspec.structs.replace(result, profile=after)))


def _wall_clock() -> int:
    return time.time_ns() // 1_000_000


@dataclass
class Bench:
    """A served gateway and everything around it."""

    client: TestClient[Any, Any]
    orchestrator: Orchestrator
    ledger: MemoryLedger
    store: Store
    settings: Settings
    settled: "Settled"
    redis: "OneRedis"

    def key(self, role: Role = "producer", **fields: Any) -> dict[str, str]:
        """A header with a new key of this role."""
        secret = keys.new_secret()
        name = fields.pop("name", f"{role}-{secret[3:9]}")
        path = Path(self.settings.auth.keys_file)
        keys.create(path, Key(name=name, role=role, hash="", **fields), secret)
        return {"Authorization": f"Bearer {secret}"}

    def user(self, user_id: str, *, minutes: int = 5, secret: str = SECRET, **claims: Any) -> dict[str, str]:
        """A header with a user's token."""
        expires = datetime.now(UTC) + timedelta(minutes=minutes)
        return {"Authorization": "Bearer " + jwt.encode({"sub": user_id, "exp": expires, **claims}, secret, "HS256")}

    async def json(self, method: str, path: str, **options: Any) -> tuple[int, Any]:
        """Status and body."""
        async with self.client.request(method, path, **options) as response:
            return response.status, await response.json(content_type=None)


@asynccontextmanager
async def a_bench(
    directory: Path,
    *,
    command_timeout: str = "2s",
    limits: Limits | None = None,
    mode: Literal["keys", "open"] = "keys",
    providers: dict[str, Provider] | None = None,
    clock: Callable[[], int] | None = None,
    public_url: str = "",
    content: tuple[Catalogue, Renderer] | None = None,
    desk: Desk | None = None,
    explain: Told = fold,
) -> AsyncIterator[Bench]:
    """Everything in memory but the socket and the keys file."""
    settings = Settings(
        auth=Auth(mode=mode, keys_file=str(directory / "keys.json"), jwt_secret=SECRET, signing_secret=SECRET),
        gateway=Gateway(command_timeout=command_timeout, public_url=public_url),
        limits=limits or Limits(),
        providers=providers or {},
    )
    sns, settled, redis = HttpSns(), Settled(), OneRedis()
    ledger, store = MemoryLedger(), Store()
    records = cast(Records, store)
    profiles = Profiles(records, ledger, lambda: answers.listening)
    answers = Waiting(profiles.heard)
    answers.listening = True
    orchestrator = Orchestrator(answers)
    parts = Parts(
        auth=auth_of(settings),
        catalogue=content[0] if content else CATALOGUE,
        renderer=content[1] if content else Plain(),
        publisher=orchestrator,
        results=answers,
        ledger=ledger,
        profiles=profiles,
        records=records,
        inbox=store,
        cache=InboxCache(NoRedis(), InboxKeys.of(settings.kafka)),
        status=fold,
        explain=explain,
        counting=Counting(NoRedis(), settings.kafka),
        sns=sns,
        seen=Seen(redis, settings.kafka),
        settling=settled,
        clock=clock or _wall_clock,
        desk=desk,
    )
    async with TestClient(TestServer(application(settings, parts))) as client:
        yield Bench(client, orchestrator, ledger, store, settings, settled, redis)
    await sns.close()


def an_event(**fields: Any) -> dict[str, Any]:
    """A CloudEvent that is taken."""
    return {
        "specversion": "1.0",
        "id": "order-1",
        "source": "/shop/orders",
        "type": "order.confirmed",
        "data": {"recipients": ["ann"], "payload": {"order": "1"}},
        **fields,
    }


def an_item(number: int, *, read: bool = False, user_id: str = "ann", channel: Channel = "inapp") -> InboxItem:
    """Numbered from the newest."""
    return InboxItem(
        user_id=user_id,
        item_id=UUID(int=number, version=1),
        notification_id=f"n-{number}",
        type="order.confirmed",
        category="orders",
        accepted_at=1_790_000_000_000 - number,
        sequence=100 - number,
        title=f"{channel} {number}",
        payload=b'{"id":9007199254740993,"big":18446744073709551616,"amount":0.1}',
        read=read,
    )
