"""Text in a header: one line, folded where it is long, encoded where it is not ASCII (RFC 5322 2.2.3, RFC 2047)."""

import binascii
import re
from functools import lru_cache

MOST = 76  # octets of a line: RFC 2047 2 for encoded words, below the 78 that RFC 5322 2.1.1 advises for all
_BREAKS = re.compile(r"[\x00-\x1f\x7f\x85\u2028\u2029]+")
_FRAME = len("=?utf-8?b?") + len("?=")
_LONGEST_WORD = 75


def one_line(text: str) -> str:
    """With each run of line breaks and control characters as one space, and none at the ends (TPL-01)."""
    return _BREAKS.sub(" ", text).strip()


@lru_cache(4096)
def words(text: str, used: int) -> str:
    """Unstructured text as a header's value, after `used` octets of its line: decoding it gives `one_line(text)`."""
    text = one_line(text)
    if text.isascii() and "=?" not in text and (plain := folded(text, used)) is not None:
        return plain
    return encoded(text, used)


def encoded(text: str, used: int) -> str:
    """As encoded words of at most 75 characters, one a line; no character is cut in two (RFC 2047, 2 and 5)."""
    chunks, chunk, room = [], b"", _bytes_in(MOST - used)
    for character in text:
        raw = character.encode("utf-8", "replace")
        if len(chunk) + len(raw) > room:
            chunks.append(chunk)
            chunk, room = b"", _bytes_in(_LONGEST_WORD)
        chunk += raw
    return "\r\n ".join(f"=?utf-8?b?{binascii.b2a_base64(c, newline=False).decode()}?=" for c in (*chunks, chunk))


def _bytes_in(characters: int) -> int:
    """How much text goes into an encoded word of so many characters: base64 makes four of three."""
    return (min(characters, _LONGEST_WORD) - _FRAME) // 4 * 3


def folded(text: str, used: int) -> str | None:
    """Broken before single spaces, which stay; None where a line would be too long all the same."""
    lines = [""]
    for word in re.split(r"(?<=[^ ])(?= [^ ])", text):
        if len(lines[-1]) + len(word) + (used if len(lines) == 1 else 0) > MOST and lines[-1]:
            lines.append("")
        lines[-1] += word
    fits = len(lines[0]) + used <= MOST and all(len(line) <= MOST for line in lines)
    return "\r\n".join(lines) if fits else None
