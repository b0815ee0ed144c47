"""Contracts between what decides and what does: providers, stores, keys."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Literal, Protocol
from uuid import UUID

import msgspec

from notify_streams.domain.answers import Answer
from notify_streams.domain.rendered import Rendered, RenderedInbox
from notify_streams.domain.sealing import UserKey
from notify_streams.domain.throttle import Grant
from schemas.catalogue import Catalogue
from schemas.deliveries import DeliveryV1
from schemas.facts import Fact
from schemas.frames import ItemView
from schemas.outcomes import OutcomeV1
from schemas.profiles import ProfileV1
from schemas.receipts import ReceiptV1
from schemas.words import MAX_MS, Channel, Lane, Millis


class Unavailable(RuntimeError):
    """An engine or provider cannot be reached or does not answer in time: an outage, never a fault of the data."""


class Message(msgspec.Struct, frozen=True, kw_only=True):
    """One delivery on its way to a provider, the same for every attempt at it. Instants in ms.

    `delivery_id` gives the Message-ID and is the idempotency key. `identity` is what a device or provider may use to
    see that two are one (APNs collapse id, FCM tag, Web Push Topic): 32 characters of base64url, made of the collapse
    key where there is one. `reference` is the signed delivery reference that comes back with receipts (at most 240
    characters of base64url). `unsubscribe` is the one-click URL, None for what is mandatory. `platform` of a push
    endpoint: ios, android or web. `badge` where the unread count is known. `hook` is the key whose own webhook this is
    (a producer's, about states of notifications), empty for all others.
    """

    delivery_id: str
    address: str
    rendered: Rendered
    locale: str
    platform: str | None = None
    lane: Lane = "normal"
    type: str = ""
    category: str = ""
    tenant: str = ""
    notification_id: str = ""
    user_id: str = ""
    accepted_at: Millis = 0
    expires_at: Millis = MAX_MS
    identity: str = ""
    reference: str = ""
    unsubscribe: str | None = None
    badge: int | None = None
    hook: str = ""


class Provider(Protocol):
    """One call to one provider; no retries, no sleeping, no decisions."""

    @property
    def name(self) -> str:
        """As in metrics, outcomes and `channels.CHANNEL.providers`."""

    @property
    def repeatable(self) -> bool:
        """Whether the provider honours the delivery id as an idempotency key."""

    def takes(self, message: Message) -> bool:
        """Whether it carries such a message at all: its channel, platform, kind of address. Cheap and pure."""

    async def send(self, message: Message, *, now: int) -> Answer:
        """Hand the message over. Whatever the provider or the network does is an Answer, never an exception.

        `now` in ms: the message's own time to live is what is left of it until `expires_at`.
        """

    async def close(self) -> None:
        """Let go of connections."""


class Limiter(Protocol):
    """How many calls per second a provider gets, over all processes: HIGH first, LOW at most 60 %."""

    async def take(self, provider: str, lane: Lane, wanted: int) -> Grant:
        """At most `wanted` permits for calls that are made at once. Raises Unavailable."""

    async def pause(self, provider: str, for_ms: int) -> None:
        """Nobody gets a permit for so long: the provider has asked for it. A longer pause stays. Raises Unavailable."""


class Renderer(Protocol):
    """Templates by type, channel and locale."""

    def message(self, delivery: DeliveryV1, *, unsubscribe: str | None = None) -> tuple[Rendered, str]:
        """What is sent on a noisy channel, and the locale it is in. Raises TemplateFailed.

        `unsubscribe` is a URL that templates may show.
        """

    def inbox(self, delivery: DeliveryV1) -> RenderedInbox:
        """The inbox line. Raises TemplateFailed."""


class Catalogues(Protocol):
    """Where the catalogue comes from."""

    def load(self) -> Catalogue:
        """The one in force. Raises SettingsError that names the file, the entry and the reason."""


class InboxItem(msgspec.Struct, frozen=True, kw_only=True):
    """One row of an inbox. `item_id` is a TIMEUUID made from accepted_at and the notification id.

    An aggregated item that grows gets a new row, which `stands_for` the first one: the id by which people know it.
    `count`, `actors` and `others` are what it speaks of.
    """

    user_id: str
    item_id: UUID
    notification_id: str
    type: str
    category: str
    accepted_at: int
    sequence: int
    title: str
    body: str = ""
    link: str | None = None
    payload: bytes = b"{}"
    read: bool = False
    seen: bool = False
    archived: bool = False
    expires_at: int = 0
    stands_for: UUID | None = None
    count: int = 1
    actors: tuple[str, ...] = ()
    others: int = 0

    def view(self) -> ItemView:
        """As people see it."""
        return ItemView(
            item_id=str(self.stands_for or self.item_id),
            notification_id=self.notification_id,
            type=self.type,
            category=self.category,
            accepted_at=datetime.fromtimestamp(self.accepted_at / 1000, UTC),
            sequence=self.sequence,
            state="archived" if self.archived else "read" if self.read else "unread",
            seen=self.seen,
            title=self.title,
            body=self.body,
            link=self.link,
            count=self.count,
            actors=self.actors,
            others=self.others,
            payload=msgspec.Raw(self.payload or b"{}"),
        )


class InboxCounts(msgspec.Struct, frozen=True):
    """The header of an inbox: the last sequence, and the counts that hold at it.

    What appeared at or before `read_through` is read, at or before `seen_through` seen.
    """

    sequence: int = 0
    unread: int = 0
    unseen: int = 0
    read_through: int = 0
    seen_through: int = 0


class InboxChange(msgspec.Struct, frozen=True, kw_only=True):
    """A row that is in another state from `sequence` on; None leaves that part as it was."""

    user_id: str
    item_id: UUID
    sequence: int
    read: bool | None = None
    seen: bool | None = None
    archived: bool | None = None
    superseded: bool | None = None


class InboxStore(Protocol):
    """Inbox items and headers. Writes are upserts: in whatever order and however often they come, all ends alike."""

    async def write(
        self,
        items: Sequence[InboxItem],
        headers: Mapping[str, InboxCounts],
        changes: Sequence[InboxChange] = (),
    ) -> None:
        """Write all, headers once the rows are there. Raises Unavailable when the database does not take them."""

    async def page(self, user_id: str, *, before: UUID | None, limit: int, now: datetime) -> Sequence[InboxItem]:
        """At most `limit` rows older than `before`, newest first, over month borders. Raises Unavailable.

        Archived ones too, and none that has expired or that a newer row of the same item supersedes. What the header
        says is read or seen is.
        """

    async def counts(self, user_id: str) -> InboxCounts:
        """The header, zeros for somebody without an inbox. Raises Unavailable."""


class Unread(Protocol):
    """How many items of an inbox are unread, as far as somebody has it ready."""

    async def unread(self, user_ids: Sequence[str]) -> Mapping[str, int]:
        """By user; those that are not known are missing. Raises Unavailable."""


class RecordStore(Protocol):
    """Facts about notifications, and profiles for reading."""

    async def write(self, facts: Sequence[Fact]) -> None:
        """Keep all. Idempotent. Raises Unavailable."""

    async def facts(self, notification_id: str) -> Sequence[Fact]:
        """All that is known of a notification, in no order; with the receipts of digests that spoke for it.

        Raises Unavailable.
        """

    async def write_profiles(self, profiles: Mapping[str, ProfileV1]) -> None:
        """Keep them for reading; an older version never replaces a newer one. Raises Unavailable."""

    async def profile(self, user_id: str) -> ProfileV1 | None:
        """As last recorded. Raises Unavailable."""


class Records(RecordStore, Protocol):
    """A RecordStore with what the recorder, the command line and erasure need besides."""

    async def facts_of(self, notification_ids: Sequence[str]) -> Mapping[str, Sequence[Fact]]:
        """The same of many: an entry for each id, empty where nothing is known. Raises Unavailable."""

    async def notifications_of(self, user_id: str) -> Sequence[str]:
        """The ids of all notifications of a user that were ever decided. Raises Unavailable."""

    async def failures(
        self, channel: Channel, *, since: int, until: int, limit: int
    ) -> Sequence[OutcomeV1 | ReceiptV1]:
        """Failed deliveries of a span (ms, end excluded), newest first, those that came back later among them.

        What a receipt reports as failed may have been delivered all the same: the fold of its facts says. Raises
        Unavailable.
        """

    async def write_catalogues(self, bodies: Mapping[str, bytes]) -> None:
        """Keep catalogues (JSON) by hash. Raises Unavailable."""

    async def catalogue(self, hash_: str) -> bytes | None:
        """The catalogue that a decision names. Raises Unavailable."""


class UserKeys(Protocol):
    """The content key of each user, one at a time. Raises Unavailable throughout, also for a missing master key."""

    async def get_many(self, user_ids: Sequence[str]) -> Mapping[str, UserKey]:
        """By user, in one round trip; who has none, or has one no more, is missing."""

    async def create(self, user_ids: Sequence[str]) -> Mapping[str, UserKey]:
        """The key of each, made where there is none: whoever asks at the same time gets the same."""

    async def destroy(self, user_ids: Sequence[str]) -> int:
        """How many there were. What they sealed never opens again; a later `create` makes others. Idempotent."""


class Claim(msgspec.Struct, frozen=True):
    """What the delivery key says to whoever wants to call the provider.

    `mine`: go on. `done`: an attempt of this number or a later one has ended; `outcome` is what it published.
    `unknown`: somebody called `provider` and never said how it ended, `since` in ms. `settled`: a receipt has said
    meanwhile, at `since`, that an `attempt` of which nobody knew arrived after all; `message_id` is the provider's name
    for it.
    """

    status: Literal["mine", "done", "unknown", "settled"]
    outcome: OutcomeV1 | None = None
    since: int = 0
    message_id: str | None = None
    provider: str = ""
    attempt: int = 0


class DeliveryKeys(Protocol):
    """One expendable key per delivery, 24 h: claimed, calling, or how it ended. Raises Unavailable throughout."""

    async def claim(self, deliveries: Sequence[DeliveryV1]) -> Sequence[Claim]:
        """One round trip: claim each for this process, or learn why not."""

    async def calling(self, deliveries: Sequence[DeliveryV1], now: int, by: Sequence[str] = ()) -> Sequence[bool]:
        """One round trip: from now on only this process may call; False where the claim was lost.

        `by` are the providers that are about to be called, one for each.
        """

    async def uncalled(self, deliveries: Sequence[DeliveryV1], since: Sequence[int]) -> None:
        """Take back what `calling` may have marked at these instants, one for each: no call followed."""

    async def ended(self, outcomes: Sequence[OutcomeV1]) -> None:
        """Keep how they ended, so that a repeat can publish it again."""

    async def settle(self, delivery_id: str, at: int, message_id: str | None = None) -> bool:
        """A receipt says at `at` (ms) that it arrived: True where nobody knew that, and it is kept from now on."""
