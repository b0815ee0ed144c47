"""What a refusal that came back says against the address, by its enhanced status code (RFC 3463, 3.2, 3.3 and 3.8).

Only what says that the mailbox does not exist is held against it for good. A full one rests for a while. Security and
policy (x.7.x) judge us or the message, never the address; what the code leaves open is the vendor's to say.
"""

import re
from typing import Literal

_CODE = re.compile(r"(?<![\d.])([245])\.(\d{1,3})\.(\d{1,3})(?!\d|\.\d)")
# Bad mailbox, bad system, bad syntax, moved without a new address, null MX; and a mailbox that is disabled.
_GONE = frozenset({(1, 0), (1, 1), (1, 2), (1, 3), (1, 6), (1, 10), (2, 1)})

Verdict = Literal["gone", "full", "open", "spared"]


def verdict(status: str) -> Verdict:
    """`gone`: no such mailbox; `full`: it is full; `spared`: nothing against it; `open`: the code does not say.

    The first code of the text counts. A temporary one (4.x.x) never says that an address is gone.
    """
    found = _CODE.search(status)
    if found is None:
        return "open"
    kind, subject, detail = (int(part) for part in found.groups())
    if (subject, detail) == (2, 2):
        return "full"
    if kind != 5:
        return "spared"
    if (subject, detail) in _GONE:
        return "gone"
    return "open" if subject == 0 else "spared"


def code_of(status: str) -> str:
    """The enhanced code in a text, empty for none: all of it that may be kept, words may quote the address."""
    found = _CODE.search(status)
    return "" if found is None else found[0]


def judges_us(detail: str) -> bool:
    """Whether it says that we are not wanted as a sender: a block, or a status of security and policy (x.7.x)."""
    found = _CODE.search(detail)
    return "blocked" in detail if found is None else found[2] == "7"
