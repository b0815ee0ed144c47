"""Keys on P-256 and the tokens signed with them (ES256, RFC 7518 3.4): APNs's provider tokens, VAPID."""

import base64
from pathlib import Path

import msgspec
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import load_pem_private_key
from jwt.utils import der_to_raw_signature

from notify_streams.settings import SettingsError

# The same key and text give the same signature (RFC 6979).
_SIGNED_WITH = ec.ECDSA(SHA256(), deterministic_signing=True)


def read_key(path: str, setting: str) -> ec.EllipticCurvePrivateKey:
    """A key on P-256 in PEM, as Apple's `.p8` has it. Raises SettingsError naming the setting, never the content."""
    if not path:
        raise SettingsError(f"{setting}: a private key in PEM is needed")
    try:
        key = load_pem_private_key(Path(path).read_bytes(), None)
    except OSError as error:
        raise SettingsError(f"{setting}: {path} cannot be read: {error.strerror}") from error
    except (ValueError, TypeError) as error:
        raise SettingsError(f"{setting}: {path} is no private key in PEM") from error
    if not isinstance(key, ec.EllipticCurvePrivateKey) or not isinstance(key.curve, ec.SECP256R1):
        raise SettingsError(f"{setting}: the key in {path} is none on the curve P-256")
    return key


def signed(key: ec.EllipticCurvePrivateKey, header: dict[str, str], claims: dict[str, str | int]) -> str:
    """A JWT, always the same for the same claims."""
    text = b".".join(base64url(msgspec.json.encode(part)) for part in ({"alg": "ES256", **header}, claims))
    signature = der_to_raw_signature(key.sign(text, _SIGNED_WITH), key.curve)
    return (text + b"." + base64url(signature)).decode()


def base64url(data: bytes) -> bytes:
    """Without padding."""
    return base64.urlsafe_b64encode(data).rstrip(b"=")
