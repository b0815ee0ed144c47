"""A full and a minimal value of every wire type, by the name of its golden file."""

from typing import Any

import msgspec

from schemas import (
    events,
    timers,
)
from schemas.commands import CommandResultV1, FieldError
from schemas.content import Actor, Object
from schemas.decisions import CatalogueV1, Collect, DecisionV1, Defer, Deliver, ProfileSlice, StateSlice, Suppress
from schemas.deliveries import DeliveryV1
from schemas.inbox import InboxCommandV1, InboxResultV1, InboxSweepV1
from schemas.notifications import FlushV1, NotificationV1
from schemas.outcomes import InboxOutcomesV1, InboxWrite, OutcomeV1
from schemas.stops import StopV1
from schemas.timers import CancelTimerV1, MoveTimerV1, PutTimerV1
from schemas.words import Reason
from tests.golden.asked import ASKED
from tests.golden.parts import CONTENT, DELIVERY, ENDPOINT, ID, LATER, NOW, PAYLOAD, QUIET, SEALED

BARE_NOTIFICATION = NotificationV1(
    notification_id=ID, user_id="ann", type="t", source="/s", event_id="e", accepted_at=NOW, expires_at=LATER
)
NOTIFICATION = NotificationV1(
    notification_id=ID,
    user_id="änn",
    type="order.confirmed",
    source="/shop/orders",
    event_id="order-123-confirmed",
    accepted_at=NOW,
    expires_at=LATER,
    origin="notify.events.high/3/41",
    lane="high",
    channels=("inapp", "email"),
    excluded=("push",),
    revision=2,
    tenant="shop",
    send_at=NOW + 1,
    due_at=NOW + 2,
    attempt=3,
    endpoint_id="home",
    by="ses",
    uncounted=1,
    fallback=("email", "push"),
    members=(ID,),
    event_time=NOW + 3,
    dedupe_key="d",
    collapse_key="c",
    aggregation_key="post:9:likes",
    locale="fr-CA",
    broadcast_id="b",
    replay="r",
    traceparent="00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
    content=CONTENT,
    sealed=SEALED,
)
DELIVERED: dict[str, Any] = {
    "delivery_id": DELIVERY,
    "notification_id": ID,
    "user_id": "änn",
    "type": "order.confirmed",
    "channel": "email",
    "endpoint_id": "home",
}

# Wire types: JSON on topics.
WIRE: dict[str, tuple[Any, Any, msgspec.json.Decoder[Any]]] = {
    "notification.v1": (NOTIFICATION, BARE_NOTIFICATION, msgspec.json.Decoder(NotificationV1 | FlushV1)),
    "flush.v1": (
        FlushV1(channel="email", window="digest/social", number=3, due_at=NOW, over=True, source="/s"),
        FlushV1(channel="inapp", window="", number=0, due_at=0),
        msgspec.json.Decoder(NotificationV1 | FlushV1),
    ),
    "stop.v1": (
        StopV1(at=NOW, until=LATER, version=7, notification_id=ID, reason=Reason.READ, channels=("email", "push")),
        StopV1(at=NOW, until=LATER),
        msgspec.json.Decoder(StopV1),
    ),
    "delivery.v1": (
        DeliveryV1(
            **DELIVERED,
            accepted_at=NOW,
            expires_at=LATER,
            decided_at=NOW + 5,
            lane="low",
            attempt=3,
            revision=1,
            profile_version=7,
            hold_from=NOW + 6,
            due_at=NOW + 7,
            source="/shop/orders",
            event_id="e",
            event_time=NOW + 8,
            dedupe_key="d",
            excluded=("push",),
            send_at=NOW + 9,
            event_locale="fr",
            tenant="shop",
            locale="fr-CA",
            zone="Europe/Paris",
            collapse_key="c",
            aggregation_key="a",
            broadcast_id="b",
            replay="r",
            members=(ID,),
            platform="ios",
            avoid=("apns",),
            by="ses",
            uncounted=1,
            fallback=("email", "push"),
            hook="shop",
            traceparent="00-1-2-01",
            content=CONTENT,
            sealed=SEALED,
        ),
        DeliveryV1(**DELIVERED, accepted_at=NOW, expires_at=LATER, decided_at=NOW),
        msgspec.json.Decoder(DeliveryV1),
    ),
    "outcome.v1": (
        OutcomeV1(
            **DELIVERED,
            state="retrying",
            at=NOW,
            attempt=2,
            lane="high",
            provider="smtp",
            provider_message_id="<m@x>",
            reason=Reason.PROVIDER_UNAVAILABLE,
            detail="421 too busy",
            next_at=LATER,
            accepted_at=NOW - 9,
            source="/shop/orders",
            segments=2,
            tenant="shop",
            broadcast_id="b",
            replay="r",
            members=(ID,),
            traceparent="00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
        ),
        OutcomeV1(**DELIVERED, state="sent", at=NOW),
        msgspec.json.Decoder(OutcomeV1 | InboxOutcomesV1),
    ),
    "inbox-command.v1": (
        InboxCommandV1(command_id="c-1", action="seen", item_ids=(ID,), up_to=17, at=NOW, by="user"),
        InboxCommandV1(command_id="c-1", action="read", at=0),
        msgspec.json.Decoder(InboxCommandV1 | InboxSweepV1),
    ),
    "inbox-sweep.v1": (
        InboxSweepV1(due_at=LATER),
        InboxSweepV1(due_at=0),
        msgspec.json.Decoder(InboxCommandV1 | InboxSweepV1),
    ),
    "inbox-result.v1": (
        InboxResultV1(
            command_id="c-1",
            user_id="änn",
            status="invalid",
            sequence=17,
            unread=4,
            unseen=3,
            errors=(FieldError("/action", "not for all"),),
        ),
        InboxResultV1(command_id="", user_id=""),
        msgspec.json.Decoder(CommandResultV1 | InboxResultV1),
    ),
    "inbox-outcomes.v1": (
        InboxOutcomesV1(at=NOW, written=(InboxWrite(ID, DELIVERY, 17, "ann", "/shop/orders"),)),
        InboxOutcomesV1(at=NOW, written=()),
        msgspec.json.Decoder(OutcomeV1 | InboxOutcomesV1),
    ),
    "decision.v1": (
        DecisionV1(
            notification=NOTIFICATION,
            profile=ProfileSlice(
                version=7,
                zone="Europe/Paris",
                locale="fr",
                channels={"email": True},
                category={"push": False},
                quiet_hours=(QUIET,),
                digest={"email": "daily"},
                digest_at="08:00",
                endpoints=(ENDPOINT,),
                erased=True,
            ),
            state=StateSlice(
                stopped=Reason.READ,
                stopped_on=("email",),
                hour=3,
                day=17,
                paid=True,
                joining=True,
                grouped=True,
            ),
            now=NOW,
            catalogue="c0ffee",
            tzdata="2026.6",
            verdicts=(
                Deliver(channel="email", endpoint_ids=("home", "work"), hold_from=LATER),
                Defer(channel="push", until=LATER, reason=Reason.SCHEDULED),
                Collect(channel="sms", window="digest/orders", until=LATER, reason=Reason.DIGEST),
                Suppress(channel="webhook", reason=Reason.NO_ENDPOINT),
            ),
            rules=2,
        ),
        DecisionV1(
            notification=BARE_NOTIFICATION,
            profile=ProfileSlice(),
            state=StateSlice(),
            now=NOW,
            catalogue="",
            tzdata="",
            verdicts=(),
        ),
        msgspec.json.Decoder(DecisionV1 | CatalogueV1),
    ),
    "catalogue.v1": (
        CatalogueV1(hash="c0ffee", body=msgspec.Raw(b'{"types":{}}')),
        CatalogueV1(hash="", body=msgspec.Raw(b"{}")),
        msgspec.json.Decoder(DecisionV1 | CatalogueV1),
    ),
    **ASKED,
    "put-timer.v1": (
        PutTimerV1(
            timer_id="retry/1", due_at=NOW, revision=2, target="deliveries.email.high", payload=PAYLOAD, lane="high"
        ),
        PutTimerV1(timer_id="t", due_at=0, revision=0, target="x", payload=msgspec.Raw(b"{}")),
        msgspec.json.Decoder(timers.TimerOperation),
    ),
    "move-timer.v1": (
        MoveTimerV1(timer_id="retry/1", due_at=NOW, revision=3, payload=PAYLOAD),
        MoveTimerV1(timer_id="retry/1", due_at=NOW, revision=3),
        msgspec.json.Decoder(timers.TimerOperation),
    ),
    "cancel-timer.v1": (
        CancelTimerV1(timer_id="retry/1", revision=2**40),
        CancelTimerV1(timer_id="retry/1", revision=0),
        msgspec.json.Decoder(timers.TimerOperation),
    ),
    "cloud-event.v1": (
        events.CloudEvent(
            specversion="1.0",
            id="order-123-confirmed",
            source="/shop/orders",
            type="order.confirmed",
            subject="user-42",
            traceparent="00-1-2-01",
            data=events.EventData(
                payload=PAYLOAD,
                recipients=("user-42",),
                audience=events.Audience(segment="vip", all=True),
                channels=("inapp", "email"),
                priority="normal",
                dedupe_key="d",
                collapse_key="c",
                aggregation_key="post:9:likes",
                actor=Actor("user-7", "Ann"),
                object=Object("post", "9"),
                locale="fr",
            ),
        ),
        events.CloudEvent(
            specversion="1.0", id="1", source="s", type="t", data=events.EventData(payload=msgspec.Raw(b"{}"))
        ),
        msgspec.json.Decoder(events.CloudEvent),
    ),
}
