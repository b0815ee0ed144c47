"""The address in what people write for a mailbox."""

import re

# RFC 5322 3.4: a display name, quoted or in plain words, and the address in angle brackets.
_NAMED = re.compile(r'(?:"(?:[^"\\\x00-\x1f]|\\[^\x00-\x1f])*"|[^<>"@,;:\\\x00-\x1f]*)\s*<([^<>\s]+)>')


def address_in(text: str) -> str:
    """`ann@example.com` of `Ann <ann@example.com>`, space around it left out; what is neither comes back as it is.

    Whether it is a mailbox is not asked here.
    """
    bare = text.strip()
    named = _NAMED.fullmatch(bare)
    return bare if named is None else named[1]
