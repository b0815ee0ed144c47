"""When a server asks to be called again: Retry-After (RFC 9110, 10.2.3) in seconds or as a date (5.6.7)."""

import re
from collections.abc import Callable
from datetime import UTC, datetime
from math import ceil

_SECONDS = re.compile(r"[0-9]+(\.[0-9]+)?")
_LONGEST_S = 2**31  # what a cache takes a longer number for (RFC 9111, 1.2.2)
_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_MONTH = rf"(?P<month>{'|'.join(_MONTHS)})"
_TIME = r"(?P<hour>\d\d):(?P<minute>\d\d):(?P<second>\d\d)"
# The three forms that every recipient has to understand: IMF-fixdate, that of RFC 850, and that of C's asctime().
# The day's name says nothing that the date does not.
_DATES = tuple(
    re.compile(form, re.ASCII | re.IGNORECASE)
    for form in (
        rf"[a-z]{{3}}, (?P<day>\d\d) {_MONTH} (?P<year>\d{{4}}) {_TIME} (GMT|UTC)",
        rf"[a-z]{{6,9}}, (?P<day>\d\d)-{_MONTH}-(?P<year>\d\d) {_TIME} (GMT|UTC)",
        rf"[a-z]{{3}} {_MONTH} (?P<day>[ \d]\d) {_TIME} (?P<year>\d{{4}})",
    )
)
_FUTURE_YEARS = 50


def retry_after(value: str | None, *, now: int) -> float | None:
    """Whole seconds from `now` (ms), rounded up, at least 1; None where nothing was said that could be waited for.

    Zero, a date that is over and whatever is neither number nor date are None: the caller's own back-off holds.
    """
    if value is None:
        return None
    text = value.strip(" \t")
    wait = float(text) if _SECONDS.fullmatch(text) else _until(text, now)
    return float(ceil(min(wait, _LONGEST_S))) if wait > 0 else None


def _until(text: str, now: int) -> float:
    """Seconds until a date; 0 for what is none."""
    match = next(filter(None, (form.fullmatch(text) for form in _DATES)), None)
    if match is None:
        return 0.0
    at = _instant(match.group, int(match["year"]))
    if len(match["year"]) == 2:
        at = _of_this_time(match.group, datetime.fromtimestamp(now / 1000, UTC))
    return 0.0 if at is None else at - now / 1000


def _of_this_time(part: Callable[[str], str], today: datetime) -> float | None:
    """In the latest year that ends in these two digits and lets the date be no more than 50 years ahead."""
    furthest = today.year + _FUTURE_YEARS
    year = furthest - (furthest - int(part("year"))) % 100
    at = _instant(part, year)
    if at is None or at <= today.replace(year=furthest, day=min(today.day, 28)).timestamp():
        return at
    return _instant(part, year - 100)


def _instant(part: Callable[[str], str], year: int) -> float | None:
    """Seconds since the epoch; a leap second is the second after. None for a day or time that does not exist."""
    second = int(part("second"))
    month = _MONTHS.index(part("month").lower()) + 1
    try:
        day = datetime(
            year, month, int(part("day")), int(part("hour")), int(part("minute")), min(second, 59), tzinfo=UTC
        )
    except ValueError:
        return None
    return day.timestamp() + (second == 60) if second <= 60 else None
