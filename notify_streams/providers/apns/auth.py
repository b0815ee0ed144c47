"""Provider tokens: Apple's "Establishing a token-based connection to APNs" (ES256, RFC 7518 3.4).

Apple refuses tokens of more than an hour, and whoever renews them more than once in 20 minutes. So all processes sign
the same token for the same 50 minutes of the clock, byte for byte, and a restart is no renewal.
"""

from dataclasses import dataclass

from cryptography.hazmat.primitives.asymmetric import ec

from notify_streams.providers.es256 import signed

PERIOD_S = 50 * 60
_SHORTEST_S = 20 * 60


@dataclass
class ProviderTokens:
    """The token in force."""

    key: ec.EllipticCurvePrivateKey
    key_id: str
    team_id: str
    _token: str = ""
    _issued_s: int = -PERIOD_S

    def token(self, now: int) -> str:
        """One that holds at `now` (ms), 50 minutes old at most."""
        period = now // 1000 // PERIOD_S * PERIOD_S
        if self._issued_s < period:
            self._sign(period)
        return self._token

    def renewed(self, refused: str, now: int) -> str | None:
        """Another one, of this instant, after Apple has called `refused` expired; None if that is too new to renew."""
        if refused == self._token:
            if now // 1000 - self._issued_s < _SHORTEST_S:
                return None
            self._sign(now // 1000)
        return self._token

    def _sign(self, at: int) -> None:
        self._issued_s = at
        self._token = signed(self.key, {"kid": self.key_id}, {"iss": self.team_id, "iat": at})
