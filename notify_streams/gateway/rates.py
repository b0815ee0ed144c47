"""How many requests per second a key or a user may make of this process."""

from collections import OrderedDict
from math import ceil

from notify_streams.gateway.problems import Problem

_MOST = 100_000


class Rates:
    """A bucket per name that holds one second's worth; the longest unused are forgotten, which are full again."""

    def __init__(self) -> None:
        self._buckets: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def take(
        self, name: str, rate: int, now: float, *, count: int = 1, what: str = "this key has {} events a second"
    ) -> None:
        """Count so many at `now` (s, monotonic): more than a bucket holds are taken from a full one, and waited for.

        Raises a 429 that says when to come back.
        """
        left, at = self._buckets.get(name, (float(rate), now))
        left = min(float(rate), left + (now - at) * rate)
        needed = max(1, min(count, rate))
        if left < needed:
            wait = ceil((needed - left) / rate) if rate else 60
            headers = {
                "Retry-After": str(wait),
                "RateLimit-Limit": str(rate),
                "RateLimit-Remaining": "0",
                "RateLimit-Reset": str(wait),
            }
            raise Problem(429, "rate_limited", what.format(rate), headers=headers)
        self._buckets[name] = (left - count, now)
        self._buckets.move_to_end(name)
        if len(self._buckets) > _MOST:
            self._buckets.popitem(last=False)
