"""A delivery on its way through a sender, and all that follows from it when it is over."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field

import msgspec
from faust.types import EventT

from notify_streams.ports import Message
from schemas.addresses import AddressGoneV1, SuppressAddressV1
from schemas.deliveries import DeliveryV1
from schemas.notifications import NotificationV1
from schemas.outcomes import OutcomeV1
from schemas.timers import PutTimerV1

AddressWord = AddressGoneV1 | SuppressAddressV1


class End(msgspec.Struct, frozen=True, kw_only=True):
    """All that follows from a job; published together. Empty for a second record of the same attempt.

    `back` is decided again: the delivery's own channel, or those that stand in for it. `word` is about the address,
    under `address_key`. `is_dead`: it used up its attempts or could not be rendered. `is_repeated`: it had ended
    before, and was counted then.
    """

    outcome: OutcomeV1 | None = None
    timer: PutTimerV1 | None = None
    back: NotificationV1 | None = None
    word: AddressWord | None = None
    address_key: str = ""
    is_dead: bool = False
    is_repeated: bool = False


@dataclass(slots=True, eq=False)
class Job:
    """One delivery. `message` once it is rendered; `before` is the one whose turn comes first, while it does.

    `again`: another record of the same attempt is on its way already. `over` once its end is said. `badge` is how many
    its user has not read, where that is known.
    """

    event: EventT[bytes]
    delivery: DeliveryV1
    message: Message | None = None
    before: "Job | None" = None
    again: bool = False
    over: bool = False
    badge: int | None = None
    followers: list["asyncio.Future[bool]"] = field(default_factory=list)


Ended = Callable[[Job, End], None]
