"""One in-app delivery: its place in its user's inbox, alone or as one more of what an item tells."""

import logging
from typing import NamedTuple
from uuid import UUID

from faust.types import EventT
from msgspec.structs import replace

from agents.clock import Clock, wall_clock
from agents.inboxes import timing, views
from agents.inboxes.turns import Turns
from agents.inboxes.writes import Writes
from notify_streams.domain import ids, inbox, inbox_groups, item_ids, outcomes
from notify_streams.domain.dedup import print_of
from notify_streams.domain.gate import has_expired
from notify_streams.domain.rendered import TemplateFailed
from notify_streams.inbox.tail import LiveTail
from notify_streams.metrics import DUPLICATES
from notify_streams.ports import InboxStore, Renderer
from notify_streams.streaming import topics
from notify_streams.streaming.app import App
from notify_streams.streaming.deadletters import DeadLetters
from notify_streams.streaming.keyed import keyed
from notify_streams.streaming.outgoing import Outgoing
from notify_streams.streaming.rest import Rest
from schemas.catalogue import Catalogue, NotificationType
from schemas.codec import encode
from schemas.content import Content
from schemas.deliveries import DeliveryV1, decode_delivery
from schemas.inbox import InboxEntry, InboxGroup, InboxMember
from schemas.outcomes import InboxWrite
from schemas.words import CHANNELS, Reason
from tables.inbox_state import Given, InboxStates

log = logging.getLogger(__name__)
ROLE = "inbox"
NINETY_DAYS_MS, MOST_UNREAD = 90 * 86_400_000, 1000
_NO_TYPE = NotificationType(category="", channels=())


class Met(NamedTuple):
    """A delivery as it was met: whose it is, the key of its own row, and what is known of it."""

    partition: int
    user: bytes
    delivery: DeliveryV1
    notification: UUID
    type_: NotificationType
    own: bytes
    entry: InboxEntry | None = None
    member: InboxMember | None = None
    group_key: bytes = b""

    @property
    def is_known(self) -> bool:
        """Whether it has a place."""
        return self.entry is not None or self.member is not None


class Inbox:
    """The one writer of inboxes."""

    def __init__(
        self,
        app: App,
        states: InboxStates,
        store: InboxStore,
        tail: LiveTail,
        renderer: Renderer,
        catalogue: Catalogue,
        dead: DeadLetters,
        rest: Rest,
        *,
        clock: Clock = wall_clock,
        kept_ms: int = NINETY_DAYS_MS,
        most_unread: int = MOST_UNREAD,
    ) -> None:
        self.app, self.states, self.store, self.tail = app, states, store, tail
        self.renderer, self.catalogue, self.dead = renderer, catalogue, dead
        self.rest, self.clock, self.turns = rest, clock, Turns()
        self.kept_ms, self.most_unread = kept_ms, most_unread

    def take(self, event: EventT[bytes], writes: Writes, outgoing: Outgoing) -> None:
        """Give one delivery its place; no await. What cannot be shown ends here with its outcome."""
        met, now = self._met(*keyed(event)), self.clock()
        if not met.is_known and has_expired(met.delivery, now):
            self._end(met, Reason.EXPIRED, "", writes, outgoing)
            return
        group = self._group(met, now)
        told = met.delivery if group is None else _telling(met.delivery, group)
        try:
            rendered = self.renderer.inbox(told)
        except Exception as error:  # noqa: BLE001  rendering is pure: whatever it is, it is this delivery's alone
            if not isinstance(error, TemplateFailed):
                log.error("delivery.unrendered delivery_id=%s error=%s", told.delivery_id, type(error).__name__)
            self._end(met, Reason.TEMPLATE_FAILED, str(error), writes, outgoing)
            self.dead.keep(event, Reason.TEMPLATE_FAILED, str(error), outgoing, now=now)
            return
        given = self._given(met, group, outgoing)
        if given.wakes:
            timing.wake(met.partition, met.user, given.header, outgoing)
        self._show(met, given, writes)
        item = views.item_of(met.delivery, rendered, met.type_.category, given, group)
        if not given.replaced:
            writes.items.append(item)
        writes.tell(item.user_id, views.frame_of(item, given.header), given.sequence, again=not given.new)

    def _met(self, partition: int, user: bytes, value: bytes) -> Met:
        delivery = decode_delivery(value)
        notification = UUID(delivery.notification_id)  # the database takes no other, and would try for ever
        own = item_ids.key_of(ids.time_uuid(delivery.accepted_at, delivery.notification_id))
        type_ = self.catalogue.types.get(delivery.type, _NO_TYPE)
        if not type_.aggregate or delivery.aggregation_key is None or delivery.members:
            entry = self.states.entry(partition, user, own)
            return Met(partition, user, delivery, notification, type_, own, entry)
        group_key = inbox_groups.group_key(delivery.source, delivery.type, delivery.aggregation_key)
        member = self.states.member(partition, user, print_of(str(notification)))
        return Met(partition, user, delivery, notification, type_, own, None, member, group_key)

    def _end(self, met: Met, reason: Reason, detail: str, writes: Writes, outgoing: Outgoing) -> None:
        outcome = outcomes.not_tried(met.delivery, reason, detail, self.clock())
        outgoing.add(topics.OUTCOMES, met.partition, met.user, encode(outcome))
        writes.ended.append(outcome)

    def _group(self, met: Met, now: int) -> InboxGroup | None:
        """What its item tells once it is one of it; None for an item that tells of one notification only."""
        if not met.group_key:
            return None
        group, own = self.states.group(met.partition, met.user, met.group_key), met.own
        if met.member is not None:
            return group if group is not None and group.item == met.member.item else None
        if group is None or not inbox_groups.is_open(group, self._entry(met, group.item), now):
            group = InboxGroup(own, met.delivery.accepted_at, 0)
        return inbox_groups.joined(group, met.delivery, inbox.kept_until(own, self._expiry(met.delivery)))

    def _given(self, met: Met, group: InboxGroup | None, outgoing: Outgoing) -> Given:
        partition, user = met.partition, met.user
        if met.entry is not None:
            return self.states.again(partition, user, met.own, met.entry)
        if met.member is not None:
            return self.states.grown(partition, user, met.member)
        if group is None:
            return self.states.add(partition, user, met.own, self._new(met), self.most_unread, outgoing)
        known = None if group.item == met.own else self._entry(met, group.item)
        entry, row = self._new(met), met.own
        if known is not None:
            at = max(
                met.delivery.accepted_at, item_ids.accepted_at(known.row or group.item)
            )  # on top of what it replaces
            row = item_ids.key_of(ids.time_uuid(at, met.delivery.notification_id))
            newest = (entry.ids + known.ids)[: 16 * inbox_groups.MOST_IDS]
            entry = replace(entry, ids=newest, expires_at=max(entry.expires_at, known.expires_at))
        print_ = print_of(str(met.notification))
        return self.states.grow(partition, user, print_, row, entry, group, self.most_unread, outgoing)

    def _new(self, met: Met) -> InboxEntry:
        channels = _others(met.type_)
        return InboxEntry(
            0,
            expires_at=self._expiry(met.delivery),
            ids=met.notification.bytes if channels else b"",
            channels=channels,
            group=met.group_key,
        )

    def _entry(self, met: Met, key: bytes) -> InboxEntry | None:
        return self.states.entry(met.partition, met.user, key)

    def _expiry(self, delivery: DeliveryV1) -> int:
        return min(delivery.expires_at, delivery.accepted_at + self.kept_ms)

    def _show(self, met: Met, given: Given, writes: Writes) -> None:
        """All but the item itself."""
        delivery = met.delivery
        if given.new:
            writes.new.append(delivery)
        else:
            DUPLICATES.labels(stage=ROLE).inc()
        if given.room is not None:
            change, frame = views.of_room(delivery.user_id, given, given.room)
            writes.changes.append(change)
            writes.tell(delivery.user_id, frame, frame.sequence, again=not given.new)
        if given.before:
            writes.changes.append(views.replaced(delivery.user_id, given))
        writes.holds(delivery.user_id, given.header)
        notification, sequence = delivery.notification_id, given.sequence
        write = InboxWrite(notification, delivery.delivery_id, sequence, delivery.user_id, delivery.source)
        writes.written.setdefault(met.partition, []).append(write)


def _telling(delivery: DeliveryV1, group: InboxGroup) -> DeliveryV1:
    content = replace(delivery.content or Content(), group=inbox_groups.said(group))
    return replace(delivery, content=content)


def _others(type_: NotificationType) -> int:
    """The channels besides this one that may carry the same notification, a bit for each."""
    return sum(1 << n for n, channel in enumerate(CHANNELS) if channel != "inapp" and channel in type_.channels)
