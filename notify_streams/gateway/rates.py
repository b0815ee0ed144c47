"""How many events per second a key may publish through this process."""

from math import ceil

from notify_streams.gateway.problems import Problem


class Rates:
    """A bucket per key that holds one second's worth."""

    def __init__(self) -> None:
        self._buckets: dict[str, tuple[float, float]] = {}

    def take(self, name: str, rate: int, now: float) -> None:
        """Count one event at `now` (s, monotonic). Raises a 429 that says when to come back."""
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
            raise Problem(429, "rate_limited", f"this key has {rate} events a second", headers=headers)
        self._buckets[name] = (left - 1, now)
