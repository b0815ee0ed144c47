"""The words by which a text message stops all further ones, and those that lift it.

STOP, STOPALL, UNSUBSCRIBE, CANCEL, END, QUIT are the carriers' (CTIA, "Messaging Principles and Best Practices");
REVOKE and OPTOUT come with the FCC's rules on revoking consent (47 CFR 64.1200(a)(10)); START and UNSTOP are
Twilio's ("Twilio support for opt-out keywords"). Its YES is left out: it answers other questions too.
"""

import unicodedata
from typing import Literal

_STOP = frozenset({"stop", "stopall", "unsubscribe", "cancel", "end", "quit", "revoke", "optout"})
_START = frozenset({"start", "unstop"})
_LONGEST = 64


def asks(text: str) -> Literal["stop", "start"] | None:
    """Only the word itself counts, whatever its case, with space around and punctuation after it."""
    if len(text) > _LONGEST:
        return None
    word = unicodedata.normalize("NFKC", text).strip().casefold()
    while word and (word[-1].isspace() or unicodedata.category(word[-1]).startswith("P")):
        word = word[:-1]
    if "".join(word.split()) == "optout" or word == "opt-out":
        word = "optout"
    return "stop" if word in _STOP else "start" if word in _START else None
