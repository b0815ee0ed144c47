"""Who is calling, and what they may reach."""

from dataclasses import dataclass
from ipaddress import ip_address
from pathlib import Path

import msgspec
from aiohttp import web

from notify_streams.domain.accept import why_no_user_id
from notify_streams.gateway import keys, problems
from notify_streams.gateway.keys import Key, KeyRing, Role
from notify_streams.gateway.problems import Problem
from notify_streams.gateway.tokens import Tokens, unauthorized
from notify_streams.settings import Settings, SettingsError

_ANYBODY = Key(name="open", role="operator", hash="")


class User(msgspec.Struct, frozen=True):
    """Somebody with a token for themselves, until it expires (s since the epoch)."""

    user_id: str
    expires_at: int = 0


Caller = Key | User


@dataclass(frozen=True, slots=True)
class Auth:
    """Keys and tokens. `open`: who shows neither is an operator."""

    ring: KeyRing
    tokens: Tokens
    open: bool = False

    def caller(self, request: web.Request) -> Caller:
        """Raises a 401 for whoever is nobody."""
        return self.known(request.headers.get("Authorization", ""))

    def known(self, authorization: str) -> Caller:
        """The same by the value of the header."""
        scheme, _, secret = authorization.partition(" ")
        secret = secret.strip()
        if not secret or scheme.lower() != "bearer":
            if self.open and not scheme:
                return _ANYBODY
            raise unauthorized("unauthorized", "a key or token is required: Authorization: Bearer …")
        if not secret.isascii():
            raise unauthorized("unauthorized", "keys and tokens are ASCII")
        if not secret.startswith(keys.PREFIX):
            return User(*self.tokens.read(secret))
        key = self.ring.find(secret)
        if key is None:
            raise unauthorized("key_invalid", "no such key")
        return key

    def key(self, request: web.Request, *roles: Role) -> Key:
        """The key in use, of one of these roles or an operator's. Raises 401 or 403."""
        caller = self.caller(request)
        if isinstance(caller, Key) and (caller.role == "operator" or caller.role in roles):
            return caller
        raise Problem(403, "forbidden", f"this needs a key of role {' or '.join((*roles, 'operator'))}")

    def about(self, request: web.Request, *roles: Role) -> tuple[str, Caller]:
        """The user in the path, and the caller: that user, an operator, or a key of one of these roles.

        For any other user it is a 404, as for one who does not exist.
        """
        caller, user_id = self.caller(request), request.match_info["user_id"]
        if isinstance(caller, User):
            if caller.user_id != user_id:
                raise problems.not_found()
        elif caller.role != "operator" and caller.role not in roles:
            raise Problem(
                403, "forbidden", f"this needs the user's token or a key of role {' or '.join((*roles, 'operator'))}"
            )
        if why_no_user_id(user_id) is not None:
            raise problems.not_found()
        return user_id, caller


def auth_of(settings: Settings) -> Auth:
    """By the settings. Raises SettingsError for an open gateway that others could reach."""
    is_open = settings.auth.mode == "open"
    if is_open and not _is_loopback(settings.gateway.host):
        raise SettingsError(
            f'auth.mode = "open" with gateway.host = "{settings.gateway.host}": '
            "without keys the gateway listens on a loopback address only"
        )
    return Auth(KeyRing(Path(settings.auth.keys_file)), Tokens(settings.auth), is_open)


def _is_loopback(host: str) -> bool:
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
