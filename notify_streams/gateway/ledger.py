"""Which events were taken under which key, for a day: the same key gives the same answer."""

import asyncio
from collections.abc import Sequence
from typing import Protocol

import msgspec

from notify_streams.gateway.pipelined import Command, Pipelined
from notify_streams.settings import Settings, milliseconds, seconds
from schemas.codec import encode

_PREFIX = "notify:"
_UNDER_WAY, _UNCONFIRMED, _TAKEN = b"w", b"u", b"t"
_DIGEST_BYTES = 32
_GRACE_MS = 5000


class Mine(msgspec.Struct, frozen=True):
    """Nobody had it: go on."""


class Taken(msgspec.Struct, frozen=True):
    """It was accepted before, with this answer."""

    answer: bytes


class UnderWay(msgspec.Struct, frozen=True):
    """Somebody is at it just now."""


class OtherBody(msgspec.Struct, frozen=True):
    """The key was used for something else."""


Claimed = Mine | Taken | UnderWay | OtherBody


class Mark(msgspec.Struct, frozen=True, kw_only=True):
    """What is known of a notification from its 202 until the recorder has heard of it. `accepted_at` in ms."""

    notification_id: str
    event_id: str
    source: str
    type: str
    user_id: str
    accepted_at: int


Entry = tuple[str, bytes, bytes, tuple[Mark, ...]]  # key, digest, answer, marks


class Ledger(Protocol):
    """Expendable: every method raises Unavailable, and the caller goes on without."""

    async def claim(self, key: str, digest: bytes) -> Claimed:
        """Take the key for this request, or learn why not. `digest` is of the body."""

    async def taken(self, key: str, digest: bytes, answer: bytes, marks: tuple[Mark, ...]) -> None:
        """Keep the answer and the marks."""

    async def unconfirmed(self, key: str, digest: bytes) -> None:
        """Let the same body be tried again."""

    async def mark(self, notification_id: str) -> Mark | None:
        """The mark of a notification."""

    async def claim_all(self, wanted: Sequence[tuple[str, bytes]]) -> Sequence[Claimed]:
        """`claim` for many keys, each with its digest, in one round trip."""

    async def taken_all(self, entries: Sequence[Entry]) -> None:
        """`taken` for many."""


class RedisLedger:
    """In Redis, one key per event and one per notification."""

    def __init__(self, redis: Pipelined, settings: Settings) -> None:
        self._redis = redis
        self._keep_s = b"%d" % round(seconds(settings.retention.dedup))
        self._claim_ms = b"%d" % (milliseconds(settings.gateway.delivery_timeout) + _GRACE_MS)

    async def claim(self, key: str, digest: bytes) -> Claimed:
        """See Ledger. Two may take up an unconfirmed event at once: both get the same answer."""
        (claimed,) = await self.claim_all([(key, digest)])
        return claimed

    async def claim_all(self, wanted: Sequence[tuple[str, bytes]]) -> Sequence[Claimed]:
        """See Ledger."""
        claims = [(_event(key), _UNDER_WAY + digest) for key, digest in wanted]
        asked = [(b"SET", name, claim, b"NX", b"GET", b"PX", self._claim_ms) for name, claim in claims]
        found = await self._redis.ask(*asked)
        again = [
            (b"SET", name, claim, b"PX", self._claim_ms)
            for (name, claim), value, (_, digest) in zip(claims, found, wanted, strict=True)
            if value is not None and value[:1] == _UNCONFIRMED and value[1 : 1 + _DIGEST_BYTES] == digest
        ]
        if again:
            await self._redis.ask(*again)
        return [_claimed(value, digest) for value, (_, digest) in zip(found, wanted, strict=True)]

    async def taken(self, key: str, digest: bytes, answer: bytes, marks: tuple[Mark, ...]) -> None:
        """See Ledger."""
        await self.taken_all([(key, digest, answer, marks)])

    async def taken_all(self, entries: Sequence[Entry]) -> None:
        """See Ledger."""
        commands = [self._kept(_event(key), _TAKEN + digest + answer) for key, digest, answer, _ in entries]
        marks = (mark for _, _, _, marks in entries for mark in marks)
        await self._redis.ask(*commands, *(self._kept(_mark(mark.notification_id), encode(mark)) for mark in marks))

    async def unconfirmed(self, key: str, digest: bytes) -> None:
        """See Ledger."""
        await self._redis.ask(self._kept(_event(key), _UNCONFIRMED + digest))

    async def mark(self, notification_id: str) -> Mark | None:
        """See Ledger."""
        (found,) = await self._redis.ask((b"GET", _mark(notification_id)))
        return None if found is None else _decode_mark(found)

    def _kept(self, name: bytes, value: bytes) -> Command:
        return (b"SET", name, value, b"EX", self._keep_s)


async def claim_patiently(ledger: Ledger, key: str, digest: bytes, *, wait_s: float) -> Claimed:
    """Claim, and while somebody else is at it look again for at most `wait_s`."""
    loop = asyncio.get_running_loop()
    until, pause = loop.time() + wait_s, 0.01
    while True:
        claimed = await ledger.claim(key, digest)
        if not isinstance(claimed, UnderWay) or loop.time() >= until:
            return claimed
        await asyncio.sleep(min(pause, max(0.0, until - loop.time())))
        pause = min(pause * 1.5, 0.1)


def _claimed(found: bytes | None, digest: bytes) -> Claimed:
    if found is None:
        return Mine()
    if found[1 : 1 + _DIGEST_BYTES] != digest:
        return OtherBody()
    if found[:1] == _UNCONFIRMED:
        return Mine()
    return Taken(found[1 + _DIGEST_BYTES :]) if found[:1] == _TAKEN else UnderWay()


def _event(key: str) -> bytes:
    return f"{_PREFIX}event:{key}".encode()


def _mark(notification_id: str) -> bytes:
    return f"{_PREFIX}mark:{notification_id}".encode()


_decode_mark = msgspec.json.Decoder(Mark).decode
