"""A provider's rate as a value: the generic cell rate algorithm (GCRA, ITU-T I.371), LOW with a share, HIGH first.

Nothing is counted and nothing has to expire: what is kept is the instant at which the rate is used up to, so that
whatever is lost or left over, after `TOLERANCE_S` the full rate is there again. `providers/limiter.py` has the same as
a script in Redis; one contract suite runs over both.
"""

from math import ceil, floor

import msgspec

from schemas.words import Lane

TOLERANCE_S = 0.1  # how much of the rate may go at once: over a minute an error of 0.2 %
RESERVE = 0.8  # the part of it that NORMAL and LOW leave to HIGH
LOW_SHARE = 0.6
HIGH_WAITS_S = 0.25  # how long the others stand back after HIGH had to wait
_SKEWED_S = 10.0


class Throttle(msgspec.Struct, frozen=True):
    """Instants in seconds: until when the rate, and LOW's part of it, is used up; until when HIGH has precedence, and
    nobody may call.
    """

    used_until: float = 0.0
    low_until: float = 0.0
    high_until: float = 0.0
    paused_until: float = 0.0


class Grant(msgspec.Struct, frozen=True):
    """How many calls may be made now, and in how many ms it makes sense to ask for more (0 where all were granted)."""

    granted: int
    wait_ms: int = 0


FRESH = Throttle()


def take(throttle: Throttle, rate: float, lane: Lane, wanted: int, now: float) -> tuple[Throttle, Grant]:
    """At most `wanted` permits at `now` (s) of `rate` per second."""
    if now < throttle.paused_until:
        return throttle, Grant(0, ceil((throttle.paused_until - now) * 1000))
    used, low = _sane(throttle.used_until, now), _sane(throttle.low_until, now)
    tolerance, of_low = max(TOLERANCE_S if lane == "high" else TOLERANCE_S * RESERVE, 1 / rate), rate * LOW_SHARE
    free = _free(used, rate, tolerance, now)
    if lane == "low":
        free = min(free, _free(low, of_low, max(TOLERANCE_S, 1 / of_low), now))
    behind = lane != "high" and now < throttle.high_until
    granted = 0 if behind else min(wanted, free)
    used += granted / rate
    wait = used - now - tolerance + 1 / rate
    if lane == "low":
        low += granted / of_low
        wait = max(wait, low - now - max(TOLERANCE_S, 1 / of_low) + 1 / of_low)
    high = now + HIGH_WAITS_S if lane == "high" and granted < wanted else throttle.high_until
    if behind:
        wait = throttle.high_until - now
    wait_ms = 0 if granted == wanted else max(1, ceil(wait * 1000))
    return Throttle(used, low, high, throttle.paused_until), Grant(granted, wait_ms)


def _sane(until: float, now: float) -> float:
    """Not in the past; and not where only a clock that was set back can have put it."""
    return now if until < now or until > now + _SKEWED_S else until


def _free(until: float, rate: float, tolerance: float, now: float) -> int:
    """How many permits are free."""
    return max(0, floor((tolerance - (until - now)) * rate + 1e-6))
