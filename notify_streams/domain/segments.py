"""How many text messages a text is, by 3GPP TS 23.038 6.1.2 (packing), 6.2.1 (GSM 7 bit) and 6.2.3 (UCS2).

One message has 140 bytes: 160 septets or 70 code units. What is longer goes in parts that each begin with a header of 6
bytes (3GPP TS 23.040 9.2.3.24.1): 153 septets or 67 code units. Neither an escape nor a surrogate pair is torn apart.
"""

from typing import Literal

import msgspec

_BASIC = (
    "@£$¥èéùìòÇ\nØø\rÅåΔ_ΦΓΛΩΠΨΣΘΞÆæßÉ !\"#¤%&'()*+,-./0123456789:;<=>?"
    "¡ABCDEFGHIJKLMNOPQRSTUVWXYZÄÖÑÜ§¿abcdefghijklmnopqrstuvwxyzäöñüà"
)
_EXTENSION = "\f^{}\\[~]|€"  # each goes as an escape and another septet
_UNITS = dict.fromkeys(_BASIC, 1) | dict.fromkeys(_EXTENSION, 2)
_WHOLE: dict["Encoding", int] = {"gsm7": 160, "ucs2": 70}
_PART: dict["Encoding", int] = {"gsm7": 153, "ucs2": 67}

Encoding = Literal["gsm7", "ucs2"]


class Count(msgspec.Struct, frozen=True):
    """`units` are septets or UTF-16 code units, `segments` messages; an empty text is one message too."""

    encoding: Encoding
    units: int
    segments: int


def count(text: str) -> Count:
    """Of the text exactly as it is sent: one character that is not in the tables makes all of it UCS2."""
    encoding: Encoding = "gsm7" if all(char in _UNITS for char in text) else "ucs2"
    sizes = [_UNITS[c] for c in text] if encoding == "gsm7" else [2 if ord(c) > 0xFFFF else 1 for c in text]
    units = sum(sizes)
    return Count(encoding, units, 1 if units <= _WHOLE[encoding] else _parts(sizes, _PART[encoding]))


def _parts(sizes: list[int], most: int) -> int:
    parts, used = 1, 0
    for size in sizes:
        if used + size > most:
            parts, used = parts + 1, 0
        used += size
    return parts
