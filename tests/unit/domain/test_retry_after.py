"""Retry-After in every form that RFC 9110 has, and in many that it has not."""

from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from notify_streams.domain.retry_after import retry_after

NOON = int(datetime(2026, 6, 1, 12, tzinfo=UTC).timestamp() * 1000)


@pytest.mark.parametrize(
    ("value", "seconds"),
    [
        ("120", 120),
        ("Mon, 01 Jun 2026 12:05:00 GMT", 300),
        ("Monday, 01-Jun-26 12:05:00 GMT", 300),
        ("Mon Jun  1 12:05:00 2026", 300),
        ("Mon, 01 Jun 2026 11:59:59 GMT", None),
        ("Mon, 01 Jun 2026 12:00:00 GMT", None),
        ("0", None),
    ],
)
def test_seconds_and_all_three_forms_of_a_date_are_understood(value: str, seconds: int | None) -> None:
    """RTY-02: never earlier than told; what is over or nothing leaves it to our own back-off."""
    assert retry_after(value, now=NOON) == seconds


@pytest.mark.parametrize(
    ("value", "seconds"),
    [
        ("1.5", 2),
        ("0.001", 1),
        ("0.0", None),
        (" 7\t", 7),
        ("mon, 01 jun 2026 12:00:30 gmt", 30),
        ("Mon, 01 Jun 2026 12:05:00 UTC", 300),
        ("Sun, 01 Jun 2026 12:05:00 GMT", 300),
        ("Tue Jun  2 00:00:00 2026", 43_200),
        ("Sun Jun 14 12:00:00 2026", 13 * 86_400),
        ("Wed, 31 Dec 2026 23:59:60 GMT", 213 * 86_400 + 43_200),
        ("9" * 300, 2**31),
        ("9" * 5000, 2**31),
        ("1." + "0" * 5000, 1),
    ],
)
def test_fractions_round_up_and_what_is_meant_is_taken(value: str, seconds: int | None) -> None:
    assert retry_after(value, now=NOON) == seconds


def test_a_part_of_a_second_that_is_left_counts_as_a_whole_one() -> None:
    assert retry_after("Mon, 01 Jun 2026 12:05:00 GMT", now=NOON + 1) == 300


@pytest.mark.parametrize(
    "value",
    [
        *(
            None,
            "",
            "soon",
            "-5",
            "+5",
            "1e3",
            "nan",
            "inf",
            "0x10",
            "5 s",
            "1,5",
            "1 2",
            "\u0661\u0662",
            "5\n6",
        ),
        *("Mon, 31 Jun 2026 12:05:00 GMT", "Mon, 01 Jun 2026 24:05:00 GMT", "Mon, 01 Jun 2026 12:05:61 GMT"),
        *(
            "Mon, 01 Jun 0000 12:05:00 GMT",
            "01 Jun 2026 12:05:00 GMT",
            "Mon, 01 Jun 2026 12:05:00 CET",
            "2026-06-01T12:05Z",
        ),
    ],
)
def test_what_is_neither_number_nor_date_says_nothing(value: str | None) -> None:
    assert retry_after(value, now=NOON) is None


@pytest.mark.parametrize(
    ("day", "expected"),
    [
        ("Wednesday, 01-Jun-50", True),
        ("Monday, 01-Jun-76", True),
        ("Tuesday, 02-Jun-76", False),
        ("Friday, 01-Jun-99", False),
    ],
)
def test_two_digits_of_a_year_are_never_more_than_fifty_years_ahead(day: str, expected: bool) -> None:
    """RFC 9110, 5.6.7."""
    assert (retry_after(f"{day} 12:00:00 GMT", now=NOON) is not None) is expected


def test_two_digits_of_the_next_century_are_ahead() -> None:
    eve = int(datetime(2099, 12, 31, 23, 59, 30, tzinfo=UTC).timestamp() * 1000)
    assert retry_after("Friday, 01-Jan-00 00:00:00 GMT", now=eve) == 30


@given(st.integers(1, 10**6), st.integers(0, 999))
def test_a_date_is_never_met_early(ahead: int, part: int) -> None:
    at = datetime(2026, 6, 1, 12, tzinfo=UTC) + timedelta(seconds=ahead)
    wait = retry_after(format_datetime(at, usegmt=True), now=NOON + part)
    assert wait is not None
    assert ahead - part / 1000 <= wait <= ahead + 1


@given(st.text())
def test_no_text_is_an_error(text: str) -> None:
    wait = retry_after(text, now=NOON)
    assert wait is None or wait >= 1
