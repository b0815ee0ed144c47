"""When a user's channel is quiet.

A window lies between two instants, those of its start and its end on the local date on which it starts and, where it
goes over midnight, the next. Windows that touch or overlap are one quiet period. One that begins and ends at the same
time of day, or that a change of the clocks leaves empty, is none. The inbox makes no noise and is never quiet.
"""

from bisect import bisect_right
from collections.abc import Iterator
from datetime import date
from functools import lru_cache
from typing import get_args

from notify_streams.domain.local_times import DAY_MS, EPOCH_DAY, LAST_DAY, instant
from schemas.profiles import Day, QuietHours
from schemas.words import MAX_MS, Channel

AHEAD_MS = 8 * DAY_MS
_DAYS: tuple[Day, ...] = get_args(Day)


def reopens_at(windows: tuple[QuietHours, ...], zone: str, channel: Channel, now: int) -> int | None:
    """When the quiet period of this channel is over; None when there is none now.

    Instants in ms. The one returned is itself not quiet, except that MAX_MS stands for more than 8 days away.
    Raises KeyError for a zone that is not in ZONES.
    """
    if not windows or channel == "inapp":
        return None
    starts, ends = _periods(windows, zone, channel, now // DAY_MS)
    last = bisect_right(starts, now) - 1
    if last < 0 or ends[last] <= now:
        return None
    return ends[last] if ends[last] <= now + AHEAD_MS else MAX_MS


def closes_at(windows: tuple[QuietHours, ...], zone: str, channel: Channel, now: int) -> int | None:
    """When the next quiet period of this channel starts, later than `now`; None when none does within 8 days.

    Instants in ms. Raises KeyError for a zone that is not in ZONES.
    """
    if not windows or channel == "inapp":
        return None
    starts, _ = _periods(windows, zone, channel, now // DAY_MS)
    following = bisect_right(starts, now)
    if following == len(starts) or starts[following] > now + AHEAD_MS:
        return None
    return starts[following]


@lru_cache(4096)
def _periods(
    windows: tuple[QuietHours, ...], zone: str, channel: Channel, utc_day: int
) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Starts and ends of the quiet periods that matter within a UTC day (counted from the epoch) and 8 days after it.

    Keyed by UTC days, so that whoever asks need not know the local date, which is up to a day off either way.
    """
    starts: list[int] = []
    ends: list[int] = []
    first = utc_day + EPOCH_DAY - 2  # on the local date before the day's first may start what still lasts
    for start, end in sorted(_intervals(windows, zone, channel, range(first, min(first + 11, LAST_DAY) + 1))):
        if ends and start <= ends[-1]:
            ends[-1] = max(ends[-1], end)
        else:
            starts.append(start)
            ends.append(end)
    return tuple(starts), tuple(ends)


def _intervals(windows: tuple[QuietHours, ...], zone: str, channel: Channel, days: range) -> Iterator[tuple[int, int]]:
    for window in windows:
        if window.channels and channel not in window.channels:
            continue
        over_midnight = window.end < window.start
        for day in days:
            if not window.days or _DAYS[date.fromordinal(day).weekday()] in window.days:
                start = instant(day, window.start, zone)
                end = instant(day + over_midnight, window.end, zone)
                if start < end:
                    yield start, end
