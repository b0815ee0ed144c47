"""What the clocks of a zone show when: local dates and times of day as instants, by the pinned tzdata.

Instants are ms since the epoch, UTC, from 0 to MAX_MS; times of day `HH:MM`, where 24:00 is the end of the day.
Every function raises KeyError for a zone that is not in ZONES.
"""

from datetime import date, datetime, timedelta
from functools import cache, lru_cache
from importlib.resources import files
from zoneinfo import ZoneInfo

from notify_streams.domain.zones import ZONES
from schemas.words import MAX_MS

DAY_MS, _HOUR_MS, _MINUTE_MS = 86_400_000, 3_600_000, 60_000
EPOCH_DAY = date(1970, 1, 1).toordinal()
LAST_DAY = date.max.toordinal() - 1  # the last one of which the calendar can say when it ends
_MINUTE = timedelta(minutes=1)
_SECOND = timedelta(seconds=1)


@cache
def rules_of(zone: str) -> ZoneInfo:
    """The zone's rules out of the pinned tzdata, whatever the machine has installed."""
    if zone not in ZONES:
        raise KeyError(zone)
    with files("tzdata").joinpath("zoneinfo", *zone.split("/")).open("rb") as rules:
        return ZoneInfo.from_file(rules, key=zone)


def day_at(zone: str, at: int) -> int:
    """The local date at an instant, as of `date.toordinal`."""
    return (at + _offset(rules_of(zone), at)) // DAY_MS + EPOCH_DAY


def instant(day: int, time_of_day: str, zone: str) -> int:
    """When it is this time on a local date (as of `date.toordinal`, to the last of the calendar).

    A time that the clocks skip takes the offset before the gap (02:30 is then shown as 03:30); one that they show
    twice means the first. A later date never gives an earlier instant.
    """
    midnight = _even_midnight(day, zone)
    if midnight is None:
        return _resolved(day, _minutes(time_of_day), zone)
    return midnight + _minutes(time_of_day) * _MINUTE_MS


def next_at(time_of_day: str, zone: str, after: int) -> int:
    """The first instant later than `after` that `instant` gives for some local date.

    So there is one for each date that has such a time, and never two. MAX_MS where the calendar ends.
    """
    today = day_at(zone, after)
    # Yesterday's may be shown today (a gap over midnight), and tomorrow's be over already (a midnight shown twice).
    for day in range(today - 1, min(today + 2, LAST_DAY) + 1):
        at = instant(day, time_of_day, zone)
        if at > after:
            return at
    return MAX_MS


def next_hour(zone: str, after: int) -> int:
    """The first instant later than `after` at which the zone's clocks show a full hour, each time that they do.

    One and a half hours away at most (Lord Howe's clocks skip half an hour), MAX_MS where the calendar ends.
    """
    rules = rules_of(zone)
    before = _offset(rules, after)
    hour = after + _HOUR_MS - (after + before) % _HOUR_MS
    if _offset(rules, hour) == before:
        return min(hour, MAX_MS)
    changed = _offset(rules, after + _HOUR_MS)
    hour = after + _HOUR_MS - (after + changed) % _HOUR_MS
    return hour if _offset(rules, hour) == changed else hour + _HOUR_MS


@lru_cache(8192)
def _even_midnight(day: int, zone: str) -> int | None:
    """When a local date starts that has 24 hours, so that any time of it can be counted from there; else None."""
    if day > LAST_DAY:
        return None
    start, end = _resolved(day, 0, zone), _resolved(day, 24 * 60, zone)
    return start if end - start == DAY_MS else None


def _resolved(day: int, minutes: int, zone: str) -> int:
    wall = datetime.fromordinal(day).replace(tzinfo=rules_of(zone)) + minutes * _MINUTE
    return min(int(wall.timestamp()) * 1000, MAX_MS)


@lru_cache(2048)
def _minutes(time_of_day: str) -> int:
    return int(time_of_day[:2]) * 60 + int(time_of_day[3:])


def _offset(rules: ZoneInfo, at: int) -> int:
    """Local time less UTC, in ms; in the calendar's last days, where it cannot be asked, as the day before them."""
    shown = datetime.fromtimestamp(min(at, MAX_MS - DAY_MS) // 1000, rules)
    offset = shown.utcoffset()
    assert offset is not None
    return offset // _SECOND * 1000
