"""Codes that show whose an address is."""

from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from notify_streams.domain.verification import WINDOW_MS, Claimed, code, judge
from tests.builders import NOW

SECRET, OLD = "s" * 32, "o" * 32
CLAIMED = Claimed("ann", "email", "home", "0a" * 16)
START = NOW - NOW % WINDOW_MS


def test_a_code_has_six_digits_and_is_the_same_for_ten_minutes() -> None:
    first = code(SECRET, CLAIMED, START)
    assert (len(first), first.isdigit()) == (6, True)
    assert code(SECRET, CLAIMED, START + WINDOW_MS - 1) == first
    assert code(SECRET, CLAIMED, START + WINDOW_MS) != first


@pytest.mark.parametrize(
    ("age", "verdict"),
    [
        (0, "right"),
        (WINDOW_MS - 1, "right"),
        (2 * WINDOW_MS - 1, "right"),
        (2 * WINDOW_MS, "expired"),
        (7 * WINDOW_MS - 1, "expired"),
        (7 * WINDOW_MS, "wrong"),
        (-1, "wrong"),
    ],
)
def test_it_is_good_for_its_ten_minutes_and_the_ten_after_them(age: int, verdict: str) -> None:
    assert judge([SECRET], CLAIMED, code(SECRET, CLAIMED, START), START + age) == verdict


@pytest.mark.parametrize(
    "changes", [{"user_id": "ben"}, {"channel": "sms"}, {"endpoint_id": "work"}, {"address_key": "0b" * 16}]
)
def test_it_is_good_for_nothing_else(changes: Any) -> None:
    other = msgspec.structs.replace(CLAIMED, **changes)
    assert judge([SECRET], other, code(SECRET, CLAIMED, NOW), NOW) == "wrong"


def test_parts_that_run_together_are_told_apart() -> None:
    one, other = (Claimed(user, "email", name, "0a" * 16) for user, name in (("ann", "xhome"), ("annx", "home")))
    assert code(SECRET, one, NOW) != code(SECRET, other, NOW)


def test_what_the_previous_secret_has_signed_is_still_taken_and_what_another_has_is_not() -> None:
    shown = code(OLD, CLAIMED, NOW)
    assert judge([SECRET, OLD], CLAIMED, shown, NOW) == "right"
    assert judge([SECRET], CLAIMED, shown, NOW) == "wrong"


@pytest.mark.parametrize("shape", ["{}", " {}\n", "{0[0]} {0[1]}{0[2]}{0[3]} {0[4]}{0[5]}"])
def test_spaces_do_not_count(shape: str) -> None:
    assert judge([SECRET], CLAIMED, shape.format(code(SECRET, CLAIMED, NOW)), NOW) == "right"


@given(st.text(max_size=20))
def test_anything_else_is_wrong(shown: str) -> None:
    right = {code(SECRET, CLAIMED, NOW - age * WINDOW_MS) for age in range(7)}
    verdict = judge([SECRET], CLAIMED, shown, NOW)
    assert (verdict == "wrong") == ("".join(shown.split()) not in right)


def test_codes_are_spread_over_all_there_are() -> None:
    """Two thousand windows give about two thousand codes, leading zeros among them."""
    codes = {code(SECRET, CLAIMED, START + n * WINDOW_MS) for n in range(2000)}
    assert len(codes) > 1980
    assert {c[0] for c in codes} == set("0123456789")
