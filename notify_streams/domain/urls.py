"""Which URLs of strangers are called at all, as far as their spelling tells.

Where a name leads is asked when it is connected to: names can move (DNS rebinding). What this refuses would lead inside
by its spelling alone, and is refused when it is registered.
"""

import re
from ipaddress import IPv4Address
from urllib.parse import SplitResult, urlsplit

from notify_streams.domain.public_ip import is_public

MOST_BYTES = 2048
# One sentence for all of it: whoever tries out what is inside learns nothing from the difference.
REFUSED = (
    "a webhook's URL is http(s), leads to the public internet, has no credentials and no fragment, a port that is not "
    f"another protocol's, and at most {MOST_BYTES:,} bytes"
)
_LABEL = re.compile(r"[a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9_])?", re.IGNORECASE)
# A last label that is a number makes the whole an IPv4 address for those who connect (WHATWG URL, "ends in a number").
_NUMERIC = re.compile(r"[0-9]+|0x[0-9a-f]*", re.IGNORECASE)
# RFC 6761, RFC 6762, RFC 8375, and `internal`, which ICANN keeps out of the root.
_INSIDE = ("localhost", "local", "internal", "home.arpa", "localdomain", "lan", "intranet", "corp", "home")
# Ports of other protocols that take HTTP for commands or mail (Fetch standard, "bad port"), those above 1023.
_OTHERS = frozenset(
    {1719, 1720, 1723, 2049, 3659, 4045, 4190, 5060, 5061, 6000, 6566, 6665, 6666, 6667, 6668, 6669, 6679, 6697, 10080}
)


def may_be_called(url: str, *, allow_private: bool = False) -> bool:
    """Whether its form is that of a webhook. `allow_private`: it may lead into networks of ours."""
    if len(url.encode(errors="replace")) > MOST_BYTES or not url.isprintable() or " " in url or "\\" in url:
        return False
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        return False
    if parts.scheme not in ("https", "http") or "@" in parts.netloc or parts.fragment or url.endswith("#"):
        return False
    if port is not None and port not in (80, 443) and (port < 1024 or port in _OTHERS):
        return False
    return bool(parts.hostname) and _is_host(parts, allow_private)


def _is_host(parts: SplitResult, allow_private: bool) -> bool:
    host = parts.hostname or ""
    if "[" in parts.netloc:
        return "%" not in host and (is_public(host) or allow_private)  # urlsplit has seen that it is one
    try:
        # Full-width digits and dots are digits and dots to whoever looks the name up (UTS 46).
        name = host.encode("idna").decode().lower().rstrip(".")
    except UnicodeError:
        return False
    if len(name) > 253:
        return False
    labels = name.split(".")
    if _NUMERIC.fullmatch(labels[-1]):
        return is_public(name) or (allow_private and _is_dotted(name))
    if not all(_LABEL.fullmatch(label) for label in labels):
        return False
    inside = len(labels) < 2 or any(name == suffix or name.endswith("." + suffix) for suffix in _INSIDE)
    return allow_private or not inside


def _is_dotted(name: str) -> bool:
    """An IPv4 address in its one usual spelling: no octal, no hexadecimal, no parts left out."""
    try:
        IPv4Address(name)
    except ValueError:
        return False
    return True
