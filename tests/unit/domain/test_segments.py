"""How many text messages a text is."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from notify_streams.domain.segments import Count, count

# 3GPP TS 23.038 6.2.1, by code: 0x00 to 0x7f without the escape at 0x1b.
TABLE = (
    "@\u00a3$\u00a5\u00e8\u00e9\u00f9\u00ec\u00f2\u00c7\n\u00d8\u00f8\r\u00c5\u00e5"
    "\u0394_\u03a6\u0393\u039b\u03a9\u03a0\u03a8\u03a3\u0398\u039e\u00c6\u00e6\u00df\u00c9"
    " !\"#\u00a4%&'()*+,-./0123456789:;<=>?"
    "\u00a1ABCDEFGHIJKLMNOPQRSTUVWXYZ\u00c4\u00d6\u00d1\u00dc\u00a7"
    "\u00bfabcdefghijklmnopqrstuvwxyz\u00e4\u00f6\u00f1\u00fc\u00e0"
)
EXTENSION = ["\u000c", "^", "{", "}", "\\", "[", "~", "]", "|", "\u20ac"]
NORWEGIAN = ("Kjære Åse, pakken din fra Bærum er nå på vei.\nDu får den på døra i morgen før klokka åtte. " * 3)[:160]


def test_the_basic_table_has_127_characters() -> None:
    assert len(TABLE) == len(set(TABLE)) == 127


@pytest.mark.parametrize(
    ("text", "units", "segments"),
    [
        ("", 0, 1),
        ("a" * 160, 160, 1),
        ("a" * 161, 161, 2),
        ("a" * 306, 306, 2),
        ("a" * 307, 307, 3),
        ("a" * 158 + "€", 160, 1),
        ("a" * 159 + "€", 161, 2),
    ],
)
def test_160_septets_are_one_message_and_153_a_part(text: str, units: int, segments: int) -> None:
    """TPL-15."""
    assert count(text) == Count("gsm7", units, segments)


@pytest.mark.parametrize("char", TABLE)
def test_each_character_of_the_basic_table_is_one_septet(char: str) -> None:
    """TPL-15."""
    assert count(char * 160) == Count("gsm7", 160, 1)
    assert count(char * 161) == Count("gsm7", 161, 2)


@pytest.mark.parametrize("char", EXTENSION)
def test_each_character_of_the_extension_is_two_septets(char: str) -> None:
    """TPL-15."""
    assert count(char * 80) == Count("gsm7", 160, 1)
    assert count(char * 81) == Count("gsm7", 162, 2)


@pytest.mark.parametrize(
    "char", ["ç", "`", "á", "ê", "\u201c", "\u2019", "\u2026", "\u2013", "\u00a0", "\t", "\u001b", "Ё", "漢", "œ"]
)
def test_one_character_outside_the_tables_makes_all_of_it_ucs2(char: str) -> None:
    """TPL-15: small c with cedilla is none of them, the capital is."""
    assert count("a" * 69 + char) == Count("ucs2", 70, 1)
    assert count("a" * 70 + char) == Count("ucs2", 71, 2)
    assert count("a" * 133 + char) == Count("ucs2", 134, 2)
    assert count("a" * 134 + char) == Count("ucs2", 135, 3)
    assert count("Ç" * 160).encoding == "gsm7"


def test_an_escape_is_not_torn_apart_at_the_border_of_a_part() -> None:
    """TPL-15: with the pair torn the 306 septets would be two messages."""
    assert count("a" * 152 + "€" + "a" * 152) == Count("gsm7", 306, 3)
    assert count("a" * 151 + "€" + "a" * 153) == Count("gsm7", 306, 2)


def test_a_surrogate_pair_is_not_torn_apart_at_the_border_of_a_part() -> None:
    """TPL-15."""
    assert count("漢" * 66 + "😀" + "漢" * 66) == Count("ucs2", 134, 3)
    assert count("漢" * 65 + "😀" + "漢" * 67) == Count("ucs2", 134, 2)
    assert count("😀" * 35) == Count("ucs2", 70, 1)
    assert count("😀" * 36) == Count("ucs2", 72, 2)


def test_umlauts_spaces_and_line_breaks_count_as_they_are_sent() -> None:
    """TPL-18: 160 characters with æøå are one message, however they would look in a form."""
    assert len(NORWEGIAN) == 160
    assert count(NORWEGIAN) == Count("gsm7", 160, 1)
    assert count("Posten: " + NORWEGIAN) == Count("gsm7", 168, 2)


@given(st.text(max_size=700))
def test_the_parts_hold_the_text_and_none_could_be_left_out(text: str) -> None:
    counted = count(text)
    whole, part, lost = (160, 153, 1) if counted.encoding == "gsm7" else (70, 67, 1)
    if counted.segments == 1:
        assert counted.units <= whole
    else:
        assert (counted.segments - 1) * (part - lost) < counted.units <= counted.segments * part
