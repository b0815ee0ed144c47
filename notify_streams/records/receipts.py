"""A provider's later words, in ours."""

from notify_streams.domain.receipts import Receipt
from schemas.receipts import ReceiptState

_SAID: dict[ReceiptState, str] = {
    "queued": "{by} has queued it",
    "sent": "{by} has sent it on",
    "delayed": "{by} has not got rid of it yet and goes on trying",
    "delivered": "delivered, says {by}",
    "read": "opened, says {by}",
    "bounced": "it came back, says {by}",
    "failed": "{by} could not deliver it",
    "complained": "its recipient has reported it to {by} as unwanted",
}


def in_words(receipt: Receipt) -> str:
    """One of them; a code that the provider gives stands in brackets."""
    said = _SAID[receipt.state].format(by=receipt.provider or "the provider")
    if receipt.permanent:
        said += ": there is no such address"
    return said + (f" ({receipt.detail})" if receipt.detail else "")
