"""Facts about notifications, failures, catalogues and profiles for reading, in Cassandra."""

from collections.abc import Mapping, Sequence
from heapq import merge
from itertools import islice
from typing import Any
from uuid import UUID

from notify_streams.stores.cassandra import Session
from schemas.codec import encode
from schemas.facts import Fact
from schemas.profiles import ProfileV1, decode_profile
from schemas.receipts import ReceiptV1
from schemas.words import Channel

from .failures import BUCKETS, bucket_of, day_of, days
from .rows import Failure, decode_failure, digests_of, fact_of, failure_of, place_of

_STATEMENTS = {
    "fact": "INSERT INTO facts (notification_id, kind, key, at, user_id, body) VALUES (?, ?, ?, ?, ?, ?)"
    " USING TIMESTAMP ?",
    "failure": "INSERT INTO failures (day, channel, bucket, at, delivery_id, outcome) VALUES (?, ?, ?, ?, ?, ?)"
    " USING TIMESTAMP ?",
    "facts": "SELECT notification_id, kind, body FROM facts WHERE notification_id IN ?",
    "failures": "SELECT at, delivery_id, outcome FROM failures"
    " WHERE day = ? AND channel = ? AND bucket = ? AND at >= ? AND at < ? LIMIT ?",
    "of_user": "SELECT notification_id FROM facts WHERE user_id = ?",
    "put": "INSERT INTO registers (key, name, value) VALUES (?, ?, ?) USING TIMESTAMP ?",
    "get": "SELECT value FROM registers WHERE key = ? AND name = ?",
    "put_profile": "INSERT INTO profiles (user_id, version, body) VALUES (?, ?, ?) USING TIMESTAMP ?",
    "get_profile": "SELECT body FROM profiles WHERE user_id = ?",
}
_CATALOGUES = "catalogues"
_FOREVER_US = 1  # what is filed by its own hash never changes: any timestamp will do
_ASKED_AT_ONCE = 20
_US = 1000


class CassandraRecords:
    """Write timestamps are event times: order of arrival cannot matter."""

    def __init__(self, session: Session, prepared: Mapping[str, Any]) -> None:
        self._session, self._prepared = session, prepared

    @classmethod
    async def open(cls, session: Session) -> "CassandraRecords":
        """On a session with the keyspace. Raises Unavailable."""
        return cls(session, await session.prepare(_STATEMENTS))

    async def write(self, facts: Sequence[Fact]) -> None:
        """See ports.RecordStore."""
        rows: list[tuple[Any, Sequence[Any]]] = []
        fact_row, failure_row = self._prepared["fact"], self._prepared["failure"]
        for fact in facts:
            place, body = place_of(fact), encode(fact)
            written_at = place.at * _US
            for notification_id in place.notification_ids:
                key = UUID(notification_id), place.kind, place.key
                rows.append((fact_row, (*key, place.at, place.user_id, body, written_at)))
            failure = failure_of(fact)
            if failure is not None:
                partition = day_of(failure.at), failure.channel, bucket_of(failure.delivery_id)
                rows.append((failure_row, (*partition, failure.at, failure.delivery_id, body, written_at)))
        await self._session.write(rows)

    async def facts(self, notification_id: str) -> Sequence[Fact]:
        """See ports.RecordStore."""
        return (await self.facts_of([notification_id]))[notification_id]

    async def facts_of(self, notification_ids: Sequence[str]) -> Mapping[str, Sequence[Fact]]:
        """See ports.Records."""
        found = await self._own(notification_ids)
        digests = {given: digests_of(given, facts) for given, facts in found.items()}
        others = await self._own(sorted(set().union(*digests.values()))) if any(digests.values()) else {}
        for given, spoke in digests.items():
            for digest in spoke:
                found[given] += [fact for fact in others[digest] if isinstance(fact, ReceiptV1)]
        return found

    async def _own(self, notification_ids: Sequence[str]) -> dict[str, list[Fact]]:
        """What is filed under each."""
        ids = {UUID(given): given for given in notification_ids}
        asked = list(ids)
        groups = [(asked[at : at + _ASKED_AT_ONCE],) for at in range(0, len(asked), _ASKED_AT_ONCE)]
        found: dict[str, list[Fact]] = {given: [] for given in notification_ids}
        for rows in await self._session.select(self._prepared["facts"], *groups):
            for row in rows:
                fact = fact_of(row.kind, row.body)
                if fact is not None:
                    found[ids[row.notification_id]].append(fact)
        return found

    async def notifications_of(self, user_id: str) -> Sequence[str]:
        """See ports.Records."""
        [rows] = await self._session.select(self._prepared["of_user"], (user_id,))
        return sorted({str(row.notification_id) for row in rows})

    async def failures(self, channel: Channel, *, since: int, until: int, limit: int) -> Sequence[Failure]:
        """See ports.Records."""
        found: list[Failure] = []
        for day in days(since, until):
            asked = [(day, channel, bucket, since, until, limit) for bucket in range(BUCKETS)]
            buckets = await self._session.select(self._prepared["failures"], *asked)
            newest = merge(*buckets, key=lambda row: (-row.at, row.delivery_id))
            found += [decode_failure(row.outcome) for row in islice(newest, limit - len(found))]
            if len(found) == limit:
                break
        return found

    async def write_catalogues(self, bodies: Mapping[str, bytes]) -> None:
        """See ports.Records."""
        row = self._prepared["put"]
        await self._session.write((row, (_CATALOGUES, hash_, body, _FOREVER_US)) for hash_, body in bodies.items())

    async def catalogue(self, hash_: str) -> bytes | None:
        """See ports.Records."""
        [rows] = await self._session.select(self._prepared["get"], (_CATALOGUES, hash_))
        return bytes(rows[0].value) if rows else None

    async def write_profiles(self, profiles: Mapping[str, ProfileV1]) -> None:
        """See ports.RecordStore."""
        row = self._prepared["put_profile"]
        await self._session.write((row, (user, p.version, encode(p), p.version)) for user, p in profiles.items())

    async def profile(self, user_id: str) -> ProfileV1 | None:
        """See ports.RecordStore."""
        [rows] = await self._session.select(self._prepared["get_profile"], (user_id,))
        return decode_profile(rows[0].body) if rows else None
