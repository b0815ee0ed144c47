"""When a user's channel is quiet."""

from datetime import date
from itertools import pairwise
from typing import get_args

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from notify_streams.domain.quiet_hours import closes_at, reopens_at
from schemas.profiles import Day, QuietHours
from schemas.words import CHANNELS, MAX_MS, Channel
from tests.builders import DAY, HOUR, MINUTE
from tests.clocks import Clocks, at, days_near_a_change, times_of_day, zones

DAYS: tuple[Day, ...] = get_args(Day)
EPOCH_DAY = date(1970, 1, 1).toordinal()


def a_window(start: str, end: str, *days: Day, channels: tuple[Channel, ...] = ()) -> QuietHours:
    return QuietHours(start=start, end=end, days=days, channels=channels)


NIGHT = a_window("22:00", "07:00")
HALVES = (a_window("22:00", "24:00"), a_window("00:00", "06:00"))


def told(
    windows: QuietHours | tuple[QuietHours, ...], zone: str, now: str | int, channel: Channel = "push"
) -> int | None:
    """When it may go out: now, later, or never within sight (None)."""
    given_ = (windows,) if isinstance(windows, QuietHours) else windows
    instant = at(now) if isinstance(now, str) else now
    reopens = reopens_at(given_, zone, channel, instant)
    if reopens is None:
        return instant
    return None if reopens == MAX_MS else reopens


def quiet_minutes(windows: QuietHours | tuple[QuietHours, ...], zone: str, day: str) -> int:
    """How many minutes of a UTC day are quiet."""
    start = at(f"{day}T00:00Z")
    return sum(told(windows, zone, minute) != minute for minute in range(start, start + DAY, MINUTE))


def test_a_window_over_midnight_in_a_half_hour_zone() -> None:
    """QH-01."""
    instants = ["2026-06-10T16:29:59Z", "2026-06-10T16:30:00Z", "2026-06-11T01:29:59Z", "2026-06-11T01:30:00Z"]
    release = at("2026-06-11T01:30:00Z")
    assert [told(NIGHT, "Asia/Kolkata", instant) for instant in instants] == [
        at(instants[0]),
        release,
        release,
        at(instants[3]),
    ]
    assert closes_at((NIGHT,), "Asia/Kolkata", "push", at(instants[0])) == at(instants[1])
    assert closes_at((NIGHT,), "Asia/Kolkata", "push", release) == release + 15 * HOUR


def test_a_window_is_local_times_and_not_the_offset_of_the_day_it_was_saved() -> None:
    """QH-03."""
    evening = a_window("19:00", "23:00")
    summer = ["2026-07-01T22:59:59Z", "2026-07-01T23:00:00Z", "2026-07-02T02:59:59Z", "2026-07-02T03:00:00Z"]
    release = at("2026-07-02T03:00:00Z")
    expected = [at(summer[0]), release, release, at(summer[3])]
    assert [told(evening, "America/New_York", instant) for instant in summer] == expected
    assert told(evening, "America/New_York", "2026-01-15T23:30:00Z") == at("2026-01-15T23:30:00Z")
    assert told(evening, "America/New_York", "2026-01-16T00:00:00Z") == at("2026-01-16T04:00:00Z")


@pytest.mark.parametrize(
    ("windows", "minutes"),
    [
        (a_window("08:00", "08:00"), 0),
        (a_window("00:00", "00:00"), 0),
        (a_window("22:00", "24:00"), 120),
        (a_window("00:00", "24:00"), 1440),
        (a_window("02:00", "01:59"), 1439),
        (a_window("22:00", "00:00"), 120),
        (HALVES, 480),
    ],
)
@pytest.mark.parametrize("zone", ["Etc/UTC", "Asia/Kathmandu", "America/New_York"])
def test_a_window_has_as_many_minutes_as_the_clock_says(
    windows: QuietHours | tuple[QuietHours, ...], minutes: int, zone: str
) -> None:
    """QH-12."""
    assert quiet_minutes(windows, zone, "2026-06-10") == minutes


@pytest.mark.parametrize("window", [NIGHT, *HALVES, a_window("02:00", "01:59"), a_window("08:00", "08:00")])
def test_check_and_timer_agree_for_every_minute_of_a_day(window: QuietHours) -> None:
    """QH-12."""
    start = at("2026-03-29T00:00Z")
    for minute in range(start, start + DAY, MINUTE):
        reopens = reopens_at((window,), "Europe/Paris", "sms", minute)
        if reopens is not None:
            assert reopens > minute
            assert reopens_at((window,), "Europe/Paris", "sms", reopens) is None
        closes = closes_at((window,), "Europe/Paris", "sms", minute)
        if closes is not None:
            assert closes > minute
            assert reopens_at((window,), "Europe/Paris", "sms", closes) is not None


@pytest.mark.parametrize(
    ("window", "zone", "now", "expected"),
    [
        # Midnight skipped: the end is the instant at which it would have been.
        (a_window("22:00", "24:00"), "America/Santiago", "2026-09-06T03:00Z", "2026-09-06T04:00Z"),
        (a_window("00:00", "08:00"), "Africa/Cairo", "2026-04-23T22:00Z", "2026-04-24T05:00Z"),
        (a_window("00:30", "08:00"), "Asia/Beirut", "2026-03-28T22:29Z", "2026-03-28T22:29Z"),
        (a_window("00:30", "08:00"), "Asia/Beirut", "2026-03-28T22:30Z", "2026-03-29T05:00Z"),
        # The hour before midnight shown twice: from the first, to the first.
        (a_window("23:30", "07:00"), "America/Santiago", "2026-04-05T03:10Z", "2026-04-05T11:00Z"),
        (a_window("21:00", "23:30"), "America/Santiago", "2026-04-05T02:29Z", "2026-04-05T02:30Z"),
        (a_window("21:00", "23:30"), "America/Santiago", "2026-04-05T03:10Z", "2026-04-05T03:10Z"),
        (a_window("23:00", "24:00"), "Africa/Cairo", "2026-10-29T20:00Z", "2026-10-29T22:00Z"),
        # Half an hour of summer time.
        (a_window("01:00", "02:15"), "Australia/Lord_Howe", "2026-10-03T14:30Z", "2026-10-03T15:45Z"),
        (a_window("01:45", "02:00"), "Australia/Lord_Howe", "2026-04-04T14:50Z", "2026-04-04T15:30Z"),
        # Two hours of it.
        (a_window("00:30", "02:30"), "Antarctica/Troll", "2026-03-29T02:29Z", "2026-03-29T02:30Z"),
        (a_window("01:30", "03:00"), "Antarctica/Troll", "2026-10-25T02:59Z", "2026-10-25T03:00Z"),
        # Winter time is the one that is put back.
        (a_window("22:00", "01:30"), "Europe/Dublin", "2026-03-29T01:29Z", "2026-03-29T01:30Z"),
        (a_window("22:00", "01:30"), "Europe/Dublin", "2026-10-25T00:30Z", "2026-10-25T00:30Z"),
        (a_window("23:30", "07:00"), "America/Nuuk", "2026-03-29T01:29Z", "2026-03-29T01:29Z"),
        (a_window("23:30", "07:00"), "America/Nuuk", "2026-03-29T01:30Z", "2026-03-29T08:00Z"),
        (a_window("22:00", "08:00"), "America/St_Johns", "2026-03-08T10:29Z", "2026-03-08T10:30Z"),
        # Friday the 30th never was; the night of the 29th is as long as any other.
        (a_window("22:00", "08:00"), "Pacific/Apia", "2011-12-30T09:00Z", "2011-12-30T18:00Z"),
        (a_window("22:00", "08:00"), "Pacific/Apia", "2011-12-30T18:00Z", "2011-12-30T18:00Z"),
        (a_window("22:00", "08:00"), "Pacific/Apia", "2011-12-31T08:00Z", "2011-12-31T18:00Z"),
    ],
)
def test_clocks_that_change_move_a_window_by_the_pinned_rules(
    window: QuietHours, zone: str, now: str, expected: str
) -> None:
    """QH-03."""
    assert told(window, zone, now) == at(expected)


def test_a_window_that_a_gap_turns_round_is_none_that_day() -> None:
    """QH-12."""
    early = a_window("02:30", "03:00")
    assert quiet_minutes(early, "Europe/Paris", "2026-03-28") == 30
    assert quiet_minutes(early, "Europe/Paris", "2026-03-29") == 0
    assert closes_at((early,), "Europe/Paris", "push", at("2026-03-28T12:00Z")) == at("2026-03-30T00:30Z")


def test_windows_that_touch_or_overlap_are_one_period() -> None:
    assert told(HALVES, "Europe/Paris", "2026-06-10T20:00Z") == at("2026-06-11T04:00Z")
    assert closes_at(HALVES, "Europe/Paris", "push", at("2026-06-10T12:00Z")) == at("2026-06-10T20:00Z")
    assert told(HALVES, "America/Santiago", "2026-09-06T03:00Z") == at("2026-09-06T09:00Z")
    overlapping = (a_window("20:00", "23:30"), NIGHT, a_window("21:00", "22:30"))
    assert told(overlapping, "Etc/UTC", "2026-06-10T20:00Z") == at("2026-06-11T07:00Z")


def test_a_window_over_midnight_belongs_to_the_day_on_which_it_starts() -> None:
    sunday_night = a_window("22:00", "07:00", "sun")
    assert told(sunday_night, "Etc/UTC", "2026-06-14T06:00Z") == at("2026-06-14T06:00Z")
    assert told(sunday_night, "Etc/UTC", "2026-06-14T22:00Z") == at("2026-06-15T07:00Z")
    assert told(sunday_night, "Etc/UTC", "2026-06-15T06:59Z") == at("2026-06-15T07:00Z")
    assert told(sunday_night, "Etc/UTC", "2026-06-15T22:00Z") == at("2026-06-15T22:00Z")


@pytest.mark.parametrize("zone", ["Etc/GMT+12", "America/New_York", "Etc/UTC", "Pacific/Kiritimati"])
def test_a_window_of_almost_a_day_is_quiet_to_its_end_whatever_the_date_in_utc(zone: str) -> None:
    """QH-12."""
    windows = (a_window("20:00", "19:45"),)
    first = closes_at(windows, zone, "push", at("2026-06-10T00:00Z"))
    assert first is not None
    end = first + 23 * HOUR + 45 * MINUTE
    assert {told(windows, zone, now) for now in range(first, end, MINUTE)} == {end}


def test_a_whole_weekend_is_one_period_and_the_next_is_five_days_off() -> None:
    weekend = (a_window("18:00", "24:00", "fri"), a_window("00:00", "24:00", "sat", "sun"))
    assert told(weekend, "America/New_York", "2026-06-12T22:00Z") == at("2026-06-15T04:00Z")
    assert closes_at(weekend, "America/New_York", "push", at("2026-06-15T04:00Z")) == at("2026-06-19T22:00Z")


def test_each_channel_has_its_own_windows_and_the_inbox_none() -> None:
    windows = (
        a_window("20:00", "22:00", "wed", channels=("sms",)),
        a_window("22:00", "24:00", channels=("sms", "push")),
        a_window("21:00", "21:30", "tue", channels=("inapp", "email")),
    )
    now = at("2026-06-10T20:00Z")  # a Wednesday
    assert [told(windows, "Etc/UTC", now, channel) for channel in CHANNELS] == [now, now, now, now + 4 * HOUR, now]
    assert [closes_at(windows, "Etc/UTC", channel, now) for channel in CHANNELS] == [
        None,
        now + 6 * DAY + HOUR,
        now + 2 * HOUR,
        now + DAY + 2 * HOUR,
        None,
    ]
    assert told(a_window("00:00", "24:00"), "Etc/UTC", now, "inapp") == now


@pytest.mark.parametrize(
    "windows", [(a_window("00:00", "24:00"),), (a_window("00:00", "23:59"), a_window("12:00", "11:59"))]
)
def test_quiet_without_an_end_reopens_at_the_end_of_time(windows: tuple[QuietHours, ...]) -> None:
    for zone in ("Pacific/Kiritimati", "Etc/GMT+12", "Etc/UTC"):
        for now in ("2026-06-10T00:00Z", "2026-06-10T23:59:59Z"):
            assert reopens_at(windows, zone, "push", at(now)) == MAX_MS
            assert closes_at(windows, zone, "push", at(now)) is None


def test_six_days_and_23_hours_of_quiet_have_an_end() -> None:
    most = (a_window("00:00", "24:00", *DAYS[:6]), a_window("00:00", "23:00", "sun"))
    assert told(most, "Etc/UTC", "2026-06-08T00:00Z") == at("2026-06-14T23:00Z")
    assert closes_at(most, "Etc/UTC", "push", at("2026-06-14T23:00Z")) == at("2026-06-15T00:00Z")


def test_no_windows_are_never_quiet() -> None:
    assert reopens_at((), "Etc/UTC", "push", 0) is None
    assert closes_at((), "Etc/UTC", "push", 0) is None


windows_ = st.lists(
    st.builds(
        QuietHours,
        start=times_of_day().filter(lambda time: time != "24:00"),
        end=times_of_day(),
        days=st.lists(st.sampled_from(DAYS), unique=True, max_size=6).map(tuple),
        channels=st.sampled_from([(), (), ("push",), ("sms",), ("email", "push")]),
    ),
    min_size=1,
    max_size=5,
).map(tuple)


def quiet_by_the_minute(clocks: Clocks, windows: tuple[QuietHours, ...], channel: Channel, days: range) -> bytearray:
    """A byte for each minute read, 1 where it lies in a window of the channel."""
    quiet = bytearray(len(clocks.minutes))
    for window in windows:
        wanted = {DAYS.index(day) for day in window.days or DAYS}
        if channel not in (window.channels or CHANNELS) or window.start == window.end:
            continue
        for day in (day for day in days if date.fromordinal(day).weekday() in wanted):
            start = clocks.instant(day, window.start)
            end = clocks.instant(day + 1 if window.end < window.start else day, window.end)
            for minute in range(start, end, MINUTE):
                quiet[(minute - clocks.first) // MINUTE] = 1
    return quiet


@given(zones, windows_, st.sampled_from(["email", "push"]), st.data())
def test_it_is_as_a_reader_of_the_clocks_would_find_it(
    zone: str, windows: tuple[QuietHours, ...], channel: Channel, data: st.DataObject
) -> None:
    """QH-12."""
    day = data.draw(days_near_a_change(zone))
    now = (day - EPOCH_DAY) * DAY + data.draw(st.integers(0, DAY - 1))
    clocks = Clocks(zone, day, days=9)
    quiet = quiet_by_the_minute(clocks, windows, channel, range(day - 2, day + 10))
    here = (now - clocks.first) // MINUTE
    sight = (now + 8 * DAY - clocks.first) // MINUTE
    loud = quiet.find(0, here, sight + 1)
    reopens = reopens_at(windows, zone, channel, now)
    assert reopens == (None if loud == here else MAX_MS if loud < 0 else clocks.minutes[loud])
    if loud >= 0:
        silent = quiet.find(1, loud, sight + 1)
        assert closes_at(windows, zone, channel, now) == (None if silent < 0 else clocks.minutes[silent])


@given(zones, windows_, st.data())
def test_a_chain_of_answers_alternates_between_quiet_and_not(
    zone: str, windows: tuple[QuietHours, ...], data: st.DataObject
) -> None:
    """QH-12."""
    now = (data.draw(days_near_a_change(zone)) - EPOCH_DAY) * DAY + data.draw(st.integers(0, DAY - 1))
    chain = [reopens_at(windows, zone, "push", now) or now]
    while chain[-1] != MAX_MS and len(chain) < 20:
        assert reopens_at(windows, zone, "push", chain[-1]) is None
        closes = closes_at(windows, zone, "push", chain[-1])
        if closes is None:
            break
        reopens = reopens_at(windows, zone, "push", closes)
        assert reopens is not None
        chain += [closes, reopens]
    assert all(earlier < later for earlier, later in pairwise(chain))


@example("Etc/GMT+12", (a_window("22:00", "21:00"),), MAX_MS - HOUR)
@given(zones, windows_, st.integers(0, 3 * DAY) | st.integers(MAX_MS - 12 * DAY, MAX_MS))
def test_at_the_ends_of_time_there_is_an_answer_within_it(zone: str, windows: tuple[QuietHours, ...], now: int) -> None:
    for answer in (reopens_at(windows, zone, "push", now), closes_at(windows, zone, "push", now)):
        assert answer is None or now < answer <= MAX_MS or answer == MAX_MS
