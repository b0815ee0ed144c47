"""How SNS signs what it posts: "Verifying the signatures of Amazon SNS messages".

RSA (PKCS #1 v1.5) over some members, each as its name and its value on lines of their own, in the order of their names:
with SHA-1 for SignatureVersion 1, with SHA-256 for 2. Which members depends on the message's Type.
"""

import base64
from collections.abc import Mapping
from typing import Literal

from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric.padding import PKCS1v15
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey

Version = Literal["1", "2"]

_NOTIFICATION = ("Message", "MessageId", "Subject", "Timestamp", "TopicArn", "Type")
_CONFIRMATION = ("Message", "MessageId", "SubscribeURL", "Timestamp", "Token", "TopicArn", "Type")
_HASHES: dict[Version, hashes.HashAlgorithm] = {"1": hashes.SHA1(), "2": hashes.SHA256()}


def signed_text(message: Mapping[str, str]) -> bytes:
    """What is signed of a message; a notification may lack its Subject."""
    names = _NOTIFICATION if message["Type"] == "Notification" else _CONFIRMATION
    return "".join(f"{name}\n{message[name]}\n" for name in names if name != "Subject" or name in message).encode()


def signed(key: RSAPrivateKey, message: Mapping[str, str], version: Version) -> str:
    """The value of `Signature`."""
    return base64.b64encode(key.sign(signed_text(message), PKCS1v15(), _HASHES[version])).decode()
