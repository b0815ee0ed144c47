"""A full and a minimal value of every wire type, by the name of its golden file."""

from typing import Any

import msgspec

from schemas import (
    commands,
    events,
    timers,
)
from schemas.addresses import (
    AddressChange,
    AddressGoneV1,
    AddressState,
    ClaimAddressV1,
    Held,
    LiftSuppressionV1,
    Owner,
    ReleaseAddressV1,
    ShowAddressV1,
    SuppressAddressV1,
)
from schemas.commands import (
    CancelV1,
    CommandResultV1,
    DropAddressV1,
    EraseUserV1,
    FieldError,
    MarkAddressV1,
    PatchPreferencesV1,
    Preferences,
    PutEndpointV1,
    RemoveEndpointV1,
    VerifyEndpointV1,
)
from schemas.content import Actor, Content, Group, Line, Object, Sealed
from schemas.decisions import CatalogueV1, Collect, DecisionV1, Defer, Deliver, ProfileSlice, StateSlice, Suppress
from schemas.deliveries import DeliveryV1
from schemas.notifications import FlushV1, NotificationV1
from schemas.outcomes import InboxOutcomesV1, InboxWrite, OutcomeV1
from schemas.profiles import Address, Applied, Endpoint, ProfileV1, QuietHours, Removed
from schemas.receipts import InboundV1, ReceiptV1
from schemas.stops import StopV1
from schemas.timers import CancelTimerV1, MoveTimerV1, PutTimerV1
from schemas.words import Reason

ID, DELIVERY = "0c8f4a5e-2b1d-5a3c-9f00-aa11bb22cc33", "1d9e5b6f-3c2e-5b4d-8a11-bb22cc33dd44"
NOW, LATER = 1_790_000_000_000, 1_790_003_600_000
PAYLOAD = msgspec.Raw(b'{"order": "123", "total": 19.90}')
SEALED = Sealed(key_id="k1", nonce="bm9uY2U=", data="ZGF0YQ==")
CONTENT = Content(
    payload=PAYLOAD,
    actor=Actor("user-7", "Änn"),
    object=Object("post", "9"),
    address="ann@example.com",
    group=Group(
        count=7,
        lines=(
            Line(
                type="social.like",
                at=NOW,
                count=3,
                payload=PAYLOAD,
                actor=Actor("user-7"),
                object=Object("post", "9"),
                actors=(Actor("user-7"),),
                others=2,
            ),
        ),
        more=4,
        actors=(Actor("user-7"),),
        others=5,
    ),
)
QUIET = QuietHours(start="22:00", end="08:00", days=("mon", "tue"), channels=("push",))
ENDPOINT = Endpoint(
    channel="push",
    endpoint_id="phone",
    verified=True,
    suppressed="bounce",
    suppressed_until=LATER,
    platform="ios",
    at=NOW,
    content=Address("t0ken"),
    sealed=SEALED,
)
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
    "patch-preferences.v1": (
        PatchPreferencesV1(
            command_id="c-1",
            if_match=7,
            by="user",
            patch=Preferences(
                version=7,
                locale="fr",
                zone=None,
                channels={"email": True, "push": None},
                categories={"social": {"email": False}, "orders": None},
                quiet_hours=(QUIET,),
                digest={"email": {"social": "daily"}},
                digest_at="08:00",
            ),
        ),
        PatchPreferencesV1(command_id="c-1", patch=Preferences()),
        msgspec.json.Decoder(commands.UserCommand),
    ),
    "put-endpoint.v1": (
        PutEndpointV1(
            command_id="c-1",
            if_match=7,
            by="user",
            channel="push",
            endpoint_id="phone",
            content=Address("t0ken"),
            verified=True,
            platform="ios",
            suppressed="bounce",
            suppressed_until=LATER,
            at=NOW,
        ),
        PutEndpointV1(command_id="c-1", channel="email", endpoint_id="home", content=Address("a@b.example")),
        msgspec.json.Decoder(commands.UserCommand),
    ),
    "remove-endpoint.v1": (
        RemoveEndpointV1(command_id="c-1", if_match=7, by="op", channel="email", endpoint_id="home", at=NOW),
        RemoveEndpointV1(command_id="c-1", channel="email", endpoint_id="home"),
        msgspec.json.Decoder(commands.UserCommand),
    ),
    "verify-endpoint.v1": (
        VerifyEndpointV1(
            command_id="c-1", if_match=7, by="user", channel="sms", endpoint_id="phone", address_key="0a" * 16
        ),
        VerifyEndpointV1(command_id="c-1", channel="sms", endpoint_id="phone", address_key="0a" * 16),
        msgspec.json.Decoder(commands.UserCommand),
    ),
    "mark-address.v1": (
        MarkAddressV1(
            command_id="c-1",
            if_match=7,
            by="registry",
            channel="email",
            address_key="0a" * 16,
            suppressed="mailbox_full",
            suppressed_until=LATER,
        ),
        MarkAddressV1(command_id="c-1", channel="email", address_key="0a" * 16),
        msgspec.json.Decoder(commands.UserCommand),
    ),
    "drop-address.v1": (
        DropAddressV1(command_id="c-1", if_match=7, by="registry", channel="push", address_key="0a" * 16, at=NOW),
        DropAddressV1(command_id="c-1", channel="push", address_key="0a" * 16),
        msgspec.json.Decoder(commands.UserCommand),
    ),
    "claim-address.v1": (
        ClaimAddressV1(
            channel="push",
            at=NOW,
            by="user",
            command_id="c-1",
            user_id="änn",
            endpoint_id="phone",
            content=Address("t0ken"),
            if_match=7,
            verified=True,
            platform="ios",
        ),
        ClaimAddressV1(
            channel="push", at=NOW, command_id="c-1", user_id="ann", endpoint_id="phone", content=Address("t0ken")
        ),
        msgspec.json.Decoder(AddressChange),
    ),
    "release-address.v1": (
        ReleaseAddressV1(
            channel="push",
            at=NOW,
            by="user",
            command_id="c-1",
            user_id="änn",
            endpoint_id="phone",
            if_match=7,
            quiet=True,
        ),
        ReleaseAddressV1(channel="push", at=NOW, command_id="c-1", user_id="ann", endpoint_id="phone"),
        msgspec.json.Decoder(AddressChange),
    ),
    "address-gone.v1": (
        AddressGoneV1(channel="push", at=NOW, by="sender-push", since=NOW - 1, provider="apns", delivery_id=DELIVERY),
        AddressGoneV1(channel="push", at=NOW),
        msgspec.json.Decoder(AddressChange),
    ),
    "suppress-address.v1": (
        SuppressAddressV1(
            channel="email",
            at=NOW,
            by="receipts",
            reason="bounce",
            until=LATER,
            provider="ses",
            delivery_id=DELIVERY,
            command_id="c-1",
            content=Address("Ann@Example.com"),
        ),
        SuppressAddressV1(channel="email", at=NOW, reason="complaint"),
        msgspec.json.Decoder(AddressChange),
    ),
    "lift-suppression.v1": (
        LiftSuppressionV1(channel="email", at=NOW, by="ops", only="bounce", command_id="c-1"),
        LiftSuppressionV1(channel="email", at=NOW),
        msgspec.json.Decoder(AddressChange),
    ),
    "show-address.v1": (
        ShowAddressV1(channel="email", at=NOW, by="ops", command_id="c-1"),
        ShowAddressV1(channel="email", at=NOW, command_id="c-1"),
        msgspec.json.Decoder(AddressChange),
    ),
    "receipt.v1": (
        ReceiptV1(
            receipt_id="ses/e-1",
            delivery_id=DELIVERY,
            notification_id=ID,
            user_id="änn",
            channel="email",
            provider="ses",
            state="bounced",
            at=NOW,
            received_at=NOW + 9,
            permanent=True,
            provider_message_id="m-1",
            detail="Permanent/General",
        ),
        ReceiptV1(
            receipt_id="e-1",
            delivery_id=DELIVERY,
            notification_id=ID,
            user_id="ann",
            channel="sms",
            provider="twilio",
            state="delivered",
            at=NOW,
            received_at=NOW,
        ),
        msgspec.json.Decoder(ReceiptV1 | InboundV1),
    ),
    "inbound.v1": (
        InboundV1(
            inbound_id="SM1",
            channel="sms",
            provider="twilio",
            address_key="0a" * 16,
            at=NOW,
            received_at=NOW + 9,
            text="bus stop?",
        ),
        InboundV1(inbound_id="SM1", channel="sms", provider="twilio", address_key="0a" * 16, at=NOW, received_at=NOW),
        msgspec.json.Decoder(ReceiptV1 | InboundV1),
    ),
    "cancel.v1": (
        CancelV1(
            command_id="c-1",
            if_match=7,
            by="op",
            notification_id=ID,
            source="/s",
            collapse_key="c",
            reason="read",
            channels=("email",),
        ),
        CancelV1(command_id="c-1"),
        msgspec.json.Decoder(commands.UserCommand),
    ),
    "erase-user.v1": (
        EraseUserV1(command_id="c-1", if_match=7, by="op"),
        EraseUserV1(command_id="c-1"),
        msgspec.json.Decoder(commands.UserCommand),
    ),
    "command-result.v1": (
        CommandResultV1(
            command_id="c-1",
            user_id="ann",
            status="invalid",
            version=7,
            errors=(FieldError("/zone", "none"),),
            profile=ProfileV1(version=7),
            address=AddressState("sms", (Owner("ann", "phone", NOW),), (Held("opt_out", None, NOW),), (1, 3)),
        ),
        CommandResultV1(command_id="c-1", user_id="ann", status="applied", version=8),
        msgspec.json.Decoder(CommandResultV1),
    ),
    "profile.v1": (
        ProfileV1(
            version=7,
            locale="fr",
            zone="Europe/Paris",
            channels={"email": False},
            categories={"social": {"push": True}},
            quiet_hours=(QUIET,),
            digest={"email": {"social": "hourly"}},
            digest_at="24:00",
            endpoints=(ENDPOINT,),
            erased=True,
            applied=(Applied(1, 41, "applied", 7),),
            removed=(Removed("sms", "phone", NOW),),
        ),
        ProfileV1(),
        msgspec.json.Decoder(ProfileV1),
    ),
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
