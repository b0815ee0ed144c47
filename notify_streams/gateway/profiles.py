"""Profiles as callers may see them: never older than what they were told."""

import asyncio
from collections import OrderedDict
from dataclasses import dataclass, field
from time import monotonic
from typing import Protocol

import msgspec

from notify_streams.gateway.pipelined import Pipelined
from notify_streams.ports import RecordStore, Unavailable
from schemas.codec import encode
from schemas.commands import CommandResultV1
from schemas.profiles import NOBODY, ProfileV1

_KEEP_S = 600
_KEEP_ENTRIES = 10_000
_WAIT_S, _PAUSE_S = 1.0, 0.05


class Known(msgspec.Struct, frozen=True, omit_defaults=True):
    """A version that was answered, and where known the profile itself."""

    version: int
    profile: ProfileV1 | None = None


class Shared(Protocol):
    """What gateways tell each other about versions. Raises Unavailable throughout."""

    async def read(self, user_id: str) -> Known | None:
        """The last one told."""

    async def tell(self, user_id: str, known: Known) -> None:
        """Tell the others, for ten minutes."""


class RedisShared:
    """In Redis."""

    def __init__(self, redis: Pipelined) -> None:
        self._redis = redis

    async def read(self, user_id: str) -> Known | None:
        """See Shared."""
        (found,) = await self._redis.ask((b"GET", _key(user_id)))
        return None if found is None else _decode_known(found)

    async def tell(self, user_id: str, known: Known) -> None:
        """See Shared."""
        await self._redis.ask((b"SET", _key(user_id), encode(known), b"EX", b"%d" % _KEEP_S))


@dataclass(slots=True)
class Floors:
    """The versions that this process has heard of in the last ten minutes, bounded in number."""

    _entries: OrderedDict[str, tuple[float, Known]] = field(default_factory=OrderedDict)

    def heard(self, result: CommandResultV1) -> None:
        """Take an answer off the topic into account."""
        if result.status == "applied":
            self.raise_to(result.user_id, Known(result.version, result.profile))

    def raise_to(self, user_id: str, known: Known) -> None:
        """Unless a higher version is known, or this one in full."""
        now = self.of(user_id)
        if known.version < now.version or (known.version == now.version and known.profile is None):
            return
        self._entries[user_id] = (monotonic() + _KEEP_S, known)
        self._entries.move_to_end(user_id)
        while len(self._entries) > _KEEP_ENTRIES:
            self._entries.popitem(last=False)

    def of(self, user_id: str) -> Known:
        """What is known; version 0 of nobody in particular otherwise."""
        until, known = self._entries.get(user_id, (0.0, _NOTHING))
        return known if until > monotonic() else _NOTHING


@dataclass(frozen=True, slots=True)
class Profiles:
    """The newest of what was heard, told and recorded."""

    records: RecordStore
    shared: Shared
    floors: Floors

    async def read(self, user_id: str) -> ProfileV1:
        """Defaults for somebody unknown. Raises Unavailable when only older versions than the answered are there."""
        floor = await self._floor(user_id)
        if floor.profile is not None:
            return floor.profile
        until = monotonic() + _WAIT_S
        while True:
            profile = await self.records.profile(user_id) or NOBODY
            if profile.version >= floor.version:
                return profile
            if monotonic() >= until:
                raise Unavailable("the recorder has not caught up with an answered change")
            await asyncio.sleep(_PAUSE_S)

    async def answered(self, result: CommandResultV1) -> None:
        """Make sure that whoever reads next, here or elsewhere, sees the change."""
        self.floors.heard(result)
        try:
            await self.shared.tell(result.user_id, Known(result.version, result.profile))
        except Unavailable:
            return

    async def _floor(self, user_id: str) -> Known:
        """Recorded profiles are looked at only where nothing newer is known in full."""
        try:
            told = await self.shared.read(user_id)
        except Unavailable:
            told = None
        if told is not None:
            self.floors.raise_to(user_id, told)
        return self.floors.of(user_id)


def _key(user_id: str) -> bytes:
    return f"notify:profile:{user_id}".encode()


_NOTHING = Known(0)
_decode_known = msgspec.json.Decoder(Known).decode
