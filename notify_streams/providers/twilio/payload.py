"""A text message as the form that creates a Message (Twilio, "Messages resource", Create a Message)."""

from urllib.parse import urlencode

from notify_streams.ports import Message
from notify_streams.providers.life import remaining_s
from notify_streams.providers.twilio.senders import Chosen

LONGEST = 1600  # characters, whatever they are
_LONGEST_LIFE_S = 36_000


def form(message: Message, text: str, sender: Chosen, callback: str, *, now: int) -> bytes:
    """`callback` is where its receipts go, empty for nowhere: it holds the reference, the same for every attempt."""
    fields = {
        "To": message.address,
        sender.field: sender.value,
        "Body": text,
        "ValidityPeriod": str(min(remaining_s(message.expires_at, now), _LONGEST_LIFE_S)),
    }
    if callback:
        fields["StatusCallback"] = callback
    return urlencode(fields).encode()


def callback(public_url: str, name: str, reference: str) -> str:
    """Where Twilio says what became of it; empty where nobody could be reached."""
    return f"{public_url.rstrip('/')}/v1/receipts/{name}?{urlencode({'ref': reference})}" if public_url else ""
