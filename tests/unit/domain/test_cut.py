"""Texts cut by the bytes of their JSON, between two characters as read."""

import msgspec
import pytest
import regex
from hypothesis import given
from hypothesis import strategies as st

from notify_streams.domain.cut import ELLIPSIS, cut, fit, size, within

FAMILY = "\U0001f468\u200d\U0001f469\u200d\U0001f467\u200d\U0001f466"  # 25 bytes, one character as read
HAIR = "\u8336"


def apns(title: str, body: str) -> bytes:
    return msgspec.json.encode({"aps": {"alert": {"title": title, "body": body}}})


def test_at_the_limit_exactly_nothing_is_cut() -> None:
    """TPL-12: 4,096 bytes as raw UTF-8; escaped it would be twice as much."""
    sent = within(4096, "ttt", HAIR * 1351, apns)
    assert sent == apns("ttt", HAIR * 1351)
    assert len(sent) == 4096


def test_one_byte_beyond_the_limit_the_body_is_shortened() -> None:
    """TPL-12."""
    sent = within(4096, "tttt", HAIR * 1351, apns)
    assert sent == apns("tttt", HAIR * 1349 + ELLIPSIS)
    assert len(sent) == 4094


def test_families_are_not_torn_apart() -> None:
    """TPL-11: a body of 300 emoji, each of several code points."""
    sent = within(4096, "t", FAMILY * 300, apns)
    assert sent is not None
    body = msgspec.json.decode(sent)["aps"]["alert"]["body"]
    assert len(sent) <= 4096
    assert body == FAMILY * body.count(FAMILY) + ELLIPSIS
    assert len(sent) + 25 > 4096


@pytest.mark.parametrize("room", range(24, 60))
def test_an_emoji_on_the_limit_stays_whole_or_goes(room: int) -> None:
    """TPL-11: the ellipsis counts."""
    short = cut(FAMILY * 3, room)
    assert size(short) <= room
    assert short.removesuffix(ELLIPSIS) in ("", FAMILY, FAMILY * 2)
    assert (short == FAMILY + ELLIPSIS) is (28 <= room < 53)


def test_the_title_is_cut_only_when_nothing_of_the_body_is_left() -> None:
    assert fit("title", "body", 9) == ("title", "body")
    assert fit("title", "bodies", 9) == ("title", "b" + ELLIPSIS)
    assert fit("title", "bodies", 8) == ("title", "")
    assert fit("title", "", 4) == ("t" + ELLIPSIS, "")
    assert fit("title", "body", 3) is None


def test_what_grows_in_json_is_counted_as_it_goes_out() -> None:
    assert cut('""""', 8) == '""""'
    assert cut('""""', 7) == '""' + ELLIPSIS
    assert size("\x01") == 6


def test_no_space_stands_before_the_ellipsis() -> None:
    assert cut("one two three", 11) == "one two" + ELLIPSIS
    assert cut("       x", 5) == ""


def test_what_is_no_text_gives_way_before_the_text_does() -> None:
    full = lambda title, body: apns(title, body) + b" " * 100  # noqa: E731
    assert within(4096, "ttt", HAIR * 1351, full, apns) == apns("ttt", HAIR * 1351)
    cut_anyway = within(4096, "tttt", HAIR * 1351, full, apns)
    assert cut_anyway is not None
    assert cut_anyway.endswith(b" " * 100)


def test_where_no_text_fits_at_all_there_is_nothing_to_send() -> None:
    assert within(40, "title", "body", apns) is None


def test_a_lone_surrogate_is_replaced() -> None:
    sent = within(4096, "a\ud83d", "\udc00b", apns)
    assert sent == apns("a?", "?b")


@given(st.text(max_size=60), st.text(max_size=200), st.integers(0, 200))
def test_whatever_the_text_it_fits_and_is_a_beginning_of_it(title: str, body: str, room: int) -> None:
    short = fit(title, body, room)
    if short is None:
        return
    assert sum(map(size, short)) <= room
    for cut_, whole in zip(short, (title, body), strict=True):
        kept = cut_.removesuffix(ELLIPSIS) if cut_ != whole else whole
        assert whole.startswith(kept)
        graphemes = regex.findall(r"\X", whole)
        assert any("".join(graphemes[:n]).rstrip() == kept or kept == whole for n in range(len(graphemes) + 1))
