"""How many requests per second a key or a user may make of this process."""

from collections import OrderedDict
from math import ceil

from notify_streams.gateway.problems import Problem

_MOST = 100_000


class Rates:
    """A bucket per name that holds one second's worth; the longest unused are forgotten, which are full again."""

    def __init__(self) -> None:
        self._buckets: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def take(self, name: str, rate: int, now: float, *, what: str = "this key has {} events a second") -> None:
        """Count one at `now` (s, monotonic). Raises a 429 that says when to come back."""
        left, at = self._buckets.get(name, (float(rate), now))
        left = min(float(rate), left + (now - at) * rate)
        if left < 1:
            wait = ceil((1 - left) / rate) if rate else 60
            headers = {
                "Retry-After": str(wait),
                "RateLimit-Limit": str(rate),
                "RateLimit-Remaining": "0",
                "RateLimit-Reset": str(wait),
            }
            raise Problem(429, "rate_limited", what.format(rate), headers=headers)
        self._buckets[name] = (left - 1, now)
        self._buckets.move_to_end(name)
        if len(self._buckets) > _MOST:
            self._buckets.popitem(last=False)
