"""The words by which a text message stops all further ones, and those that lift it.

STOP, STOPALL, UNSUBSCRIBE, CANCEL, END, QUIT are the carriers' (CTIA, "Messaging Principles and Best Practices");
REVOKE and OPTOUT come with the FCC's rules on revoking consent (47 CFR 64.1200(a)(10)); START and UNSTOP are
Twilio's ("Twilio support for opt-out keywords"). Its YES is left out: it answers other questions too.
"""

import re
import unicodedata
from typing import Literal

_STOP = frozenset({"stop", "stopall", "unsubscribe", "cancel", "end", "quit", "revoke", "optout"})
_START = frozenset({"start", "unstop"})
# Control characters but for space, joiners, marks of direction, byte order marks, variation selectors.
_INVISIBLE = re.compile(
    "[\\x00-\\x08\\x0e-\\x1b\\x7f\\xad\\u061c\\u200b-\\u200f\\u202a-\\u202e\\u2060-\\u206f\\ufe00-\\ufe0f\\ufeff]"
)


def asks(text: str) -> Literal["stop", "start"] | None:
    """Only the word itself counts, whatever its case, with space and punctuation around it: texts ask for it in quotes.

    What cannot be seen, such as the mark that makes an emoji of `!!`, is not there.
    """
    seen = "".join(c for c in unicodedata.normalize("NFKC", text).casefold() if not _INVISIBLE.fullmatch(c))
    begin, end = 0, len(seen)
    while end and _is_around(seen[end - 1]):
        end -= 1
    while begin < end and _is_around(seen[begin]):
        begin += 1
    word = seen[begin:end]
    if "".join(word.split()) == "optout" or word == "opt-out":
        word = "optout"
    return "stop" if word in _STOP else "start" if word in _START else None


def _is_around(char: str) -> bool:
    return char.isspace() or unicodedata.category(char).startswith("P")
