"""Who is signed in to the console: a signed cookie, and the token that a form has to bring along. Pure."""

import base64
import hmac
from collections.abc import Sequence
from hashlib import sha256

import msgspec

LASTS_S = 12 * 3600
_PURPOSE, _FORM = b"console-session.v1", b"console-form.v1"


class Session(msgspec.Struct, frozen=True, array_like=True):
    """The operator key's name and hash (a key that was made anew under the same name is another), and the end (s)."""

    name: str
    key: str
    until: int


def issue(secret: str, session: Session) -> str:
    """The cookie's value."""
    body = base64.urlsafe_b64encode(msgspec.json.encode(session)).rstrip(b"=").decode()
    return f"{body}.{_mac(secret, _PURPOSE, body)}"


def read(secrets: Sequence[str], cookie: str, now: float) -> Session | None:
    """What we signed with one of these secrets and what has not ended; None for everything else."""
    body, _, mac = cookie.partition(".")
    if not any(hmac.compare_digest(_mac(secret, _PURPOSE, body).encode(), mac.encode()) for secret in secrets):
        return None
    try:
        session = msgspec.json.decode(base64.urlsafe_b64decode(body + "=" * (-len(body) % 4)), type=Session)
    except (ValueError, msgspec.DecodeError):
        return None
    return session if now < session.until else None


def form_token(secret: str, cookie: str) -> str:
    """What the pages of this session put into their forms: another site cannot know it."""
    return _mac(secret, _FORM, cookie)


def is_form_token(secrets: Sequence[str], cookie: str, token: str) -> bool:
    """Whether a form came from a page of this session."""
    return any(hmac.compare_digest(form_token(secret, cookie).encode(), token.encode()) for secret in secrets)


def _mac(secret: str, purpose: bytes, text: str) -> str:
    digest = hmac.digest(secret.encode(), purpose + b"\0" + text.encode(), sha256)
    return base64.urlsafe_b64encode(digest[:24]).decode()
