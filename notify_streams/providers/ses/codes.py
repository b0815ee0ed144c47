"""What SES says: Amazon SES API v2, "SendEmail" (Errors) and "Common Errors"; "Amazon SES email sending errors".

An error's name is what counts, its status only where the name is not known: AWS says 400 of throttling and of wrong
credentials too. Nothing here is about an address: SES takes a mail first and says later what became of it.
"""

from collections.abc import Mapping
from typing import Any

from notify_streams.domain import http_status
from notify_streams.domain.answers import Answer, Misconfigured, Refused, TryLater

# Credentials, permissions, the clock, the account, an identity or a configuration set that is not there.
_MEND = frozenset(
    {
        *("AccessDenied", "AccessDeniedException", "ExpiredToken", "ExpiredTokenException", "IncompleteSignature"),
        *("InvalidClientTokenId", "InvalidSignatureException", "MissingAuthenticationToken", "NotAuthorized"),
        *("MissingAuthenticationTokenException", "OptInRequired", "RequestExpired", "SignatureDoesNotMatch"),
        *("UnrecognizedClientException", "UnknownOperationException"),
        *("AccountSuspendedException", "SendingPausedException", "MailFromDomainNotVerifiedException"),
        "NotFoundException",
    }
)
# Too fast, the day's quota, or a failure of theirs.
_LATER = frozenset(
    {
        *("TooManyRequestsException", "ThrottlingException", "Throttling", "LimitExceededException"),
        *("InternalFailure", "InternalServiceErrorException", "ServiceUnavailable"),
        *("RequestAbortedException", "RequestTimeoutException"),
    }
)
_MESSAGE = frozenset({"BadRequestException", "MessageRejected", "RequestEntityTooLargeException", "ValidationError"})
# A MessageRejected that is about the identity we send as (or an account still in the sandbox), not about the mail.
_NOT_VERIFIED = "Email address is not verified"


def name_of(headers: Mapping[str, str], body: Mapping[str, Any]) -> str:
    """The error's name: from `x-amzn-ErrorType` (`Name:URL`), else from the body (`prefix#Name`)."""
    said = headers.get("x-amzn-ErrorType") or body.get("__type") or body.get("code") or ""
    return str(said).split(":", 1)[0].rsplit("#", 1)[-1]


def meaning(status: int, name: str, words: str, retry_after: float | None = None) -> Answer:
    """What an answer other than 200 means. `words` is the error's text: it names addresses, so it goes no further."""
    detail = http_status.detail(status, name)
    if name in _MEND or (name == "MessageRejected" and words.startswith(_NOT_VERIFIED)):
        return Misconfigured(detail)
    if name in _LATER:
        return TryLater(detail, retry_after, about="provider")
    if name in _MESSAGE:
        return Refused(detail)
    return http_status.meaning(status, detail, retry_after)
