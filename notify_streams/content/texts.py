"""How long a text message may be: what costs many times as much as one is cut."""

import regex

from notify_streams.domain import segments

MOST_SEGMENTS = 6  # of 153 characters, or of 67 where one is beyond GSM-7
_GRAPHEME = regex.compile(r"\X")
_ELLIPSIS = {"gsm7": "...", "ucs2": "\u2026"}


def short_enough(text: str) -> str:
    """In at most MOST_SEGMENTS, cut between characters as people see them, with an ellipsis in the same alphabet."""
    counted = segments.count(text)
    if counted.segments <= MOST_SEGMENTS:
        return text
    ends, parts = _ELLIPSIS[counted.encoding], _GRAPHEME.findall(text)
    low, high = 0, len(parts)
    while low < high:
        middle = (low + high + 1) // 2
        fits = segments.count("".join(parts[:middle]).rstrip() + ends).segments <= MOST_SEGMENTS
        low, high = (middle, high) if fits else (low, middle - 1)
    return "".join(parts[:low]).rstrip() + ends
