"""The words by which a text message stops all further ones, and those that lift it.

STOP, STOPALL, UNSUBSCRIBE, CANCEL, END, QUIT are the carriers' (CTIA, "Messaging Principles and Best Practices");
REVOKE and OPTOUT come with the FCC's rules on revoking consent (47 CFR 64.1200(a)(10)); START and UNSTOP are
Twilio's ("Twilio support for opt-out keywords"). Its YES is left out: it answers other questions too.
"""

import unicodedata
from typing import Literal

_STOP = frozenset({"stop", "stopall", "unsubscribe", "cancel", "end", "quit", "revoke", "optout"})
_START = frozenset({"start", "unstop"})


def asks(text: str) -> Literal["stop", "start"] | None:
    """Only the word itself counts, whatever its case, with space around and punctuation after it."""
    folded = unicodedata.normalize("NFKC", text).strip().casefold()
    end = len(folded)
    while end and (folded[end - 1].isspace() or unicodedata.category(folded[end - 1]).startswith("P")):
        end -= 1
    word = folded[:end]
    if "".join(word.split()) == "optout" or word == "opt-out":
        word = "optout"
    return "stop" if word in _STOP else "start" if word in _START else None
