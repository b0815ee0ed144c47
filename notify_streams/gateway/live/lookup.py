"""Where an inbox stands and what its tail still tells: from Redis, or without it from where headers are stored."""

from dataclasses import dataclass
from typing import Any

import msgspec

from notify_streams.gateway.inbox_cache import Asks, InboxCache
from notify_streams.gateway.live.told import Change, Reading, change_of
from notify_streams.ports import InboxCounts, InboxStore, Unavailable
from notify_streams.stores.inbox_keys import InboxKeys

NOT_KNOWN = InboxCounts(sequence=-1)
_decode_counts = msgspec.json.Decoder(InboxCounts).decode


@dataclass(frozen=True, slots=True)
class Lookup:
    """Counts are asked before the tail: what was written in between is told, never only counted."""

    redis: Asks
    keys: InboxKeys
    cache: InboxCache
    store: InboxStore

    async def read(self, user_id: str, after: int | None) -> Reading:
        """All that is known of changes after this sequence. Raises Unavailable when nobody can say where it stands."""
        counts, changes = await self._kept(user_id, after)
        newest = max((change.counts for change in changes), key=lambda known: known.sequence, default=NOT_KNOWN)
        if counts is None and newest is NOT_KNOWN:
            counts = await self.store.counts(user_id)
            await self.cache.keep_counts(user_id, counts)
        return Reading(newest if counts is None or newest.sequence > counts.sequence else counts, changes)

    async def _kept(self, user_id: str, after: int | None) -> tuple[InboxCounts | None, tuple[Change, ...]]:
        tail, last = self.keys.tail(user_id).encode(), b"ZREVRANGE"
        asked = [(b"GET", self.keys.counts(user_id).encode()), (last, tail, b"0", b"0")]
        if after is not None:
            asked.append((b"ZRANGEBYSCORE", tail, b"(%d" % after, b"+inf"))
        try:
            counts, *found = await self.redis.ask(*asked)
        except Unavailable:
            return None, ()
        return _decode_counts(counts) if counts is not None else None, _changes(found)


def _changes(found: list[Any]) -> tuple[Change, ...]:
    """Each sequence once, in order: the last member of the tail counts, which has the present view."""
    newest, *rest = found
    by_sequence = {change.sequence: change for change in map(change_of, (*newest, *(rest[0] if rest else ())))}
    return tuple(by_sequence[sequence] for sequence in sorted(by_sequence))
