"""Whether a delivery may still be sent when its sender meets it, and what a sender remembers of stops for that."""

from collections.abc import Sequence
from fnmatch import fnmatchcase

import msgspec

from notify_streams.domain.dedup import print_of
from schemas.deliveries import DeliveryV1
from schemas.stops import Gate, GateStop, StopV1
from schemas.words import CHANNELS, Channel, Reason

_MOST_REVISIONS = 64  # where clocks or versions disagree for good it would go round for ever
MOST = 1000  # stopped notifications of one user: all are read with each of the user's deliveries


class Send(msgspec.Struct, frozen=True):
    """Go on."""


class DecideAgain(msgspec.Struct, frozen=True):
    """What it was decided on holds no more: give it back."""


class Ended(msgspec.Struct, frozen=True):
    """It ends here without a call."""

    reason: Reason


Passage = Send | DecideAgain | Ended


def may_still_send(delivery: DeliveryV1, gate: Gate, now: int, deliver_only_to: Sequence[str]) -> Passage:
    """Ask before every attempt. `now` in ms.

    `deliver_only_to` are patterns of the addresses that this environment may reach; empty means all. At `hold_from`
    the quiet hours have begun. A digest is stopped under its own id only: one that was flushed goes out as it is,
    though one of its members is stopped afterwards. What was decided dozens of times is not decided again: the
    orchestrator then sees another clock or another profile than this gate, and its word holds. A producer's own
    webhook about a notification is no message to its user: no wish and no stop of theirs concerns it.
    """
    if has_expired(delivery, now):
        return Ended(Reason.EXPIRED)
    reason = None if delivery.hook else _stopped(delivery, gate, now)
    if reason is not None:
        return Ended(reason)
    if deliver_only_to and not _reaches(delivery, deliver_only_to):
        return Ended(Reason.GUARDED)
    if delivery.hook:
        return Send()
    outdated = delivery.profile_version < gate.version and now < gate.version_until
    held = delivery.hold_from is not None and now >= delivery.hold_from
    return DecideAgain() if (outdated or held) and delivery.revision < _MOST_REVISIONS else Send()


def has_expired(delivery: DeliveryV1, now: int) -> bool:
    """Whether it is too late, as it is at `expires_at` itself. `now` in ms."""
    return now >= delivery.expires_at


def after(gate: Gate, stop: StopV1, now: int) -> Gate:
    """The gate that also knows of this stop, without what is past at `now` (ms).

    Order and repeats of stops do not matter. Beyond MOST notifications those are kept that are stopped the longest.
    Raises ValueError for a notification id that is none.
    """
    stopped = {print_: known for print_, known in gate.stopped.items() if known.until > now}
    if stop.notification_id is not None and stop.until > now:
        print_ = print_of(stop.notification_id)
        new = GateStop(stop.until, stop.reason, _in_order(stop.channels))
        stopped[print_] = _joined(stopped[print_], new) if print_ in stopped else new
    while len(stopped) > MOST:
        del stopped[min(stopped, key=lambda print_: (stopped[print_].until, print_))]
    version, version_until = gate.version, gate.version_until
    if stop.version:
        version, version_until = max(version, stop.version), max(version_until, stop.until)
    return Gate(version, version_until, stopped)


def is_past(gate: Gate, now: int) -> bool:
    """Whether nothing of it can concern a delivery any more."""
    return now >= gate.version_until and all(now >= known.until for known in gate.stopped.values())


def _stopped(delivery: DeliveryV1, gate: Gate, now: int) -> Reason | None:
    if not gate.stopped:
        return None
    known = gate.stopped.get(print_of(delivery.notification_id))
    if known is None or now >= known.until or (known.channels and delivery.channel not in known.channels):
        return None
    return known.reason


def _reaches(delivery: DeliveryV1, patterns: Sequence[str]) -> bool:
    address = "" if delivery.content is None else delivery.content.address or ""
    return any(fnmatchcase(address.lower(), pattern.lower()) for pattern in patterns)


def _joined(one: GateStop, other: GateStop) -> GateStop:
    """Stopped on the channels of both, for as long as the longer, for its reason."""
    until, reason = max((one.until, one.reason), (other.until, other.reason))
    everywhere = not one.channels or not other.channels
    return GateStop(until, reason, () if everywhere else _in_order(one.channels + other.channels))


def _in_order(channels: Sequence[Channel]) -> tuple[Channel, ...]:
    return tuple(channel for channel in CHANNELS if channel in channels)
