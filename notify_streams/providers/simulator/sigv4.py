"""Checks AWS Signature Version 4 by computing it anew (AWS, "Create a signed AWS API request").

Written from the document and sharing nothing with the signer of the SES adapter, so that each shows the other right.
"""

import hmac
import re
from collections.abc import Mapping
from datetime import UTC, datetime
from hashlib import sha256

_AUTHORIZATION = re.compile(
    r"AWS4-HMAC-SHA256 Credential=([^/\s]+)/(\d{8})/([^/\s]+)/([^/\s]+)/aws4_request, ?"
    r"SignedHeaders=([a-z0-9;-]+), ?Signature=([0-9a-f]{64})"
)
_STAMP = "%Y%m%dT%H%M%SZ"
_SKEW_S = 300.0
_NEEDED = frozenset({"host", "x-amz-date"})


def why_refused(
    method: str, path: str, headers: Mapping[str, str], body: bytes, *, secrets: Mapping[str, str], now: float
) -> str | None:
    """The name of AWS's error; None for a request that one of the keys has signed.

    `headers` in lower case; `path` without a query, as it came; `secrets` by key id; `now` in seconds.
    """
    found = _AUTHORIZATION.fullmatch(headers.get("authorization", ""))
    stamp = headers.get("x-amz-date", "")
    if found is None:
        return "IncompleteSignature" if "authorization" in headers else "MissingAuthenticationTokenException"
    key_id, day, region, service, names, signature = found.groups()
    if key_id not in secrets:
        return "UnrecognizedClientException"
    signed = names.split(";")
    if not set(signed) >= _NEEDED or not stamp.startswith(day) or (at := _instant(stamp)) is None:
        return "IncompleteSignature"
    if abs(at - now) > _SKEW_S:
        return "RequestExpired"
    lines = "".join(f"{name}:{' '.join(headers.get(name, '').split())}\n" for name in signed)
    request = f"{method}\n{path}\n\n{lines}\n{names}\n{sha256(body).hexdigest()}"
    scope = f"{day}/{region}/{service}/aws4_request"
    text = f"AWS4-HMAC-SHA256\n{stamp}\n{scope}\n{sha256(request.encode()).hexdigest()}"
    key = f"AWS4{secrets[key_id]}".encode()
    for part in (*scope.split("/"), text):
        key = hmac.digest(key, part.encode(), sha256)
    return None if hmac.compare_digest(key.hex(), signature) else "InvalidSignatureException"


def _instant(stamp: str) -> float | None:
    try:
        return datetime.strptime(stamp, _STAMP).replace(tzinfo=UTC).timestamp()
    except ValueError:
        return None
