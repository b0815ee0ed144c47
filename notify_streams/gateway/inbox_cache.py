"""Counts and first pages kept in Redis: never wrong for longer than the write takes.

The inbox role sets the counts once all of them can be listed. A page is kept with the sequence that was read before
its rows were, and is good for as long as the counts are of that sequence: nobody has to take it away.
"""

from dataclasses import dataclass
from typing import Any, Protocol

import msgspec

from notify_streams.ports import InboxCounts, Unavailable
from notify_streams.stores.inbox_keys import InboxKeys
from schemas.codec import encode

KEPT_S = 300
_KEPT = str(KEPT_S).encode()
# Never older counts over newer ones: the inbox role may have come in between.
_KEEP_NEWER = b"""local known = redis.call('GET', KEYS[1])
if known and cjson.decode(known)['sequence'] >= tonumber(ARGV[1]) then return 0 end
redis.call('SET', KEYS[1], ARGV[2], 'EX', ARGV[3])
return 1"""


class Asks(Protocol):
    """Redis, for some commands in one round trip. Raises Unavailable."""

    async def ask(self, *commands: tuple[bytes, ...]) -> list[Any]:
        """Their answers, in order."""


class Kept(msgspec.Struct, frozen=True):
    """What Redis has of an inbox."""

    counts: InboxCounts | None = None
    page: bytes | None = None


NOTHING = Kept()


@dataclass(frozen=True, slots=True)
class InboxCache:
    """Expendable: without Redis there is nothing here, and everything is read from where it is stored."""

    redis: Asks
    keys: InboxKeys

    async def counts(self, user_id: str) -> Kept:
        """The counts alone."""
        return await self._read(user_id, (b"GET", self.keys.counts(user_id).encode()))

    async def first_page(self, user_id: str) -> Kept:
        """The counts, and the first page if it is of them."""
        counts, page = self.keys.counts(user_id).encode(), self.keys.page(user_id).encode()
        return await self._read(user_id, (b"GET", counts), (b"GET", page))

    async def keep_counts(self, user_id: str, counts: InboxCounts) -> None:
        """Until the inbox role says something newer."""
        key, sequence = self.keys.counts(user_id).encode(), b"%d" % counts.sequence
        await self._write(b"EVAL", _KEEP_NEWER, b"1", key, sequence, encode(counts), _KEPT)

    async def keep_page(self, user_id: str, sequence: int, page: bytes) -> None:
        """A first page that shows everything up to this sequence, or more."""
        await self._write(b"SET", self.keys.page(user_id).encode(), b"%d:%b" % (sequence, page), b"EX", _KEPT)

    async def _read(self, user_id: str, *commands: tuple[bytes, ...]) -> Kept:
        try:
            found, *pages = await self.redis.ask(*commands)
        except Unavailable:
            return NOTHING
        if found is None:
            return NOTHING
        counts = _decode_counts(found)
        sequence, _, page = (pages[0] if pages and pages[0] is not None else b"").partition(b":")
        return Kept(counts, page if sequence == b"%d" % counts.sequence else None)

    async def _write(self, *command: bytes) -> None:
        try:
            await self.redis.ask(command)
        except Unavailable:
            return  # counted where it was asked; what is not kept is read again


_decode_counts = msgspec.json.Decoder(InboxCounts).decode
