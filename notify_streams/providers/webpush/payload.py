"""A message as our service worker gets it: JSON, encrypted for one subscription (RFC 8291, RFC 8188)."""

from typing import Any, cast

import http_ece
import msgspec
from cryptography.hazmat.primitives.asymmetric import ec

from notify_streams.domain.cut import within
from notify_streams.domain.rendered import RenderedPush
from notify_streams.ports import Message
from notify_streams.providers.life import remaining_s
from notify_streams.providers.webpush.subscription import Subscription

LIMIT = 3993  # of 4,096 bytes encrypted: 86 of header, 16 of tag, 1 of padding (RFC 8291, 4)
SALT_BYTES = 16
_RECORD = 4096


def body(message: Message) -> bytes | None:
    """The plaintext; None where even without picture the link leaves no room for a text."""
    rendered = message.rendered
    assert isinstance(rendered, RenderedPush)
    given = {"link": rendered.link, "tag": message.identity or None, "badge": message.badge}
    beside = {"id": message.delivery_id, **{name: value for name, value in given.items() if value is not None}}

    def full(title: str, text: str) -> bytes:
        return _encoded(title, text, beside if rendered.image is None else {**beside, "image": rendered.image})

    def plain(title: str, text: str) -> bytes:
        return _encoded(title, text, beside)

    return within(LIMIT, rendered.title, rendered.body, full, plain)


def encrypted(plaintext: bytes, to: Subscription, *, once: ec.EllipticCurvePrivateKey, salt: bytes) -> bytes:
    """One record, under a key and a salt (16 bytes) that are used once."""
    content = http_ece.encrypt(plaintext, salt=salt, private_key=once, dh=to.key, auth_secret=to.auth, rs=_RECORD)
    return cast(bytes, content)


def headers(message: Message, *, authorization: str, now: int) -> dict[str, str]:
    """RFC 8030 5.2 (TTL, on every request), 5.3 (Urgency), 5.4 (Topic: at most 32 characters of base64url)."""
    own = {
        "TTL": str(remaining_s(message.expires_at, now)),
        "Urgency": message.lane,
        "Content-Encoding": "aes128gcm",
        "Content-Type": "application/octet-stream",
        "Authorization": authorization,
    }
    return {**own, "Topic": message.identity} if message.identity else own


def _encoded(title: str, text: str, beside: dict[str, Any]) -> bytes:
    return msgspec.json.encode({"title": title, "body": text, **beside})
