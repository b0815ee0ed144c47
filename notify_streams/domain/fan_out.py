"""What follows from a decision: deliveries, timers, and the decision's own record."""

from collections.abc import Iterator

import msgspec

from notify_streams.domain import ids
from notify_streams.domain.decide import RULES
from notify_streams.domain.meeting import deferred, origin_of_timer, timer_id
from schemas.catalogue import NotificationType
from schemas.codec import encode
from schemas.content import Content
from schemas.decisions import DecisionV1, Deliver, ProfileSlice, StateSlice, Verdict
from schemas.deliveries import DeliveryV1
from schemas.notifications import NotificationV1
from schemas.profiles import ProfileV1
from schemas.timers import PutTimerV1
from schemas.words import Channel


def offered(notification: NotificationV1, type_: NotificationType) -> tuple[Channel, ...]:
    """The channels of which only the first that can is used, in order, as when it was decided for the first time."""
    known = notification.fallback or notification.channels
    return tuple(channel for channel in type_.fallback if channel in known)


def stand_ins(notification: NotificationV1, type_: NotificationType, channel: Channel) -> tuple[Channel, ...]:
    """Those that take the place of `channel` if it fails."""
    if channel not in type_.fallback:
        return ()
    later = type_.fallback[type_.fallback.index(channel) + 1 :]
    return tuple(c for c in offered(notification, type_) if c in later and c not in notification.excluded)


def deliveries(
    notification: NotificationV1,
    profile: ProfileV1,
    verdict: Deliver,
    now: int,
    revision: int,
    fallback: tuple[Channel, ...] = (),
) -> Iterator[DeliveryV1]:
    """One per endpoint, with its address; where one came back that may still be used, of that one alone.

    Where it may not, of all: senders drop what they have sent. `fallback` are the channel's `stand_ins`.
    """
    content, alone = notification.content or Content(), _alone(notification, verdict)
    for endpoint_id in alone or verdict.endpoint_ids:
        platform, address = _reached(profile, verdict.channel, endpoint_id)
        made = DeliveryV1(
            delivery_id=ids.delivery_id(notification.notification_id, verdict.channel, endpoint_id),
            notification_id=notification.notification_id,
            user_id=notification.user_id,
            type=notification.type,
            channel=verdict.channel,
            endpoint_id=endpoint_id,
            accepted_at=notification.accepted_at,
            expires_at=notification.expires_at,
            decided_at=now,
            lane=notification.lane,
            revision=revision,
            profile_version=profile.version,
            hold_from=verdict.hold_from,
            due_at=notification.due_at,
            source=notification.source,
            event_id=notification.event_id,
            event_time=notification.event_time,
            dedupe_key=notification.dedupe_key,
            excluded=notification.excluded,
            send_at=notification.send_at,
            event_locale=notification.locale,
            tenant=notification.tenant,
            locale=notification.locale or profile.locale,
            zone=profile.zone,
            collapse_key=notification.collapse_key,
            aggregation_key=notification.aggregation_key,
            broadcast_id=notification.broadcast_id,
            replay=notification.replay,
            members=notification.members,
            platform=platform,
            fallback=fallback,
            traceparent=notification.traceparent,
            content=content if address is None else msgspec.structs.replace(content, address=address),
            sealed=notification.sealed,
        )
        yield _again(made, notification) if alone else made


def _alone(notification: NotificationV1, verdict: Deliver) -> tuple[str, ...]:
    """The endpoint of the delivery that came back, as long as it may be used."""
    return tuple(endpoint for endpoint in verdict.endpoint_ids if endpoint == notification.endpoint_id)


def timers(
    notification: NotificationV1, verdicts: tuple[Verdict, ...], revision: int, fallback: tuple[Channel, ...] = ()
) -> Iterator[PutTimerV1]:
    """One per instant at which something is to be decided again; it brings back only the channels that wait.

    Its id follows from what a user's state says of these channels, so that it can be moved and cancelled.
    """
    for until, channels in deferred(verdicts).items():
        timer = timer_id(notification, channels)
        again = msgspec.structs.replace(
            notification,
            channels=tuple(channels),
            fallback=fallback,
            revision=revision + 1,
            due_at=until,
            origin=origin_of_timer(timer, revision + 1),
        )
        yield PutTimerV1(
            timer_id=timer,
            due_at=until,
            revision=revision + 1,
            target=f"notifications.{notification.lane}",
            payload=msgspec.Raw(encode(again)),
            lane=notification.lane,
        )


def record(
    notification: NotificationV1,
    profile: ProfileSlice,
    state: StateSlice,
    verdicts: tuple[Verdict, ...],
    *,
    now: int,
    catalogue: str,
    tzdata: str,
) -> DecisionV1:
    """The decision with its exact inputs; the origin, which differs between partition counts, left out."""
    return DecisionV1(
        notification=msgspec.structs.replace(notification, origin=""),
        profile=profile,
        state=state,
        now=now,
        catalogue=catalogue,
        tzdata=tzdata,
        verdicts=verdicts,
        rules=RULES,
    )


def _again(delivery: DeliveryV1, notification: NotificationV1) -> DeliveryV1:
    """With what its sender knew of it when it gave it back."""
    return msgspec.structs.replace(
        delivery, attempt=notification.attempt, by=notification.by, uncounted=notification.uncounted
    )


def _reached(profile: ProfileV1, channel: Channel, endpoint_id: str) -> tuple[str | None, str | None]:
    """Its platform and address, as far as there are any."""
    for endpoint in profile.endpoints if channel != "inapp" else ():
        if endpoint.channel == channel and endpoint.endpoint_id == endpoint_id:
            return endpoint.platform, None if endpoint.content is None else endpoint.content.address
    return None, None
