"""Texts cut to what a provider takes: counted in bytes of the JSON that is sent, ended between two characters as read.

JSON here is raw UTF-8: only quotes, backslashes and control characters grow (RFC 8259, 7).
"""

from collections.abc import Callable

import msgspec
import regex

ELLIPSIS = "…"
_GRAPHEME = regex.compile(r"\X")
_ELLIPSIS_BYTES = len(ELLIPSIS.encode())

Built = Callable[[str, str], bytes]


def within(limit: int, title: str, body: str, *built: Built) -> bytes | None:
    """The first of `built` (fullest first) that takes both texts whole in `limit` bytes of JSON.

    Where none does: the fullest one with the body cut, and the title too once nothing of the body is left; where that
    leaves no room for any text, the next one. None where no title fits into any. Lone surrogates become `?`. What is
    built around the texts must not depend on them.
    """
    title, body = _sendable(title), _sendable(body)
    for build in built:
        whole = build(title, body)
        if len(whole) <= limit:
            return whole
    for build in built:
        short = fit(title, body, limit - len(build("", "")))
        if short is not None:
            return build(*short)
    return None


def fit(title: str, body: str, room: int) -> tuple[str, str] | None:
    """Both in at most `room` bytes, the body cut first; None where not even the beginning of the title fits."""
    left = room - size(title)
    if left >= 0:
        return title, cut(body, left)
    short = cut(title, room)
    return (short, "") if short else None


def cut(text: str, room: int) -> str:
    """In at most `room` bytes, an ellipsis included where something is left out; empty where only that would fit."""
    if len(text) <= room and size(text) <= room:
        return text
    end, left = 0, room - _ELLIPSIS_BYTES
    for grapheme in _GRAPHEME.finditer(text):
        left -= size(grapheme[0])
        if left < 0:
            break
        end = grapheme.end()
    kept = text[:end].rstrip()
    return kept + ELLIPSIS if kept else ""


def size(text: str) -> int:
    """Bytes between the quotes of the JSON string."""
    return len(msgspec.json.encode(text)) - 2


def _sendable(text: str) -> str:
    return text if text.isascii() else text.encode("utf-8", "replace").decode()
