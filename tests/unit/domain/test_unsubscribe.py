"""Links that switch a category off: what they say, to whom, for how long."""

import base64

import pytest
from hypothesis import given
from hypothesis import strategies as st

from notify_streams.domain.unsubscribe import LIFE_DAYS, Unsubscribe, read, token, url
from schemas.words import CHANNELS, Channel
from tests.builders import DAY, NOW

SECRET, OTHER = "s" * 32, "o" * 32


def a_token(secret: str = SECRET, user_id: str = "ann@example.com", category: str = "marketing") -> str:
    return token(secret, user_id=user_id, channel="email", category=category, issued_at=NOW)


@given(st.text(min_size=1, max_size=128), st.sampled_from(CHANNELS), st.text(min_size=1, max_size=80))
def test_what_was_said_is_read(user_id: str, channel: Channel, category: str) -> None:
    made = token(SECRET, user_id=user_id, channel=channel, category=category, issued_at=NOW)
    assert read([SECRET], made, NOW) == Unsubscribe(user_id, channel, category, NOW)


def test_a_repeat_of_a_mail_carries_the_same_link() -> None:
    assert a_token() == a_token()


def test_nothing_in_it_can_be_read() -> None:
    """EML-09: the URI is opaque."""
    raw = base64.urlsafe_b64decode(a_token() + "==")
    for word in (b"ann", b"example", b"marketing", b"email"):
        assert word not in raw
        assert word.decode() not in a_token()


def test_it_is_another_for_every_recipient_and_category() -> None:
    """EML-09: per recipient and category."""
    assert len({a_token(), a_token(user_id="bob"), a_token(category="orders")}) == 3


def test_it_is_good_for_at_least_ninety_days_and_not_for_ever() -> None:
    assert LIFE_DAYS >= 90
    assert read([SECRET], a_token(), NOW + LIFE_DAYS * DAY - 1) is not None
    assert read([SECRET], a_token(), NOW + LIFE_DAYS * DAY) is None


def test_a_clock_that_is_a_little_ahead_makes_no_bad_links() -> None:
    assert read([SECRET], a_token(), NOW - DAY) is not None
    assert read([SECRET], a_token(), NOW - DAY - 1) is None


def test_the_previous_secret_still_counts_and_a_strange_or_empty_one_does_not() -> None:
    assert read([OTHER, SECRET], a_token(), NOW) is not None
    assert read([OTHER, ""], a_token(), NOW) is None


@pytest.mark.parametrize("text", ["", "x", "é", "a" * 64, "a" * 5000, "../../etc", "%00"])
def test_what_is_no_token_is_none(text: str) -> None:
    assert read([SECRET], text, NOW) is None


@given(st.integers(0, 10_000), st.integers(1, 255))
def test_one_changed_byte_makes_it_worthless(at: int, change: int) -> None:
    raw = bytearray(base64.urlsafe_b64decode(a_token() + "=" * (-len(a_token()) % 4)))
    raw[at % len(raw)] ^= change
    assert read([SECRET], base64.urlsafe_b64encode(raw).rstrip(b"=").decode(), NOW) is None


def test_a_public_url_may_end_with_a_slash() -> None:
    assert url("https://n.example/", "abc") == url("https://n.example", "abc") == "https://n.example/v1/unsubscribe/abc"
