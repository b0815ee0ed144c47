"""The live tail of an inbox in Redis: the last changes of a user by sequence, and a message to who listens."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from redis.asyncio import Redis

from notify_streams.metrics import BYPASSED
from notify_streams.ports import InboxCounts, Unavailable
from notify_streams.stores.inbox_keys import InboxKeys
from notify_streams.stores.redis import Expendable
from schemas.codec import encode

KEPT, KEPT_S = 100, 7 * 86400
COUNTS_S = 300
TRIMMED_EVERY = 16  # sequences: a tail holds up to that many more; each command costs as much as a row in Cassandra
MOST_OWED = 50_000
_PORTION, _STEPS = 1000, 20


class Frame(NamedTuple):
    """One frame of `schemas.frames` as JSON; `again` if it may have been told before."""

    user_id: str
    sequence: int
    payload: bytes
    again: bool = False


class LiveTail:
    """Expendable: without Redis a stream says `reset` and its reader lists again.

    What could not be told is owed: once Redis answers again, counts and tails of those users go first, so that nobody
    takes what is old for what holds.
    """

    def __init__(self, redis: Expendable, keys: InboxKeys, *, most_owed: int = MOST_OWED) -> None:
        self._redis, self._keys, self._most_owed = redis, keys, most_owed
        self._stale = tuple(name("").split("{")[0].encode() for name in (keys.counts, keys.tail))
        self._owed: set[str] = set()
        self._all_from: int | None = None  # where the scan for all that may be stale goes on

    async def publish(self, frames: Sequence[Frame], headers: Mapping[str, InboxCounts]) -> None:
        """Add these frames, and the counts after them; one round trip. Never raises for an absent Redis."""
        if not frames and not headers:
            return
        try:
            if self._owed or self._all_from is not None:
                await self._redis.call(self._settle)
            await self._redis.call(lambda client: _write(client, self._keys, frames, headers))
        except Unavailable:
            BYPASSED.labels(engine="redis").inc()
            self._owe(headers)

    def _owe(self, users: Iterable[str]) -> None:
        self._owed.update(users)
        if len(self._owed) > self._most_owed:
            self._all_from, self._owed = 0, set()

    async def _settle(self, client: Redis) -> None:
        """What is stale goes, so that it is read from where it is stored."""
        owed = list(self._owed)
        for at in range(0, len(owed), _PORTION):
            users = owed[at : at + _PORTION]
            await client.unlink(*map(self._keys.counts, users), *map(self._keys.tail, users))
        self._owed.difference_update(owed)
        for _ in range(_STEPS):
            if self._all_from is None:
                return
            found: Any = await client.scan(self._all_from, match=f"{_escaped(self._keys.place)}*", count=_PORTION)
            at, names = found
            stale = [name for name in names if name.startswith(self._stale)]
            if stale:
                await client.unlink(*stale)
            self._all_from = at or None


async def _write(client: Redis, keys: InboxKeys, frames: Sequence[Frame], headers: Mapping[str, InboxCounts]) -> None:
    pipe: Any = client.pipeline(transaction=False)
    for frame in frames:
        tail = keys.tail(frame.user_id)
        if frame.again:  # with the counts of now, in the place of what was said then
            pipe.zremrangebyscore(tail, frame.sequence, frame.sequence)
        pipe.zadd(tail, {frame.payload: frame.sequence})
    for user in {frame.user_id for frame in frames if frame.sequence % TRIMMED_EVERY == 1}:
        pipe.zremrangebyrank(keys.tail(user), 0, -KEPT - 1)
        pipe.expire(keys.tail(user), KEPT_S)
    for user, counts in headers.items():
        pipe.set(keys.counts(user), encode(counts), ex=COUNTS_S)
    for frame in frames:  # who hears it finds the counts
        pipe.spublish(keys.channel(frame.user_id), frame.payload)
    await pipe.execute()


def _escaped(name: str) -> str:
    return "".join(f"\\{letter}" if letter in "*?[]\\" else letter for letter in name)
