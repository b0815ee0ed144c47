"""What providers say later of a delivery, and which of it counts, whatever the order in which it came.

A receipt only ever takes a delivery further: from queued, pending or unknown to sent, from there to delivered or
failed. Where receipts contradict each other the channel and the times of the events decide, never their arrival: of a
mail what was said last of "delivered" and "bounced" (a mail that was taken can come back), of everything else
"delivered" wins. "Queued", "sent" and "delayed" say that the provider has it, and no more.
"""

from collections.abc import Iterable, Sequence

import msgspec

from schemas.outcomes import OutcomeState
from schemas.receipts import ReceiptState, ReceiptV1
from schemas.words import Channel, Reason, State

_LOST = frozenset({"bounced", "failed"})
_SEEN = frozenset({"read", "complained"})
_REASONS = {"bounced": Reason.BOUNCED, "failed": Reason.UNDELIVERED}


class Receipt(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """One word of a provider; `at` (ms) is its own time of it."""

    at: int
    state: ReceiptState
    provider: str
    provider_message_id: str | None = None
    permanent: bool = False
    detail: str = ""


class Copy(msgspec.Struct, frozen=True):
    """The last message that a provider took for it, as far as known, and how the attempts stand."""

    state: OutcomeState | None = None
    provider: str = ""
    provider_message_id: str | None = None
    unknown_before: bool = False  # of one of the attempts nobody knows how it ended


class Word(msgspec.Struct, frozen=True):
    """What the receipts make of a delivery; `state` None: it stays as its attempts left it.

    `refused`: something that was reported contradicts what counts.
    """

    state: State | None = None
    at: int = 0
    reason: Reason | None = None
    refused: bool = False


def once(receipts: Iterable[ReceiptV1]) -> tuple[Receipt, ...]:
    """Each event once, by time; of several copies the earliest."""
    first: dict[str, ReceiptV1] = {}
    for receipt in sorted(receipts, key=_place):
        first.setdefault(receipt.receipt_id, receipt)
    names = Receipt.__struct_fields__
    return tuple(Receipt(**{name: getattr(r, name) for name in names}) for r in first.values())


def delivered_at(receipts: Sequence[Receipt]) -> int | None:
    """When it arrived, by the provider's own clock; what was read had arrived."""
    return min(_times(receipts, {"delivered"}) or _times(receipts, _SEEN), default=None)


def read_at(receipts: Sequence[Receipt]) -> int | None:
    """When it was first opened."""
    return min(_times(receipts, {"read"}), default=None)


def weigh(channel: Channel, receipts: Sequence[Receipt], copy: Copy) -> Word:
    """What holds, given how the attempts stand."""
    lost = [r for r in receipts if r.state in _LOST and not _of_another(r, copy)]
    arrived = _times(receipts, {"delivered"}) or _times(receipts, _SEEN)
    if arrived and not (lost and channel == "email" and lost[-1].at > max(arrived)):
        ended = copy.state not in (None, "sent", "retrying", "unknown") and not copy.unknown_before
        return Word(State.DELIVERED, delivered_at(receipts) or 0, refused=bool(lost) or ended)
    if lost:
        late = any(r.state in _SEEN and r.at > lost[-1].at for r in receipts)
        if copy.state in (None, "sent", "unknown"):
            return Word(State.FAILED, lost[-1].at, _REASONS[lost[-1].state], refused=late)
        return Word(refused=late)
    return _taken(receipts, copy)


def _taken(receipts: Sequence[Receipt], copy: Copy) -> Word:
    """The provider has, or had, it: that settles what nobody knew, and says nothing new of what is sent."""
    had = [r for r in receipts if r.state not in _LOST]
    if not had or copy.state == "sent":
        return Word()
    if copy.state in (None, "retrying", "unknown") or copy.unknown_before:
        return Word(State.SENT, had[0].at)
    return Word(refused=True)


def _of_another(receipt: Receipt, copy: Copy) -> bool:
    """Whether it tells of another message than the last one: a failure of an earlier copy says nothing of that."""
    known = receipt.provider_message_id is not None and copy.provider_message_id is not None
    return known and receipt.provider == copy.provider and receipt.provider_message_id != copy.provider_message_id


def _times(receipts: Iterable[Receipt], states: Iterable[str]) -> list[int]:
    return [r.at for r in receipts if r.state in states]


def _place(receipt: ReceiptV1) -> tuple[object, ...]:
    return (receipt.at, *(str(value) for value in msgspec.structs.astuple(receipt)))
