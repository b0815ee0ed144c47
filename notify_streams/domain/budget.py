"""The attention budget: how many notifications a user was disturbed by lately, whatever their type and channel.

A row of charges, oldest first, 16 bytes each: six of the instant (ms), ten of the notification's print. A notification
is charged once. A decision sees the charges before its own instant, and no two are of the same one: so what comes again
after a crash is judged by the same charges, which outlive their day by two hours for that.
"""

from typing import NamedTuple

from notify_streams.domain.dedup import print_of
from schemas.catalogue import Budget

_WIDTH, _AT = 16, 6
HOUR_MS, DAY_MS = 3_600_000, 24 * 3_600_000
_KEPT_MS = DAY_MS + 2 * HOUR_MS
MOST_LIMIT = 1000  # the row is read and written with each notification
_MOST = 3 * MOST_LIMIT  # what may be charged in an hour, and in two hours before
_AHEAD_MS = 600_000  # a burst, or a takeover by a host whose clock is behind; further off the clock was put back


class Spending(NamedTuple):
    """How many notifications were charged in the hour and in the day before, and whether this one was, earlier."""

    hour: int
    day: int
    paid: bool


def instant_of(row: bytes, now: int) -> int:
    """The instant (ms) to decide at: `now`, or just after the last charge where the clock has not gone past that."""
    last = _instant(row, len(row) - _WIDTH) if row else 0
    return last + 1 if now <= last < now + _AHEAD_MS else now


def spending(row: bytes, notification_id: str, now: int) -> Spending:
    """What a decision about this notification at `now` (ms) finds; made again, it finds what it found before."""
    own, present = _position(row, print_of(notification_id)), _as_bytes(now)
    day_ago, hour_ago = _as_bytes(max(0, now - DAY_MS)), _as_bytes(max(0, now - HOUR_MS))
    hour = day = 0
    for at in range(len(row) - _WIDTH, -1, -_WIDTH):
        charge = row[at : at + _AT]
        if charge <= day_ago:
            break
        if charge < present:
            day += 1
            hour += charge > hour_ago
    return Spending(hour, day, paid=own >= 0 and row[own : own + _AT] < present)


def charged(row: bytes, notification_id: str, now: int) -> bytes:
    """The row with this notification charged at `now` (ms), and without what is forgotten by then."""
    if _position(row, print_of(notification_id)) >= 0:
        return row
    start = max(0, len(row) - (_MOST - 1) * _WIDTH)
    while start < len(row) and _instant(row, start) <= now - _KEPT_MS:
        start += _WIDTH
    return row[start:] + _as_bytes(now) + print_of(notification_id)


def is_spent(budget: Budget, hour: int, day: int) -> bool:
    """Whether one more would be one too many."""
    return (budget.hour is not None and hour >= budget.hour) or (budget.day is not None and day >= budget.day)


def is_limited(budget: Budget) -> bool:
    """Whether charges are worth keeping."""
    return budget.hour is not None or budget.day is not None


def _as_bytes(instant: int) -> bytes:
    """In the order of time, so that charges can be compared as they are."""
    return instant.to_bytes(_AT, "big")


def _instant(row: bytes, at: int) -> int:
    return int.from_bytes(row[at : at + _AT], "big")


def _position(row: bytes, print_: bytes) -> int:
    """Where the charge of this print begins, or -1."""
    at = row.find(print_)
    while at >= 0 and at % _WIDTH != _AT:
        at = row.find(print_, at + 1)
    return at - _AT if at >= 0 else -1
