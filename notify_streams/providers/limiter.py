"""The rate of each provider: shared by all processes through Redis, or this process's part of it while Redis is away.

The script is `domain/throttle.take` over a hash, by Redis's own clock: one round trip, and nothing between count and
expiry that a kill could cut in two.
"""

from collections.abc import Callable, Mapping

from notify_streams.domain import throttle
from notify_streams.domain.throttle import FRESH, Grant, Throttle
from notify_streams.stores.redis import Expendable
from schemas.words import Lane

_TAKE = f"""
local time = redis.call('TIME')
local now = time[1] + time[2] / 1000000
local rate, lane, wanted = tonumber(ARGV[1]), ARGV[2], tonumber(ARGV[3])
local kept = redis.call('HMGET', KEYS[1], 'used', 'low', 'high', 'paused')
local function sane(text)
  local at = tonumber(text or '0')
  if at < now or at > now + 10 then return now end
  return at
end
local function free(at, rate, tolerance)
  return math.max(0, math.floor((tolerance - (at - now)) * rate + 1e-6))
end
local paused, high = tonumber(kept[4] or '0'), tonumber(kept[3] or '0')
if now < paused then return {{0, math.ceil((paused - now) * 1000)}} end
local used, low = sane(kept[1]), sane(kept[2])
local tolerance, of_low = {throttle.TOLERANCE_S}, rate * {throttle.LOW_SHARE}
local low_tolerance = math.max(tolerance, 1 / of_low)
if lane ~= 'high' then tolerance = tolerance * {throttle.RESERVE} end
tolerance = math.max(tolerance, 1 / rate)
local count = free(used, rate, tolerance)
if lane == 'low' then count = math.min(count, free(low, of_low, low_tolerance)) end
local behind = lane ~= 'high' and now < high
local granted = behind and 0 or math.min(wanted, count)
used = used + granted / rate
local wait = used - now - tolerance + 1 / rate
if lane == 'low' then
  low = low + granted / of_low
  wait = math.max(wait, low - now - low_tolerance + 1 / of_low)
end
if behind then wait = high - now end
if lane == 'high' and granted < wanted then high = now + {throttle.HIGH_WAITS_S} end
local function exact(at) return string.format('%.6f', at) end
redis.call('HSET', KEYS[1], 'used', exact(used), 'low', exact(low), 'high', exact(high))
redis.call('PEXPIRE', KEYS[1], 60000)
if granted == wanted then return {{granted, 0}} end
return {{granted, math.max(1, math.ceil(wait * 1000))}}
"""
_PAUSE = """
local time = redis.call('TIME')
local ends = time[1] + time[2] / 1000000 + ARGV[1] / 1000
if ends > tonumber(redis.call('HGET', KEYS[1], 'paused') or '0') then
  redis.call('HSET', KEYS[1], 'paused', string.format('%.6f', ends))
end
redis.call('PEXPIRE', KEYS[1], math.max(60000, math.ceil(ARGV[1]) + 1000, redis.call('PTTL', KEYS[1])))
return 1
"""


class RedisLimiter:
    """Implements `ports.Limiter`. `rates` are calls per second by provider; the same settings hold everywhere."""

    def __init__(self, redis: Expendable, rates: Mapping[str, float], *, prefix: str = "") -> None:
        self._redis, self._rates, self._prefix = redis, rates, prefix
        self._take = redis.client.register_script(_TAKE)
        self._pause = redis.client.register_script(_PAUSE)

    async def take(self, provider: str, lane: Lane, wanted: int) -> Grant:
        """See ports.Limiter."""
        args = [self._rates[provider], lane, wanted]
        granted, wait_ms = await self._redis.call(lambda _: self._take(keys=[self._key(provider)], args=args))
        return Grant(int(granted), int(wait_ms))

    async def pause(self, provider: str, for_ms: int) -> None:
        """See ports.Limiter."""
        await self._redis.call(lambda _: self._pause(keys=[self._key(provider)], args=[for_ms]))

    def _key(self, provider: str) -> str:
        return f"{self._prefix}limit:{provider}"


class LocalLimiter:
    """Implements `ports.Limiter` for one process alone, with `share` of each rate. `clock` in seconds."""

    def __init__(self, rates: Mapping[str, float], *, share: float, clock: Callable[[], float]) -> None:
        self._rates, self._share, self._clock = rates, share, clock
        self._throttles: dict[str, Throttle] = {}

    async def take(self, provider: str, lane: Lane, wanted: int) -> Grant:
        """See ports.Limiter."""
        known = self._throttles.get(provider, FRESH)
        self._throttles[provider], grant = throttle.take(
            known, self._rates[provider] * self._share, lane, wanted, self._clock()
        )
        return grant

    async def pause(self, provider: str, for_ms: int) -> None:
        """See ports.Limiter."""
        known, until = self._throttles.get(provider, FRESH), self._clock() + for_ms / 1000
        paused = max(known.paused_until, until)
        self._throttles[provider] = Throttle(known.used_until, known.low_until, known.high_until, paused)
