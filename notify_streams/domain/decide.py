"""Which channels a notification goes to now, later or never, and why."""

from collections.abc import Iterable, Iterator, Mapping

import msgspec

from notify_streams.domain import windows
from notify_streams.domain.addresses import normalised
from notify_streams.domain.budget import is_spent
from notify_streams.domain.quiet_hours import closes_at, reopens_at
from schemas.catalogue import Catalogue, NotificationType
from schemas.decisions import Collect, Defer, Deliver, ProfileSlice, StateSlice, Suppress, Verdict
from schemas.notifications import NotificationV1
from schemas.profiles import Endpoint, Frequency, ProfileV1
from schemas.words import Channel, Reason

RULES = 3  # raised whenever the same inputs may give another verdict
INBOX = "inbox"
_NO_SWITCHES: Mapping[Channel, bool] = {}


class _Asked(msgspec.Struct, frozen=True):
    """What all channels of one decision share."""

    notification: NotificationV1
    profile: ProfileSlice
    state: StateSlice
    catalogue: Catalogue
    type_: NotificationType
    left_out: frozenset[Channel]
    now: int

    @property
    def zone(self) -> str:
        """The user's, the tenant's, or everybody's."""
        return windows.zone_of(self.catalogue, self.notification.tenant, self.profile.zone)


def slice_of(profile: ProfileV1, notification: NotificationV1, type_: NotificationType) -> ProfileSlice:
    """The part of the profile that `decide` looks at, without addresses."""
    channels = notification.channels
    waits = not type_.mandatory
    return ProfileSlice(
        version=profile.version,
        zone=profile.zone,
        locale=profile.locale,
        channels=_narrowed(profile.channels, channels),
        category=_narrowed(profile.categories.get(type_.category, _NO_SWITCHES), channels),
        quiet_hours=profile.quiet_hours if waits else (),
        digest=_frequencies(profile, channels, type_.category) if waits and profile.digest else {},
        digest_at=profile.digest_at,
        endpoints=tuple(map(_without_address, _distinct(profile, notification))),
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
    left_out = frozenset((*notification.excluded, *excluded))
    asked = _Asked(notification, profile, state, catalogue, type_, left_out, now)
    verdicts = tuple(_verdict(channel, asked) for channel in notification.channels)
    return _first_alone(verdicts, type_.fallback) if type_.fallback else verdicts


def _first_alone(verdicts: tuple[Verdict, ...], fallback: tuple[Channel, ...]) -> tuple[Verdict, ...]:
    """Of the channels of `fallback` only the first that can, at once or later; the next ones stand in for it."""
    able = [v.channel for v in verdicts if v.channel in fallback and not isinstance(v, Suppress)]
    spare = frozenset(sorted(able, key=fallback.index)[1:])
    return tuple(Suppress(channel=v.channel, reason=Reason.FALLBACK) if v.channel in spare else v for v in verdicts)


def _verdict(channel: Channel, asked: _Asked) -> Verdict:
    notification = asked.notification
    barred = _barred(channel, asked)
    if barred is not None:
        return Suppress(channel=channel, reason=barred)
    if notification.send_at is not None and asked.now < notification.send_at:
        return Defer(channel=channel, until=notification.send_at, reason=Reason.SCHEDULED)
    switched_off = _switched_off(channel, asked)
    if switched_off is not None:
        return Suppress(channel=channel, reason=switched_off)
    usable = _usable(channel, asked)
    if isinstance(usable, Reason):
        return Suppress(channel=channel, reason=usable)
    if channel == "inapp" or asked.type_.mandatory or (asked.state.joining and not asked.state.grouped):
        return Deliver(channel=channel, endpoint_ids=usable)
    gathered = _gathered(channel, asked)
    if asked.state.joining and gathered is None:
        return Deliver(channel=channel, endpoint_ids=usable)
    return gathered or _in_peace(channel, asked, usable)


def _barred(channel: Channel, asked: _Asked) -> Reason | None:
    """What holds whatever the user prefers."""
    notification, state = asked.notification, asked.state
    if max(asked.now, notification.send_at or 0) >= notification.expires_at:
        return Reason.EXPIRED
    if asked.profile.erased:
        return Reason.ERASED
    if state.stopped is not None and (not state.stopped_on or channel in state.stopped_on):
        return state.stopped
    if channel not in asked.catalogue.channels or channel not in asked.type_.channels:
        return Reason.CHANNEL_NOT_OFFERED
    return Reason.CHANNEL_EXCLUDED if channel in asked.left_out else None


def _switched_off(channel: Channel, asked: _Asked) -> Reason | None:
    if asked.type_.mandatory:
        return None
    if not asked.profile.channels.get(channel, True):
        return Reason.OPTED_OUT_OF_CHANNEL
    return None if asked.profile.category.get(channel, True) else Reason.OPTED_OUT_OF_CATEGORY


def _usable(channel: Channel, asked: _Asked) -> tuple[str, ...] | Reason:
    """The endpoints to send to, or why there is none. The inbox needs no address.

    What verifies an address goes to the one that is named, and to no other.
    """
    if channel == "inapp":
        return (INBOX,)
    verifies, named = asked.type_.verifies, asked.notification.endpoint_id
    known = [e for e in asked.profile.endpoints if e.channel == channel and (not verifies or e.endpoint_id == named)]
    verified = [e for e in known if e.verified or verifies]
    usable = tuple(e.endpoint_id for e in verified if not is_suppressed(e, asked.now))
    if usable:
        return usable
    if not known:
        return Reason.NO_ENDPOINT
    return Reason.ENDPOINT_SUPPRESSED if verified else Reason.ENDPOINT_UNVERIFIED


def is_suppressed(endpoint: Endpoint, now: int) -> bool:
    """Whether nothing is sent there at `now` (ms)."""
    until = endpoint.suppressed_until
    return endpoint.suppressed is not None and (until is None or now < until)


def _gathered(channel: Channel, asked: _Asked) -> Collect | Suppress | None:
    """Into a digest or an aggregation, or out for want of one.

    A digest itself costs nothing and waits in none; what a sender gives back has been paid for.
    """
    notification, type_, state = asked.notification, asked.type_, asked.state
    if notification.members or notification.endpoint_id is not None:
        return None
    chosen: Frequency = asked.profile.digest.get(channel, "instant") if type_.digestible else "instant"
    digest = windows.digest_of(type_.category)
    if not state.paid and is_spent(asked.catalogue.budget, state.hour, state.day):
        if not type_.digestible:
            return Suppress(channel=channel, reason=Reason.BUDGET_SPENT)
        until = windows.next_digest(
            "daily" if chosen == "instant" else chosen, _digest_at(asked), asked.zone, asked.now
        )
        return Collect(channel=channel, window=digest, until=until, reason=Reason.BUDGET_SPENT)
    if state.joining:
        return None
    if chosen != "instant":
        until = windows.next_digest(chosen, _digest_at(asked), asked.zone, asked.now)
        return Collect(channel=channel, window=digest, until=until, reason=Reason.DIGEST)
    if type_.aggregate and notification.aggregation_key is not None:
        group = windows.group_of(notification.type, notification.aggregation_key)
        until = asked.now + asked.catalogue.windows.wait_ms
        return Collect(channel=channel, window=group, until=until, reason=Reason.AGGREGATED)
    return None


def _in_peace(channel: Channel, asked: _Asked, usable: tuple[str, ...]) -> Verdict:
    """Now, unless that is in quiet hours; and not when they have begun meanwhile."""
    quiet_hours = asked.profile.quiet_hours
    if not quiet_hours:
        return Deliver(channel=channel, endpoint_ids=usable)
    expires_at = asked.notification.expires_at
    until = reopens_at(quiet_hours, asked.zone, channel, asked.now)
    if until is None:
        closes = closes_at(quiet_hours, asked.zone, channel, asked.now)
        hold_from = closes if closes is not None and closes < expires_at else None
        return Deliver(channel=channel, endpoint_ids=usable, hold_from=hold_from)
    if until >= expires_at:
        return Suppress(channel=channel, reason=Reason.QUIET_PAST_EXPIRY)
    return Defer(channel=channel, until=until, reason=Reason.QUIET_HOURS)


def _digest_at(asked: _Asked) -> str:
    return asked.profile.digest_at or asked.catalogue.windows.digest_at


def _narrowed(switches: Mapping[Channel, bool], channels: tuple[Channel, ...]) -> dict[Channel, bool]:
    return {c: switches[c] for c in channels if c in switches} if switches else {}


def _frequencies(profile: ProfileV1, channels: tuple[Channel, ...], category: str) -> dict[Channel, Frequency]:
    return {c: profile.digest[c][category] for c in channels if category in profile.digest.get(c, {})}


def _distinct(profile: ProfileV1, notification: NotificationV1) -> Iterator[Endpoint]:
    """The endpoints of its channels, each address once: one mailbox in two spellings gets one mail.

    The one that the notification names goes first, then what is verified, then what came first.
    """
    channels, named = notification.channels, notification.endpoint_id
    found = [e for e in profile.endpoints if e.channel in channels]
    if len(found) < 2:
        yield from found
        return
    chosen: dict[tuple[Channel, str], Endpoint] = {}
    for endpoint in sorted(found, key=lambda e: (e.endpoint_id != named, not e.verified)):
        content = endpoint.content
        where = endpoint.endpoint_id if content is None else normalised(endpoint.channel, content.address)
        chosen.setdefault((endpoint.channel, where), endpoint)
    yield from (e for e in found if any(e is one for one in chosen.values()))


def _without_address(endpoint: Endpoint) -> Endpoint:
    return Endpoint(
        channel=endpoint.channel,
        endpoint_id=endpoint.endpoint_id,
        verified=endpoint.verified,
        suppressed=endpoint.suppressed,
        suppressed_until=endpoint.suppressed_until,
        platform=endpoint.platform,
    )
