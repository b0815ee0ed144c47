"""What a vendor's callback can say, in our words."""

from collections.abc import Mapping
from typing import Literal

import msgspec

from schemas.addresses import Suppression
from schemas.receipts import ReceiptState


class AddressWord(msgspec.Struct, frozen=True):
    """An address to which nothing is to be sent, as the vendor spells it."""

    address: str
    reason: Suppression


class Event(msgspec.Struct, frozen=True, kw_only=True):
    """One event of one message. `id` is the same for all its copies; `at` in ms, None where the vendor names no time.

    `reference` is what we gave the vendor to hand back. `detail` is a code, never words that may quote an address.
    """

    id: str
    state: ReceiptState
    reference: str = ""
    at: int | None = None
    message_id: str | None = None
    permanent: bool = False
    detail: str = ""
    held: tuple[AddressWord, ...] = ()


class Text(msgspec.Struct, frozen=True, kw_only=True):
    """A text message that somebody has sent to us. `asks`: it is a word that stops or starts our own."""

    id: str
    sender: str
    text: str
    asks: Literal["stop", "start"] | None = None


class Ignored(msgspec.Struct, frozen=True):
    """Known, and nothing follows from it: a test message, an event of no use here."""


class Bad(msgspec.Struct, frozen=True):
    """Signed, and not to be understood. `raw` as it came; `reason` quotes nothing of it."""

    raw: bytes
    reason: str


class Confirmation(msgspec.Struct, frozen=True):
    """A subscription that begins only once this URL was fetched."""

    url: str


Item = Event | Text | Ignored | Bad | Confirmation


class Refusal(msgspec.Struct, frozen=True):
    """Nothing of the request is taken. 401: it is not shown who sends it; 400: it is nothing that is known here."""

    status: Literal[400, 401]
    code: str
    reason: str


class Callback(msgspec.Struct, frozen=True, kw_only=True):
    """A request as it came: names of headers in lower case, `url` as the world reaches it. `now` in ms."""

    body: bytes
    headers: Mapping[str, str]
    url: str
    query: Mapping[str, str]
    now: int


def unsigned(reason: str) -> Refusal:
    """It cannot be shown who has sent it."""
    return Refusal(401, "signature_invalid", reason)


def unknown(reason: str) -> Refusal:
    """It is no callback that is taken at this address."""
    return Refusal(400, "unknown_callback", reason)
