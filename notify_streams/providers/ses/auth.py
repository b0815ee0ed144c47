"""Requests signed with AWS Signature Version 4, by botocore's signer.

AWS, "Create a signed AWS API request". The signer takes its time from its caller: botocore's own `add_auth` reads the
clock, so the three steps that it is made of are called here.
"""

from datetime import UTC, datetime
from typing import Any

import msgspec


class Keys(msgspec.Struct, frozen=True):
    """An access key, and what it is used for."""

    key_id: str
    secret: str
    region: str
    service: str = "ses"

    def __repr__(self) -> str:
        """Without the secret."""
        return f"Keys({self.region}/{self.service})"


def prepare() -> None:
    """Import the signer, which takes a tenth of a second: while a provider is built, not while the first mail waits."""
    import botocore.auth
    import botocore.awsrequest
    import botocore.credentials  # noqa: F401 -- for `signed`


def signed(method: str, url: str, body: bytes, headers: dict[str, str], *, keys: Keys, now: int) -> dict[str, str]:
    """The headers with X-Amz-Date and Authorization; all of them are signed, and Host is. `now` in ms."""
    # Not at the top: a worker that sends nothing through SES need not have it.
    from botocore.auth import SigV4Auth
    from botocore.awsrequest import AWSRequest
    from botocore.credentials import Credentials

    signer = SigV4Auth(Credentials(keys.key_id, keys.secret), keys.service, keys.region)
    stamp = datetime.fromtimestamp(now / 1000, UTC).strftime("%Y%m%dT%H%M%SZ")
    request: Any = AWSRequest(method, url, headers={**headers, "X-Amz-Date": stamp}, data=body)
    request.context |= {"timestamp": stamp, "payload_signing_enabled": True}
    canonical = signer.canonical_request(request)
    signature = signer.signature(signer.string_to_sign(request, canonical), request)
    signed_headers = signer.signed_headers(signer.headers_to_sign(request))
    scope = f"AWS4-HMAC-SHA256 Credential={signer.scope(request)}"
    return {
        **headers,
        "X-Amz-Date": stamp,
        "Authorization": f"{scope}, SignedHeaders={signed_headers}, Signature={signature}",
    }
