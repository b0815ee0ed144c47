"""The keys of the simulated vendors: made once in a folder, and the settings under which adapters use them."""

import datetime
import ipaddress
import json
import os
import secrets
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
from cryptography import x509
from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    PublicFormat,
    load_pem_private_key,
)
from cryptography.x509.oid import NameOID

from notify_streams.providers.sendgrid.signature import verification_key
from notify_streams.providers.simulator import apple, google, sendgrid, ses, ses_events, twilio_messages
from notify_streams.providers.webhook.signing import new_secret
from notify_streams.providers.webpush.vapid import public_key

_NAMES = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "notify simulator")])
_YEARS = datetime.timedelta(days=3650)
_PROJECT, _CLIENT = "simulated", "push@simulated.iam.gserviceaccount.com"
_KEY_ID, _TEAM, _TOPIC = "SIMULATED1", "SIMULATED2", "example.notify.app"
# The simulator is on this machine, and nothing else of ours is to be called.
_HERE: dict[str, Any] = {"allow_private": True, "private_networks": ["127.0.0.0/8", "::1/128"]}
_ARN = "arn:aws:sns:eu-west-1:000000000000:simulated"
Key = rsa.RSAPrivateKey | ec.EllipticCurvePrivateKey


class _Words(msgspec.Struct, frozen=True):
    """What is a text and no key."""

    account_sid: str
    auth_token: str
    access_key_id: str
    secret_access_key: str
    api_key: str
    signing_key: str
    browsers: str


class NotOurs(RuntimeError):
    """A file that is there was not made by a simulator; the message says what to do."""


class Credentials:
    """All of them. `folder` is made with what is missing; only its owner reads the files."""

    def __init__(self, folder: Path, http: str) -> None:
        """`http` is the simulator's base address, without a path. Raises NotOurs."""
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        self._folder, self._http = folder, http
        self.words = self._texts()
        self._google = _rsa(self._kept("fcm.pem", _new_rsa))
        self._sns = _rsa(self._kept("sns.pem", _new_rsa))
        self._apple = _ec(self._kept("apns.p8", _new_ec))
        self._vapid = _ec(self._kept("vapid.pem", _new_ec))
        self._events = _ec(self._kept("sendgrid.pem", _new_ec))
        self.server = folder / "server.pem"
        if not self.server.exists():
            self._write("server.pem", _self_signed())
        if not (folder / "sns.crt").exists():
            self._write("sns.crt", _certificate(self._sns).public_bytes(Encoding.PEM))
        self._write("service-account.json", self._account())

    def fcm(self) -> google.Account:
        """For the simulator's side."""
        return google.Account(_PROJECT, _CLIENT, f"{self._http}/fcm/token", _public(self._google).decode())

    def apns(self) -> apple.Key:
        """For the simulator's side."""
        return apple.Key(_public(self._apple).decode(), _KEY_ID, _TEAM, _TOPIC)

    def application_server_key(self) -> str:
        """Of Web Push: what a browser subscribes with."""
        return public_key(self._vapid)

    def ses(self) -> ses.Account:
        """For the simulator's side."""
        topic = ses_events.Topic(_ARN, self._sns, self._http + ses.CERTIFICATE, "2")
        words = self.words
        return ses.Account(
            {words.access_key_id: words.secret_access_key}, topic, (self._folder / "sns.crt").read_bytes()
        )

    def sendgrid(self) -> sendgrid.Account:
        """For the simulator's side."""
        return sendgrid.Account(self.words.api_key, self._events)

    def twilio(self) -> twilio_messages.Account:
        """For the simulator's side."""
        return twilio_messages.Account(self.words.account_sid, self.words.auth_token)

    def settings(self, *, smtp: str, apns: str) -> dict[str, dict[str, Any]]:
        """The sections of `Settings` under which all adapters use this simulator: its addresses for mail and APNs."""
        words, folder = self.words, self._folder.absolute()
        host = self._http.partition("://")[2]
        return {
            "providers.smtp": {"url": smtp},
            "providers.ses": {
                "url": f"{self._http}/ses",
                "region": "eu-west-1",
                "access_key_id": words.access_key_id,
                "secret_access_key": words.secret_access_key,
                "configuration_set": "simulated",
                "sns_topics": [_ARN],
                "sns_certificate_hosts": [host],
            },
            "providers.sendgrid": {
                "url": f"{self._http}/sendgrid",
                "api_key": words.api_key,
                "verification_key": verification_key(self._events),
            },
            "providers.fcm": {"url": f"{self._http}/fcm", "credentials_file": str(folder / "service-account.json")},
            "providers.apns": {
                "url": apns,
                "ca_file": str(folder / "server.pem"),
                "key_file": str(folder / "apns.p8"),
                "key_id": _KEY_ID,
                "team_id": _TEAM,
                "topic": _TOPIC,
            },
            "providers.webpush": {
                "vapid_key_file": str(folder / "vapid.pem"),
                "vapid_subject": "mailto:push@notify.example",
                **_HERE,
            },
            "providers.twilio": {
                "url": f"{self._http}/twilio",
                "account_sid": words.account_sid,
                "auth_token": words.auth_token,
                "from_number": "+15005550006",
            },
            "providers.webhook": {"signing_key": words.signing_key, **_HERE},
        }

    def _account(self) -> bytes:
        account = {
            "type": "service_account",
            "project_id": _PROJECT,
            "private_key_id": "simulated",
            "private_key": _private(self._google).decode(),
            "client_email": _CLIENT,
            "token_uri": f"{self._http}/fcm/token",
        }
        return json.dumps(account, indent=1).encode()

    def _texts(self) -> _Words:
        path = self._folder / "words.json"
        if not path.exists():
            made = _Words(
                account_sid="AC" + secrets.token_hex(16),
                auth_token=secrets.token_hex(16),
                access_key_id="AKIA" + secrets.token_hex(8).upper(),
                secret_access_key=secrets.token_urlsafe(30),
                api_key="SG." + secrets.token_urlsafe(32),
                signing_key=new_secret(),
                browsers=secrets.token_hex(16),
            )
            self._write("words.json", msgspec.json.encode(made))
        try:
            return msgspec.json.decode(path.read_bytes(), type=_Words)
        except msgspec.DecodeError:
            raise _not_ours(path) from None

    def _kept(self, name: str, make: Callable[[], Key]) -> Key:
        path = self._folder / name
        if not path.exists():
            self._write(name, _private(make()))
        try:
            key = load_pem_private_key(path.read_bytes(), None)
        except (ValueError, TypeError, UnsupportedAlgorithm):
            raise _not_ours(path) from None
        if not isinstance(key, rsa.RSAPrivateKey | ec.EllipticCurvePrivateKey):
            raise _not_ours(path)
        return key

    def _write(self, name: str, content: bytes) -> None:
        """Whole or not at all: others may read it meanwhile."""
        draft = self._folder / f"{name}.{os.getpid()}.new"
        draft.touch(mode=0o600)
        draft.write_bytes(content)
        draft.replace(self._folder / name)


def _not_ours(path: Path) -> NotOurs:
    return NotOurs(f"{path} cannot be read as what a simulator keeps there; delete it, and it is made anew")


def _new_rsa() -> Key:
    return rsa.generate_private_key(public_exponent=65537, key_size=2048)


def _new_ec() -> Key:
    return ec.generate_private_key(ec.SECP256R1())


def _rsa(key: Key) -> rsa.RSAPrivateKey:
    assert isinstance(key, rsa.RSAPrivateKey)
    return key


def _ec(key: Key) -> ec.EllipticCurvePrivateKey:
    assert isinstance(key, ec.EllipticCurvePrivateKey)
    return key


def _private(key: Key) -> bytes:
    return key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())


def _public(key: Key) -> bytes:
    return key.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)


def _certificate(key: Key) -> x509.Certificate:
    """Signed by itself, for this machine."""
    now = datetime.datetime.now(datetime.UTC)
    names = [x509.DNSName("localhost"), x509.IPAddress(ipaddress.ip_address("127.0.0.1"))]
    building = x509.CertificateBuilder(
        issuer_name=_NAMES,
        subject_name=_NAMES,
        public_key=key.public_key(),
        serial_number=x509.random_serial_number(),
        not_valid_before=now - datetime.timedelta(days=1),
        not_valid_after=now + _YEARS,
    )
    building = building.add_extension(x509.SubjectAlternativeName(names), critical=False)
    building = building.add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
    return building.sign(key, hashes.SHA256())


def _self_signed() -> bytes:
    """Certificate and key in one file: what the server loads, and what its clients trust."""
    key = _new_ec()
    return _certificate(key).public_bytes(Encoding.PEM) + _private(key)
