"""Who is let in."""

from datetime import UTC, datetime, timedelta

import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from notify_streams.gateway.auth import auth_of
from notify_streams.gateway.problems import Problem
from notify_streams.gateway.rates import Rates
from notify_streams.gateway.tokens import Tokens
from notify_streams.settings import Auth, Gateway, Settings, SettingsError

SOON = datetime.now(UTC) + timedelta(days=1)
SECRET = "a secret of at least thirty-two bytes"


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "10.0.0.1", "notify.example"])
def test_an_open_gateway_that_others_could_reach_is_refused(host: str) -> None:
    with pytest.raises(SettingsError, match="loopback"):
        auth_of(Settings(auth=Auth(mode="open"), gateway=Gateway(host=host)))


@pytest.mark.parametrize("host", ["127.0.0.1", "::1", "localhost"])
def test_an_open_gateway_on_a_loopback_address_is_allowed(host: str) -> None:
    assert auth_of(Settings(auth=Auth(mode="open"), gateway=Gateway(host=host))).open


def test_a_short_secret_is_refused_at_the_start() -> None:
    with pytest.raises(SettingsError, match="32 bytes"):
        Tokens(Auth(jwt_secret="short"))


def test_without_a_secret_no_token_is_good() -> None:
    unsigned = jwt.encode({"sub": "ann", "exp": SOON}, "", "none")
    for token in (unsigned, jwt.encode({"sub": "ann", "exp": SOON}, SECRET, "HS256")):
        with pytest.raises(Problem, match="token_invalid"):
            Tokens(Auth()).read(token)


def test_a_token_needs_an_end_and_a_subject() -> None:
    tokens = Tokens(Auth(jwt_secret=SECRET))
    assert tokens.read(jwt.encode({"sub": "ann", "exp": SOON}, SECRET, "HS256")) == ("ann", int(SOON.timestamp()))
    for claims in ({"sub": "ann"}, {"exp": SOON}):
        with pytest.raises(Problem, match="token_invalid"):
            tokens.read(jwt.encode(claims, SECRET, "HS256"))


def test_with_eddsa_the_public_key_is_no_secret_for_hs256() -> None:
    private = Ed25519PrivateKey.generate()
    public = private.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo).decode()
    tokens = Tokens(Auth(jwt_algorithm="EdDSA", jwt_public_key=public))
    assert tokens.read(jwt.encode({"sub": "ann", "exp": SOON}, private, "EdDSA")) == ("ann", int(SOON.timestamp()))
    with pytest.raises(Problem, match="token_invalid"):
        tokens.read(jwt.encode({"sub": "ann", "exp": SOON}, SECRET, "HS256"))


def test_a_bucket_holds_a_second_and_fills_at_its_rate() -> None:
    rates = Rates()
    for _ in range(10):
        rates.take("shop", 10, 100.0)
    with pytest.raises(Problem, match="rate_limited") as refused:
        rates.take("shop", 10, 100.0)
    assert refused.value.headers["Retry-After"] == "1"
    rates.take("other", 10, 100.0)
    rates.take("shop", 10, 100.125)
    with pytest.raises(Problem, match="rate_limited"):
        rates.take("shop", 10, 100.125)


@pytest.mark.parametrize("key", ["garbage", "-----BEGIN PUBLIC KEY-----\nxx\n-----END PUBLIC KEY-----"])
def test_a_public_key_that_is_none_is_refused_at_the_start(key: str) -> None:
    with pytest.raises(SettingsError, match="jwt_public_key"):
        Tokens(Auth(jwt_algorithm="EdDSA", jwt_public_key=key))
