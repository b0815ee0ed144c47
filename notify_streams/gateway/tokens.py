"""User tokens: JWTs that somebody else issues, `sub` being the user id."""

import logging

import jwt

from notify_streams.gateway.problems import Problem
from notify_streams.settings import Auth, SettingsError

log = logging.getLogger(__name__)
_MIN_SECRET_BYTES = 32


class Tokens:
    """One algorithm and one key by setting; nothing that a token says about itself is believed."""

    def __init__(self, auth: Auth) -> None:
        self._algorithm = auth.jwt_algorithm
        self._key = auth.jwt_secret if auth.jwt_algorithm == "HS256" else auth.jwt_public_key
        if auth.jwt_algorithm == "HS256" and self._key and len(self._key.encode()) < _MIN_SECRET_BYTES:
            raise SettingsError(f"auth.jwt_secret has less than {_MIN_SECRET_BYTES} bytes, too few for HS256")
        if auth.jwt_algorithm == "EdDSA" and self._key:
            _check_public_key(self._key)

    def read(self, token: str) -> tuple[str, int]:
        """The user whose token this is, and when it expires (s since the epoch). Raises a 401."""
        if not self._key:
            raise unauthorized("token_invalid", "this installation takes no user tokens")
        try:
            claims = jwt.decode(token, self._key, algorithms=[self._algorithm], options={"require": ["exp", "sub"]})
        except jwt.ExpiredSignatureError:
            raise unauthorized("token_expired", "the token has expired") from None
        except jwt.PyJWTError as error:
            log.info("token.refused reason=%s", type(error).__name__)
            raise unauthorized("token_invalid", "the token is not valid here") from None
        return claims["sub"], int(claims["exp"])


def _check_public_key(pem: str) -> None:
    try:
        jwt.get_algorithm_by_name("EdDSA").prepare_key(pem)
    except (jwt.InvalidKeyError, ValueError):
        raise SettingsError(
            "auth.jwt_public_key is no public key for EdDSA (PEM: -----BEGIN PUBLIC KEY-----)"
        ) from None


def unauthorized(code: str, detail: str) -> Problem:
    """A 401 that says how to do better."""
    return Problem(401, code, detail, headers={"WWW-Authenticate": 'Bearer realm="notify"'})
