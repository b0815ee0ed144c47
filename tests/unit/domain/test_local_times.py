"""What the clocks of a zone show when."""

import os
import subprocess
import sys
from datetime import UTC, date, datetime
from importlib.resources import files
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from notify_streams.domain.local_times import day_at, instant, next_at, next_hour, rules_of
from notify_streams.domain.zones import ZONES
from schemas.words import MAX_MS
from tests.builders import DAY, HOUR, MINUTE
from tests.clocks import Clocks, at, days_near_a_change, times_of_day, zones

SECOND = 1000


def on(day: str) -> int:
    return date.fromisoformat(day).toordinal()


def fired(time_of_day: str, zone: str, after: str, times: int) -> list[int]:
    """What a timer that always asks for the next one would do."""
    fires = [next_at(time_of_day, zone, at(after))]
    while len(fires) < times:
        fires.append(next_at(time_of_day, zone, fires[-1]))
    return fires


@pytest.mark.parametrize(
    ("time_of_day", "first", "fires"),
    [
        ("02:30", "2026-03-07T00:00Z", ["2026-03-07T07:30Z", "2026-03-08T07:30Z", "2026-03-09T06:30Z"]),
        ("01:30", "2026-10-31T00:00Z", ["2026-10-31T05:30Z", "2026-11-01T05:30Z", "2026-11-02T06:30Z"]),
    ],
)
def test_a_daily_time_comes_once_a_date_when_it_is_skipped_or_doubled(
    time_of_day: str, first: str, fires: list[str]
) -> None:
    """QH-06."""
    assert fired(time_of_day, "America/New_York", first, 3) == [at(text) for text in fires]


@pytest.mark.parametrize(
    ("zone", "day", "time_of_day", "expected"),
    [
        ("America/Santiago", "2026-09-06", "00:00", "2026-09-06T04:00Z"),  # skipped, shown as 01:00
        ("America/Santiago", "2026-09-05", "24:00", "2026-09-06T04:00Z"),
        ("America/Santiago", "2026-04-04", "23:30", "2026-04-05T02:30Z"),  # shown twice
        ("America/Santiago", "2026-04-04", "24:00", "2026-04-05T04:00Z"),
        ("Africa/Cairo", "2026-04-24", "00:30", "2026-04-23T22:30Z"),
        ("Africa/Cairo", "2026-10-29", "23:00", "2026-10-29T20:00Z"),
        ("Asia/Beirut", "2026-03-29", "00:00", "2026-03-28T22:00Z"),
        ("Asia/Beirut", "2026-10-24", "23:30", "2026-10-24T20:30Z"),
        ("Australia/Lord_Howe", "2026-10-04", "02:15", "2026-10-03T15:45Z"),  # shown as 02:45
        ("Australia/Lord_Howe", "2026-04-05", "01:45", "2026-04-04T14:45Z"),
        ("Antarctica/Troll", "2026-03-29", "02:30", "2026-03-29T02:30Z"),  # shown as 04:30
        ("Antarctica/Troll", "2026-10-25", "01:30", "2026-10-24T23:30Z"),
        ("America/St_Johns", "2026-03-08", "02:30", "2026-03-08T06:00Z"),
        ("America/St_Johns", "2026-11-01", "01:30", "2026-11-01T04:00Z"),
        ("Europe/Dublin", "2026-03-29", "01:30", "2026-03-29T01:30Z"),
        ("Europe/Dublin", "2026-10-25", "01:30", "2026-10-25T00:30Z"),
        ("Pacific/Apia", "2011-12-30", "08:00", "2011-12-30T18:00Z"),  # no such day: shown as the 31st
        ("Pacific/Apia", "2011-12-31", "08:00", "2011-12-30T18:00Z"),
        ("Asia/Kathmandu", "2026-06-01", "24:00", "2026-06-01T18:15Z"),
    ],
)
def test_a_skipped_time_takes_the_offset_before_and_a_doubled_one_means_the_first(
    zone: str, day: str, time_of_day: str, expected: str
) -> None:
    """QH-06."""
    assert instant(on(day), time_of_day, zone) == at(expected)


def test_a_skipped_date_has_no_send_of_its_own() -> None:
    """QH-06."""
    fires = fired("08:00", "Pacific/Apia", "2011-12-29T00:00Z", 3)
    assert fires == [at("2011-12-29T18:00Z"), at("2011-12-30T18:00Z"), at("2011-12-31T18:00Z")]


def test_midnight_shown_twice_comes_once_and_half_an_hour_later_it_is_tomorrows() -> None:
    """QH-06."""
    first, second = fired("00:00", "America/St_Johns", "2010-11-06T12:00Z", 2)
    assert (first, second) == (at("2010-11-07T02:30Z"), at("2010-11-08T03:30Z"))
    assert next_at("00:00", "America/St_Johns", first + 30 * MINUTE) == second


def test_a_skipped_time_that_is_shown_on_the_next_date_still_comes() -> None:
    """QH-06."""
    times = ["2026-03-28T01:30Z", "2026-03-29T01:30Z", "2026-03-30T00:30Z"]
    assert fired("23:30", "America/Nuuk", "2026-03-27T12:00Z", 3) == [at(text) for text in times]
    assert next_at("23:30", "America/Nuuk", at("2026-03-29T01:10Z")) == at("2026-03-29T01:30Z")  # 00:10 is shown


@given(zones, st.data())
def test_each_date_has_its_instant_as_a_reader_of_the_clocks_would_find_it(zone: str, data: st.DataObject) -> None:
    """QH-06."""
    day = data.draw(days_near_a_change(zone))
    time_of_day = data.draw(times_of_day())
    clocks = Clocks(zone, day, days=2)
    assert instant(day, time_of_day, zone) == clocks.instant(day, time_of_day)


@given(zones, st.data())
def test_next_at_names_every_dates_instant_once_and_in_order(zone: str, data: st.DataObject) -> None:
    """QH-06."""
    day = data.draw(days_near_a_change(zone))
    time_of_day = data.draw(times_of_day())
    after = data.draw(st.integers(0, DAY)) + (day - on("1970-01-01")) * DAY
    clocks = Clocks(zone, day, days=4)
    expected = sorted({clocks.instant(day + n, time_of_day) for n in range(-2, 5)})
    following = [fire for fire in expected if fire > after][:3]
    fires = [next_at(time_of_day, zone, after)]
    while len(fires) < 3:
        fires.append(next_at(time_of_day, zone, fires[-1]))
    assert fires == following


@given(zones, st.data())
def test_next_hour_is_the_next_full_hour_on_the_clocks(zone: str, data: st.DataObject) -> None:
    day = data.draw(days_near_a_change(zone))
    after = data.draw(st.integers(0, DAY)) + (day - on("1970-01-01")) * DAY
    assert next_hour(zone, after) == Clocks(zone, day, days=2).next_hour(after)


@pytest.mark.parametrize(
    ("zone", "after", "expected"),
    [
        ("Asia/Kolkata", "2026-06-10T16:29:59Z", "2026-06-10T16:30Z"),
        ("Asia/Kolkata", "2026-06-10T16:30:00Z", "2026-06-10T17:30Z"),
        ("Australia/Lord_Howe", "2026-10-03T14:30Z", "2026-10-03T16:00Z"),  # 01:00, then 03:00
        ("Australia/Lord_Howe", "2026-04-04T14:00Z", "2026-04-04T15:30Z"),  # 01:00, 01:30 again, then 02:00
        ("Europe/Paris", "2026-10-25T00:00Z", "2026-10-25T01:00Z"),  # 02:00 and 02:00 again
        ("Europe/Paris", "2026-03-29T00:30Z", "2026-03-29T01:00Z"),  # 01:30, then 03:00
    ],
)
def test_full_hours_are_those_of_the_zone(zone: str, after: str, expected: str) -> None:
    assert next_hour(zone, at(after)) == at(expected)


@pytest.mark.parametrize("zone", ["", "Etc/Unknown", "Factory", "../../zone", "America/new_york", "z" * 300])
def test_an_unknown_zone_is_a_lookup_error_and_no_other(zone: str) -> None:
    """QH-10."""
    with pytest.raises(KeyError):
        rules_of(zone)


def test_every_zone_that_a_profile_may_name_has_rules() -> None:
    """QH-10."""
    assert {zone for zone in ZONES if rules_of(zone).key == zone} == ZONES


def test_the_rules_are_those_of_the_pinned_package_whatever_the_machine_has(tmp_path: Path) -> None:
    wrong = tmp_path / "Europe" / "Paris"
    wrong.parent.mkdir()
    wrong.write_bytes(files("tzdata").joinpath("zoneinfo", "Asia", "Tokyo").read_bytes())
    program = (
        "from zoneinfo import ZoneInfo; from datetime import datetime;"
        "from notify_streams.domain.local_times import instant;"
        f"print(int(datetime(2026, 6, 1, tzinfo=ZoneInfo('Europe/Paris')).timestamp()) * 1000,"
        f"instant({on('2026-06-01')}, '00:00', 'Europe/Paris'))"
    )
    run = [sys.executable, "-c", program]
    root = Path(__file__).parents[3]
    said = subprocess.run(
        run, env={**os.environ, "PYTHONTZPATH": str(tmp_path)}, cwd=root, capture_output=True, check=True, text=True
    )
    machine, ours = map(int, said.stdout.split())
    assert (machine, ours) == (at("2026-05-31T15:00Z"), at("2026-05-31T22:00Z"))


@given(zones, times_of_day(), st.integers(0, 3 * DAY) | st.integers(MAX_MS - 3 * DAY, MAX_MS))
def test_at_the_ends_of_time_there_is_an_answer_within_it(zone: str, time_of_day: str, after: int) -> None:
    for answer in (next_at(time_of_day, zone, after), next_hour(zone, after)):
        assert after < answer <= MAX_MS or answer == MAX_MS


def test_an_hour_and_a_date_do_not_depend_on_the_milliseconds() -> None:
    after = at("2026-03-29T00:59:59Z") + 999
    assert next_hour("Europe/Paris", after) == after + 1
    assert next_hour("Europe/Paris", after + 1) == after + 1 + HOUR
    assert day_at("Asia/Tokyo", at("2026-06-01T14:59:59Z") + 999) == on("2026-06-01")
    assert day_at("Asia/Tokyo", at("2026-06-01T15:00:00Z")) == on("2026-06-02")
    assert datetime.fromtimestamp(after // SECOND, UTC).second == 59
