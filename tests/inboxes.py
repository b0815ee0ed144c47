"""An inbox role without its log: takes records one by one, shows what follows, and may be killed in between."""

import asyncio
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, cast

import msgspec

from agents.inbox import Commands, Inbox, Writes
from notify_streams.inbox.memory import MemoryInbox
from notify_streams.inbox.tail import Frame, LiveTail
from notify_streams.ports import InboxCounts, InboxItem, Renderer
from notify_streams.streaming.deadletters import DeadLetters
from schemas.catalogue import Catalogue, Category, NotificationType
from schemas.codec import encode
from schemas.deliveries import DeliveryV1
from schemas.frames import Changed, ItemFrame, decode_server_frame
from schemas.inbox import InboxCommandV1, InboxSweepV1
from tables.inbox_state import InboxStates
from tests.builders import NOW, a_delivery
from tests.fakes import NO_REST, Clock, Recording, Table, an_app, arrived
from tests.fakes import Renderer as Plain

KEPT = timedelta(days=90)
CATALOGUE = Catalogue(
    hash="h",
    channels=("inapp", "email", "push"),
    fallback_locale="en",
    types={
        "order.confirmed": NotificationType(category="orders", channels=("inapp", "email", "push")),
        "social.like": NotificationType(category="social", channels=("inapp", "push"), aggregate=True),
        "system.notice": NotificationType(category="system", channels=("inapp",)),
    },
    categories={"orders": Category(), "social": Category(), "system": Category()},
)


def an_entry(number: int, type_: str = "order.confirmed", **changes: Any) -> DeliveryV1:
    """The delivery of this number to Ann's inbox, accepted so many milliseconds after NOW."""
    plain: dict[str, Any] = {
        "notification_id": f"{number:08d}-0000-5000-8000-000000000000",
        "user_id": "ann",
        "type": type_,
        "channel": "inapp",
        "endpoint_id": "inbox",
        "accepted_at": NOW + number,
    }
    return a_delivery(**{**plain, **changes})


class Role:
    """One partition of the inbox role. `frames` is all that was ever said live."""

    def __init__(self, folder: Path, *, most: int = 1000, renderer: Renderer | None = None) -> None:
        self.table, self.clock, self.store = Table(folder), Clock(NOW + 10_000), MemoryInbox(kept=KEPT)
        self.frames: list[Frame] = []
        self.told: list[Writes] = []
        self.outgoing = Recording()
        dead = DeadLetters("inbox", 20)
        self.inbox = Inbox(
            an_app(1),
            InboxStates(self.table, "notify."),
            self.store,
            cast(LiveTail, None),
            renderer or Plain(),
            CATALOGUE,
            dead,
            NO_REST,
            clock=self.clock,
            most_unread=most,
        )
        self.commands = Commands(self.inbox, dead, generation=0)

    def take(self, record: DeliveryV1 | InboxCommandV1 | InboxSweepV1, offset: int = 0) -> Writes:
        """State and what follows from it; nothing is shown yet."""
        writes, event = Writes(), arrived(encode(record), b"ann", offset=offset)
        taking = self.inbox if isinstance(record, DeliveryV1) else self.commands
        taking.take(event, writes, self.outgoing)
        return writes

    def show(self, writes: Writes, steps: int = 4) -> None:
        """Rows, headers, frames, answers: as many of these as are taken before a kill."""
        if steps > 0:
            asyncio.run(self.store.write(writes.items, {}, writes.changes))
        if steps > 1:
            asyncio.run(self.store.write([], writes.headers))
        if steps > 2:
            self.frames += writes.frames
        if steps > 3:
            self.told.append(writes)

    def do(self, record: DeliveryV1 | InboxCommandV1 | InboxSweepV1, offset: int = 0) -> Writes:
        """All of it."""
        writes = self.take(record, offset)
        self.show(writes)
        return writes

    def listed(self) -> list[InboxItem]:
        """What the store shows now."""
        now = datetime.fromtimestamp(self.clock.now / 1000, UTC)
        return list(asyncio.run(self.store.page("ann", before=None, limit=1000, now=now)))

    def counts(self) -> InboxCounts:
        """The header in the store."""
        return asyncio.run(self.store.counts("ann"))

    def recounted(self) -> tuple[int, int]:
        """Unread and unseen of what is listed."""
        there = [item for item in self.listed() if not item.archived]
        return sum(not item.read for item in there), sum(not item.seen for item in there)

    def said(self) -> list[ItemFrame | Changed]:
        """Frames as somebody hears them who listens all the time: each sequence once."""
        frames = {frame.sequence: msgspec.json.decode(frame.payload) for frame in reversed(self.frames)}
        heard = [decode_server_frame(encode(frames[sequence])) for sequence in sorted(frames)]
        return [cast("ItemFrame | Changed", frame) for frame in heard]

    def timers(self) -> list[int]:
        """When sweeps are due, by what was put so far."""
        return [msgspec.json.decode(value)["due_at"] for value in self.outgoing.of("timers")]
