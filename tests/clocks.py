"""A slow reader of a zone's clocks, to judge the fast one by: it only ever asks what is shown at an instant."""

from datetime import UTC, datetime, timedelta
from functools import cache

from hypothesis import strategies as st

from notify_streams.domain.local_times import rules_of
from notify_streams.domain.zones import ZONES
from tests.builders import DAY, HOUR, MINUTE

_EPOCH = datetime(1970, 1, 1)
_STRANGE = (
    "America/Santiago",
    "Africa/Cairo",
    "Asia/Beirut",
    "Australia/Lord_Howe",
    "Antarctica/Troll",
    "America/St_Johns",
    "Europe/Dublin",
    "Africa/Casablanca",
    "America/New_York",
    "Asia/Kathmandu",
    "Atlantic/Azores",
    "Pacific/Chatham",
    "America/Nuuk",
)
_SKIPPED = {"Pacific/Apia": datetime(2011, 12, 30), "Pacific/Kwajalein": datetime(1993, 8, 21)}
_MIDNIGHT_TWICE = {"America/St_Johns": datetime(2010, 11, 7), "America/Havana": datetime(2026, 11, 1)}
zones = st.sampled_from((*_STRANGE, *_SKIPPED, *_MIDNIGHT_TWICE)) | st.sampled_from(sorted(ZONES))


def at(text: str) -> int:
    """The instant (ms) that an ISO 8601 text with a zone names."""
    return int(datetime.fromisoformat(text).timestamp()) * 1000


def offset(zone: str, instant: int) -> int:
    """What the clocks show less UTC, in ms."""
    ahead = datetime.fromtimestamp(instant // 1000, rules_of(zone)).utcoffset()
    assert ahead is not None
    return ahead // timedelta(milliseconds=1)


@cache
def changes(zone: str) -> tuple[int, ...]:
    """The dates (ordinals) from 2024 to 2027 on or just after which the clocks change, and the odd ones before."""
    days = [datetime(2024, 1, 1, tzinfo=UTC) + timedelta(days=n) for n in range(4 * 365)]
    rules = rules_of(zone)
    offsets = [day.astimezone(rules).utcoffset() for day in days]
    regular = [days[n].toordinal() for n in range(len(days) - 1) if offsets[n] != offsets[n + 1]]
    odd = [table[zone].toordinal() for table in (_SKIPPED, _MIDNIGHT_TWICE) if zone in table]
    return (*regular, *odd)


def days_near_a_change(zone: str) -> st.SearchStrategy[int]:
    """Dates (ordinals) at most three days from a change of the zone's clocks; any, where they never change."""
    centres = changes(zone) or (datetime(2026, 6, 1).toordinal(),)
    return st.builds(lambda day, off: day + off, st.sampled_from(centres), st.integers(-3, 3))


def times_of_day() -> st.SearchStrategy[str]:
    """Any, but mostly round ones of the small hours, where the clocks change."""
    small = st.sampled_from(
        ["00:00", "00:01", "00:30", "01:00", "01:30", "01:45", "02:00", "02:15", "02:30", "03:00", "23:00", "23:30"]
    )
    whole = st.builds("{:02}:{:02}".format, st.integers(0, 23), st.integers(0, 59))
    return small | small | whole | st.just("24:00")


def _faces_of_an_hour(zone: str, start: int) -> list[int]:
    """What each minute shows; all are asked unless both ends agree (no zone goes there and back in an hour)."""
    minutes = range(start, start + HOUR, MINUTE)
    before = offset(zone, start)
    if before == offset(zone, start + HOUR):
        return [minute + before for minute in minutes]
    return [minute + offset(zone, minute) for minute in minutes]


class Clocks:
    """Every minute of the UTC days from three before a date (ordinal) to three after the `days` that begin with it."""

    def __init__(self, zone: str, day: int, *, days: int) -> None:
        self.first = (day - _EPOCH.toordinal() - 3) * DAY
        self.minutes = range(self.first, self.first + (days + 6) * DAY, MINUTE)
        self.faces = [face for hour in self.minutes[::60] for face in _faces_of_an_hour(zone, hour)]
        self._first_shown: dict[int, int] = {}
        for instant, face in zip(self.minutes, self.faces, strict=True):
            self._first_shown.setdefault(face, instant)

    def instant(self, day: int, time_of_day: str) -> int:
        """The first minute that shows it; a skipped one counted on from before the gap."""
        face = (day - _EPOCH.toordinal()) * DAY + int(time_of_day[:2]) * 60 * MINUTE + int(time_of_day[3:]) * MINUTE
        if face in self._first_shown:
            return self._first_shown[face]
        for instant, before, after in zip(self.minutes, self.faces, self.faces[1:], strict=False):
            if before < face < after:
                return instant + face - before
        raise AssertionError("outside of what was read")

    def next_hour(self, after: int) -> int:
        """The first minute later than `after` that shows a full hour."""
        return next(i for i, f in zip(self.minutes, self.faces, strict=True) if i > after and f % HOUR == 0)
