"""Sessions of the console: signed, bound to a key, and over in time."""

import base64

import pytest
from hypothesis import given
from hypothesis import strategies as st

from notify_streams.gateway.console.session import LASTS_S, Session, form_token, is_form_token, issue, read

SECRET, OTHER, NOW = "s" * 32, "t" * 32, 1_796_000_000.0
SESSION = Session("ops", "hash", int(NOW) + LASTS_S)


def test_what_was_issued_is_read_until_its_end() -> None:
    cookie = issue(SECRET, SESSION)
    assert read([SECRET], cookie, NOW) == SESSION
    assert read([SECRET], cookie, SESSION.until - 1) == SESSION
    assert read([SECRET], cookie, SESSION.until) is None


def test_a_secret_that_was_replaced_is_believed_for_as_long_as_it_is_named() -> None:
    cookie = issue(OTHER, SESSION)
    assert read([SECRET, OTHER], cookie, NOW) == SESSION
    assert read([SECRET], cookie, NOW) is None


@given(st.integers(min_value=0, max_value=200), st.integers(min_value=1, max_value=127))
def test_no_edited_cookie_is_believed(place: int, by: int) -> None:
    cookie = issue(SECRET, SESSION)
    at = place % len(cookie)
    edited = cookie[:at] + chr(ord(cookie[at]) ^ by) + cookie[at + 1 :]
    assert read([SECRET], edited, NOW) is None


@given(st.text(max_size=80))
def test_no_text_at_all_is_believed(text: str) -> None:
    assert read([SECRET], text, NOW) is None


@pytest.mark.parametrize("body", [b"[]", b'{"name":"ops"}', b"\xff", b'["ops","hash"]'])
def test_what_is_signed_and_no_session_is_none(body: bytes) -> None:
    signed = issue(SECRET, SESSION)
    assert read([SECRET], base64.urlsafe_b64encode(body).decode() + "." + signed.partition(".")[2], NOW) is None


def test_a_form_belongs_to_its_session() -> None:
    mine, theirs = issue(SECRET, SESSION), issue(SECRET, Session("eve", "h", SESSION.until))
    assert is_form_token([OTHER, SECRET], mine, form_token(SECRET, mine))
    assert not is_form_token([SECRET], mine, form_token(SECRET, theirs))
    assert not is_form_token([SECRET], mine, "")
