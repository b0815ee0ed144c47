"""What a gateway stands on, in memory: ledger, facts, profiles, inboxes, and a Redis that keeps little."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from uuid import UUID

from notify_streams.gateway.known import Known
from notify_streams.gateway.ledger import Claimed, Entry, Mark, Mine, OtherBody, Taken, UnderWay
from notify_streams.ports import InboxChange, InboxCounts, InboxItem, Unavailable
from schemas.decisions import DecisionV1
from schemas.facts import Fact
from schemas.outcomes import OutcomeV1
from schemas.profiles import ProfileV1
from schemas.receipts import ReceiptV1
from schemas.words import Channel


class NoRedis:
    """Every gateway for itself."""

    async def ask(self, *commands: tuple[bytes, ...]) -> list[int]:
        raise Unavailable("Redis is away")


class OneRedis:
    """What EXISTS and SET keep, for as long as `away` is not set."""

    def __init__(self) -> None:
        self.kept: set[bytes] = set()
        self.away = False

    async def ask(self, *commands: tuple[bytes, ...]) -> list[int]:
        if self.away:
            raise Unavailable("Redis is away")
        self.kept |= {key for verb, key, *_ in commands if verb == b"SET"}
        return [key in self.kept for _, key, *_ in commands]


@dataclass
class Settled:
    """Delivery keys that remember what was settled."""

    ids: list[tuple[str, int, str | None]] = field(default_factory=list)
    away: bool = False

    async def settle(self, delivery_id: str, at: int, message_id: str | None) -> bool:
        if self.away:
            raise Unavailable("Redis is away")
        self.ids.append((delivery_id, at, message_id))
        return True


@dataclass
class MemoryLedger:
    """One dictionary."""

    entries: dict[str, tuple[str, bytes, bytes]] = field(default_factory=dict)
    marks: dict[str, Mark] = field(default_factory=dict)
    told: dict[str, Known] = field(default_factory=dict)
    tellings: int = 0
    away: bool = False

    async def claim(self, key: str, digest: bytes) -> Claimed:
        self._check()
        state, known, answer = self.entries.get(key, ("free", digest, b""))
        if known != digest:
            return OtherBody()
        if state == "under way":
            return UnderWay()
        if state == "taken":
            return Taken(answer)
        self.entries[key] = ("under way", digest, b"")
        return Mine()

    async def taken(self, key: str, digest: bytes, answer: bytes, marks: tuple[Mark, ...]) -> None:
        self._check()
        self.entries[key] = ("taken", digest, answer)
        self.marks.update({mark.notification_id: mark for mark in marks})

    async def unconfirmed(self, key: str, digest: bytes) -> None:
        self._check()
        self.entries[key] = ("free", digest, b"")

    async def mark(self, notification_id: str) -> Mark | None:
        self._check()
        return self.marks.get(notification_id)

    async def claim_all(self, wanted: Sequence[tuple[str, bytes]]) -> Sequence[Claimed]:
        return [await self.claim(key, digest) for key, digest in wanted]

    async def taken_all(self, entries: Sequence[Entry]) -> None:
        for entry in entries:
            await self.taken(*entry)

    async def read(self, user_id: str) -> Known | None:
        self._check()
        return self.told.get(user_id)

    async def tell(self, known: Mapping[str, Known]) -> None:
        self._check()
        self.tellings += 1
        for user_id, one in known.items():
            before = self.told.get(user_id, Known(-1))
            if (one.version, one.profile is not None) > (before.version, before.profile is not None):
                self.told[user_id] = one

    def _check(self) -> None:
        if self.away:
            raise Unavailable("Redis is away")


@dataclass
class Store:
    """Facts, profiles and inboxes, as given."""

    known: dict[str, list[Fact]] = field(default_factory=dict)
    recorded: dict[str, ProfileV1] = field(default_factory=dict)
    items: list[InboxItem] = field(default_factory=list)
    header: InboxCounts = field(default_factory=InboxCounts)
    away: bool = False
    asked: int = 0
    failed: list[OutcomeV1 | ReceiptV1] = field(default_factory=list)

    async def failures(
        self, channel: Channel, *, since: int, until: int, limit: int
    ) -> Sequence[OutcomeV1 | ReceiptV1]:
        self._check()
        found = [one for one in self.failed if one.channel == channel and since <= one.at < until]
        return sorted(found, key=lambda one: (-one.at, one.delivery_id))[:limit]

    async def write(
        self, items: Sequence[InboxItem], headers: Mapping[str, InboxCounts], changes: Sequence[InboxChange] = ()
    ) -> None:
        self.items.extend(items)

    async def facts(self, notification_id: str) -> Sequence[Fact]:
        self._check()
        return self.known.get(notification_id, [])

    async def notifications_of(self, user_id: str) -> Sequence[str]:
        self._check()
        return sorted(id_ for id_, facts in self.known.items() if any(_user_of(fact) == user_id for fact in facts))

    async def facts_of(self, notification_ids: Sequence[str]) -> Mapping[str, Sequence[Fact]]:
        return {id_: await self.facts(id_) for id_ in notification_ids}

    async def profile(self, user_id: str) -> ProfileV1 | None:
        self.asked += 1
        self._check()
        return self.recorded.get(user_id)

    async def page(self, user_id: str, *, before: UUID | None, limit: int, now: datetime) -> Sequence[InboxItem]:
        self._check()
        mine = [item for item in self.items if item.user_id == user_id]
        if before is not None:
            mine = mine[[item.item_id for item in mine].index(before) + 1 :]
        return mine[:limit]

    async def counts(self, user_id: str) -> InboxCounts:
        self._check()
        return self.header

    def _check(self) -> None:
        if self.away:
            raise Unavailable("Cassandra is away")


def _user_of(fact: Fact) -> str:
    return fact.notification.user_id if isinstance(fact, DecisionV1) else ""
