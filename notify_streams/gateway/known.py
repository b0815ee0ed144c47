"""Versions of profiles that were answered, and the newest profiles: here in memory, and in Redis for all gateways."""

from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass, field
from time import monotonic
from typing import Protocol, TypeVar

import msgspec

from notify_streams.gateway.pipelined import Pipelined
from notify_streams.settings import Kafka
from schemas.codec import encode
from schemas.profiles import ProfileV1

T = TypeVar("T")
KEPT_S = 600
MOST_WHOLE, MOST_VERSIONS = 10_000, 100_000
# Never an older one over a newer one, whoever comes last; of two alike the one with the profile stays.
_KEEP_NEWER = b"""local known = redis.call('GET', KEYS[1])
if known then
  local told, kept = tonumber(ARGV[1]), tonumber(string.match(known, '^{"version":(%d+)') or 0)
  local whole = not string.match(known, '^{"version":%d+}$')
  if told < kept or (told == kept and (whole or ARGV[4] == '0')) then return 0 end
end
redis.call('SET', KEYS[1], ARGV[2], 'EX', ARGV[3])
return 1"""


class Known(msgspec.Struct, frozen=True, omit_defaults=True):
    """A version that there is, and where known the profile itself."""

    version: int
    profile: ProfileV1 | None = None


class Shared(Protocol):
    """What gateways tell each other of profiles. Raises Unavailable throughout."""

    async def read(self, user_id: str) -> Known | None:
        """The newest that was told in the last ten minutes."""

    async def tell(self, known: Mapping[str, Known]) -> None:
        """Tell the others, by user; what is older than they know changes nothing."""


class RedisShared:
    """One key per user, for ten minutes: the cache in front of what is recorded.

    Named after the topics' prefix and generation: versions of another system, or of topics that are no more, would
    pass for newer ones of the same user, and hide every change until they are reached.
    """

    def __init__(self, redis: Pipelined, kafka: Kafka) -> None:
        self._redis = redis
        self._place = f"{kafka.prefix}:{kafka.generation}:profile:"  # a topic's name has no colon

    async def read(self, user_id: str) -> Known | None:
        """See Shared."""
        (found,) = await self._redis.ask((b"GET", self._key(user_id)))
        return None if found is None else _decode_known(found)

    async def tell(self, known: Mapping[str, Known]) -> None:
        """See Shared."""
        await self._redis.ask(*(_told(self._key(user_id), one) for user_id, one in known.items()))

    def _key(self, user_id: str) -> bytes:
        return f"{self._place}{user_id}".encode()


@dataclass(slots=True)
class Floors:
    """What this process has heard: whole profiles for ten minutes, versions for as long as there is room."""

    most_whole: int = MOST_WHOLE
    most_versions: int = MOST_VERSIONS
    _versions: OrderedDict[str, int] = field(default_factory=OrderedDict)
    _whole: OrderedDict[str, tuple[float, ProfileV1]] = field(default_factory=OrderedDict)

    def raise_to(self, user_id: str, known: Known) -> None:
        """Unless a higher version is known."""
        version = self._versions.get(user_id, 0)
        if known.version < version:
            return
        _keep(self._versions, user_id, known.version, self.most_versions)
        if known.profile is not None:
            _keep(self._whole, user_id, (monotonic() + KEPT_S, known.profile), self.most_whole)
        elif known.version > version:
            self._whole.pop(user_id, None)

    def of(self, user_id: str) -> Known:
        """What is known; version 0 of nobody in particular otherwise."""
        version = self._versions.get(user_id, 0)
        until, profile = self._whole.get(user_id, (0.0, None))
        return Known(version, profile if until > monotonic() else None)


def _keep(entries: OrderedDict[str, T], user_id: str, value: T, most: int) -> None:
    entries[user_id] = value
    entries.move_to_end(user_id)
    while len(entries) > most:
        entries.popitem(last=False)


def _told(key: bytes, known: Known) -> tuple[bytes, ...]:
    whole = b"0" if known.profile is None else b"1"
    return b"EVAL", _KEEP_NEWER, b"1", key, b"%d" % known.version, encode(known), b"%d" % KEPT_S, whole


_decode_known = msgspec.json.Decoder(Known).decode
