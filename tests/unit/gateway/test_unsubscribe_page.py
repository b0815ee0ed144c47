"""What the unsubscribe page says."""

import string

import pytest

from notify_streams.gateway.unsubscribe.page import Choice, page
from notify_streams.gateway.unsubscribe.words import LANGUAGES, WORDS, filled, language, title
from schemas.words import CHANNELS


def test_every_language_has_every_sentence_with_the_same_places() -> None:
    def places(text: str) -> set[str | None]:
        return {name for _, name, _, _ in string.Formatter().parse(text) if name}

    assert set(WORDS) == set(LANGUAGES)
    for words in WORDS.values():
        assert {name: places(text) for name, text in words.items()} == {
            name: places(text) for name, text in WORDS["en"].items()
        }
        assert set(CHANNELS) <= set(words)


@pytest.mark.parametrize(
    ("titles", "shown"),
    [({"de-AT": "Neues", "en": "News"}, "Neues"), ({"en": "News"}, "News"), ({"it": "Novità"}, "Novità"), ({}, "x")],
)
def test_a_category_is_called_by_its_title(titles: dict[str, str], shown: str) -> None:
    assert title(titles, "x", "de") == shown


def test_the_readers_own_language_comes_before_the_browsers() -> None:
    assert language("fr_CA", "de") == "fr"
    assert language("ja", "de;q=0.1, en;q=0.2") == "en"
    assert language(None, "x" * 10_000) == "en"


def test_titles_and_labels_are_text() -> None:
    """SEC-06, the same kind."""
    headline = filled("en", "ask", category="<b>&News</b>", channel="email")
    text = page("en", headline, ["<i>"], choices=[Choice(scope="category", label="</button>")], note="<u>").text
    assert text is not None
    assert "&lt;b&gt;&amp;News&lt;/b&gt;" in text
    assert not any(tag in text for tag in ("<b>", "<i>", "<u>", "</button></"))
