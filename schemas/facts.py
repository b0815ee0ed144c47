"""What the recorder keeps about a notification: facts, never states."""

import msgspec

from schemas.decisions import DecisionV1
from schemas.outcomes import OutcomeV1
from schemas.receipts import ReceiptV1
from schemas.words import Millis, Sequence


class InboxFact(msgspec.Struct, frozen=True, kw_only=True):
    """The notification's inbox item was written at `at` (ms) under this sequence."""

    notification_id: str
    delivery_id: str
    sequence: Sequence
    at: Millis


Fact = DecisionV1 | OutcomeV1 | InboxFact | ReceiptV1
