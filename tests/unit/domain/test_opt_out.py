"""Words that stop all further text messages."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from notify_streams.domain.opt_out import asks


@pytest.mark.parametrize(
    "word", ["STOP", "\uff33\uff34\uff2f\uff30", "stop\u00a0", "Stop).", "opt  out!", "OPT-OUT", "revoke…"]
)
def test_the_word_alone_stops(word: str) -> None:
    """SMS-04"""
    assert asks(word) == "stop"


@pytest.mark.parametrize(
    "word",
    ["STOP\u203c\ufe0f", "stop\u200b", "\ufeffSTOP", "\u201cSTOP\u201d", '"Stop".', "'stop'", "(stop)", "st\u00adop"],
)
def test_what_phones_put_around_the_word_unasked_does_not_matter(word: str) -> None:
    """SMS-04: an emoji's mark, a zero width space, the quotes in which a text has asked for it."""
    assert asks(word) == "stop"


@pytest.mark.parametrize(
    "text",
    [
        "",
        ".",
        "...",
        "sto p",
        "stop-it",
        "don't stop",
        "opt out of this",
        "no",
        "stop 1",
        "stop \U0001f6d1",
        '"stop" he said',
        "(",
        "\u200b",
    ],
)
def test_more_or_other_than_the_word_does_not(text: str) -> None:
    """SMS-04"""
    assert asks(text) is None


@given(st.sampled_from(["stop", "end", "optout", "start"]), st.text("., !?…\n\t )", max_size=300))
def test_space_and_punctuation_after_it_do_not_matter(word: str, after: str) -> None:
    assert asks(f" {word.upper()}{after}") == asks(word) is not None
