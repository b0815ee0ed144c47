"""Access tokens of a Google service account: "Using OAuth 2.0 for Server to Server Applications", RFC 7523.

A signed assertion, good for an hour, is exchanged at the account's `token_uri` for a token.
"""

import asyncio
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import jwt
import msgspec
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey
from cryptography.hazmat.primitives.serialization import load_pem_private_key

from notify_streams.domain import http_status
from notify_streams.domain.answers import Misconfigured, Refused, TryLater
from notify_streams.providers.http import Http, Reply
from notify_streams.settings import SettingsError

SCOPE = "https://www.googleapis.com/auth/firebase.messaging"
_GRANT = "urn:ietf:params:oauth:grant-type:jwt-bearer"
_FORM = {"Content-Type": "application/x-www-form-urlencoded"}
_ASSERTION_S = 3600  # the longest that Google takes
_BEFORE_END_MS = 300_000
_LONGEST_S = 86_400.0

NoToken = Misconfigured | TryLater


class ServiceAccount(msgspec.Struct, frozen=True):
    """What the file from Google's console says."""

    project_id: str
    client_email: str
    private_key: str
    token_uri: str
    private_key_id: str = ""


@dataclass(frozen=True)
class Account:
    """A service account whose key can sign."""

    file: ServiceAccount
    key: RSAPrivateKey

    @classmethod
    def read(cls, path: str, setting: str) -> "Account":
        """Raises SettingsError naming the setting, and never what stands in the file."""
        if not path:
            raise SettingsError(f"{setting}: a service account's JSON file is needed")
        try:
            file = msgspec.json.decode(Path(path).read_bytes(), type=ServiceAccount)
            key = load_pem_private_key(file.private_key.encode(), None)
        except OSError as error:
            raise SettingsError(f"{setting}: {path} cannot be read: {error.strerror}") from error
        except (ValueError, TypeError) as error:
            raise SettingsError(f"{setting}: {path} is no service account's JSON") from error
        if not isinstance(key, RSAPrivateKey):
            raise SettingsError(f"{setting}: the key in {path} is no RSA key")
        if not file.project_id or not file.client_email or not file.token_uri.startswith(("https://", "http://")):
            raise SettingsError(f"{setting}: {path} lacks project_id, client_email or token_uri")
        return cls(file, key)

    def assertion(self, now: int) -> str:
        """Signed with RS256, from `now` (ms)."""
        at = now // 1000
        claims = {
            "iss": self.file.client_email,
            "scope": SCOPE,
            "aud": self.file.token_uri,
            "iat": at,
            "exp": at + _ASSERTION_S,
        }
        return jwt.encode(claims, self.key, "RS256", {"kid": self.file.private_key_id})


@dataclass
class Tokens:
    """The token in force. It is renewed from five minutes before its end on, by one request at a time."""

    account: Account
    http: Http
    _token: str = ""
    _ends_at: int = 0
    _renewal: asyncio.Task[NoToken | None] | None = None

    async def token(self, now: int) -> str | NoToken:
        """One that holds at `now` (ms), or why there is none. While the old one holds nobody waits for the next."""
        if now < self._ends_at - _BEFORE_END_MS:
            return self._token
        if self._renewal is None or self._renewal.done():
            self._renewal = asyncio.create_task(self._renew(now))
        if now < self._ends_at:
            return self._token
        refused = await asyncio.shield(self._renewal)
        return self._token if now < self._ends_at else refused or TryLater("the token had ended", about="provider")

    def forget(self, token: str) -> None:
        """It was refused although it should hold: the next call gets another one."""
        if token == self._token:
            self._ends_at = 0

    async def close(self) -> None:
        """Let go of a renewal that is under way."""
        if self._renewal is not None:
            self._renewal.cancel()
            await asyncio.gather(self._renewal, return_exceptions=True)

    async def _renew(self, now: int) -> NoToken | None:
        form = urlencode({"grant_type": _GRANT, "assertion": self.account.assertion(now)}).encode()
        reply = await self.http.post(self.account.file.token_uri, form, _FORM)
        if isinstance(reply, Refused):
            return Misconfigured(f"no access token: {reply.detail}")
        if not isinstance(reply, Reply):  # of the message nothing was said yet, whatever became of this
            return TryLater(f"no access token: {reply.detail}", about="provider")
        answer = reply.json()
        token, lasts = answer.get("access_token"), answer.get("expires_in")
        if reply.accepted and isinstance(token, str) and isinstance(lasts, int | float) and token.isascii():
            self._token, self._ends_at = token, now + round(min(float(lasts), _LONGEST_S) * 1000)
            return None
        return _refused(reply, answer, now)


def _refused(reply: Reply, answer: dict[str, Any], now: int) -> NoToken:
    """A refused assertion is ours to mend, whatever its status (RFC 6749, 5.2: 400 as a rule)."""
    detail = f"no access token: {http_status.detail(reply.status, answer.get('error'))}"
    meant = http_status.meaning(reply.status, detail, reply.retry_after(now))
    return meant if isinstance(meant, TryLater) else Misconfigured(detail)
