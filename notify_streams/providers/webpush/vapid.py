"""Who we are to a push service: VAPID (RFC 8292), a token per origin, the same for half a day."""

from collections import OrderedDict
from dataclasses import dataclass, field

from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from notify_streams.providers.es256 import base64url, signed

LIFE_S = 12 * 3600  # at most 24 hours (RFC 8292, 2)
_RENEWED_S = 3600  # before its end
_ORIGINS = 1000  # subscriptions name them, so strangers do


@dataclass
class Vapid:
    """`subject` is a mailto: or https: URL at which a push service can reach us."""

    key: ec.EllipticCurvePrivateKey
    subject: str
    _known: OrderedDict[str, tuple[int, str]] = field(default_factory=OrderedDict)

    def authorization(self, origin: str, now: int) -> str:
        """The header's value for this origin at `now` (ms)."""
        ends, value = self._known.get(origin, (0, ""))
        if now // 1000 > ends - _RENEWED_S:
            ends = now // 1000 + LIFE_S
            value = self._signed(origin, ends)
            self._known[origin] = ends, value
            if len(self._known) > _ORIGINS:
                self._known.popitem(last=False)
        return value

    def _signed(self, origin: str, ends: int) -> str:
        token = signed(self.key, {"typ": "JWT"}, {"aud": origin, "exp": ends, "sub": self.subject})
        return f"vapid t={token}, k={public_key(self.key)}"


def public_key(key: ec.EllipticCurvePrivateKey) -> str:
    """As browsers want it for `applicationServerKey`: the uncompressed point in base64url."""
    return base64url(key.public_key().public_bytes(Encoding.X962, PublicFormat.UncompressedPoint)).decode()
