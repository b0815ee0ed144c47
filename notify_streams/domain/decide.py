"""Which channels a notification goes to now, later or never, and why."""

from collections.abc import Iterable, Mapping

from schemas.catalogue import Catalogue, NotificationType
from schemas.decisions import Defer, Deliver, ProfileSlice, StateSlice, Suppress, Verdict
from schemas.notifications import NotificationV1
from schemas.profiles import Endpoint, ProfileV1
from schemas.words import Channel, Reason

INBOX = "inbox"
_NO_SWITCHES: Mapping[Channel, bool] = {}


def slice_of(profile: ProfileV1, notification: NotificationV1, type_: NotificationType) -> ProfileSlice:
    """The part of the profile that `decide` looks at, without addresses."""
    channels = notification.channels
    return ProfileSlice(
        version=profile.version,
        zone=profile.zone,
        locale=profile.locale,
        channels=_narrowed(profile.channels, channels),
        category=_narrowed(profile.categories.get(type_.category, _NO_SWITCHES), channels),
        quiet_hours=profile.quiet_hours,
        endpoints=tuple(_without_address(e) for e in profile.endpoints if e.channel in channels),
        erased=profile.erased,
    )


def decide(
    notification: NotificationV1,
    profile: ProfileSlice,
    state: StateSlice,
    catalogue: Catalogue,
    now: int,
    excluded: Iterable[Channel] = (),
) -> tuple[Verdict, ...]:
    """One verdict per channel of the notification, in its order; the first rule that applies wins.

    `now` in ms. Raises KeyError for a type that the catalogue does not have (ingest lets none pass).
    """
    type_ = catalogue.types[notification.type]
    left_out = {*notification.excluded, *excluded}
    return tuple(
        _verdict(channel, channel in left_out, notification, profile, state, catalogue, type_, now)
        for channel in notification.channels
    )


def _verdict(
    channel: Channel,
    excluded: bool,
    notification: NotificationV1,
    profile: ProfileSlice,
    state: StateSlice,
    catalogue: Catalogue,
    type_: NotificationType,
    now: int,
) -> Verdict:
    if max(now, notification.send_at or 0) >= notification.expires_at:
        return Suppress(channel=channel, reason=Reason.EXPIRED)
    if profile.erased:
        return Suppress(channel=channel, reason=Reason.ERASED)
    if state.stopped:
        return Suppress(channel=channel, reason=Reason.CANCELLED)
    if channel not in catalogue.channels or channel not in type_.channels:
        return Suppress(channel=channel, reason=Reason.CHANNEL_NOT_OFFERED)
    if excluded:
        return Suppress(channel=channel, reason=Reason.CHANNEL_EXCLUDED)
    if not type_.mandatory and not profile.channels.get(channel, True):
        return Suppress(channel=channel, reason=Reason.OPTED_OUT_OF_CHANNEL)
    if not type_.mandatory and not profile.category.get(channel, True):
        return Suppress(channel=channel, reason=Reason.OPTED_OUT_OF_CATEGORY)
    usable = _usable(channel, profile.endpoints)
    if isinstance(usable, Reason):
        return Suppress(channel=channel, reason=usable)
    if notification.send_at is not None and now < notification.send_at:
        return Defer(channel=channel, until=notification.send_at, reason=Reason.SCHEDULED)
    return Deliver(channel=channel, endpoint_ids=usable)


def _usable(channel: Channel, endpoints: tuple[Endpoint, ...]) -> tuple[str, ...] | Reason:
    """The endpoints to send to, or why there is none. The inbox needs no address."""
    if channel == "inapp":
        return (INBOX,)
    known = [e for e in endpoints if e.channel == channel]
    verified = [e for e in known if e.verified]
    usable = tuple(e.endpoint_id for e in verified if e.suppressed is None)
    if usable:
        return usable
    if not known:
        return Reason.NO_ENDPOINT
    return Reason.ENDPOINT_SUPPRESSED if verified else Reason.ENDPOINT_UNVERIFIED


def _narrowed(switches: Mapping[Channel, bool], channels: tuple[Channel, ...]) -> dict[Channel, bool]:
    return {c: switches[c] for c in channels if c in switches} if switches else {}


def _without_address(endpoint: Endpoint) -> Endpoint:
    return Endpoint(
        channel=endpoint.channel,
        endpoint_id=endpoint.endpoint_id,
        verified=endpoint.verified,
        suppressed=endpoint.suppressed,
        platform=endpoint.platform,
    )
