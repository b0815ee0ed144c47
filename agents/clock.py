"""The one place where agents learn what time it is."""

import time
from collections.abc import Callable

Clock = Callable[[], int]


def wall_clock() -> int:
    """Milliseconds since the epoch."""
    return time.time_ns() // 1_000_000
