"""Stopping what is under way, and planning anew what waits: what follows for a user's state, timers and senders.

What waits for a timer is not taken off it but brought back at once and decided again: its decision record then says
why it was not sent, and what is on its way back already is met by the same state. The move keeps the timer's revision,
so that nothing that comes back is taken for something older.
"""

from collections.abc import Iterator
from hashlib import blake2b

import msgspec

from notify_streams.domain import windows
from notify_streams.domain.dedup import print_of
from schemas.catalogue import Catalogue
from schemas.codec import encode
from schemas.commands import CancelV1
from schemas.notifications import NotificationV1
from schemas.profiles import ProfileV1
from schemas.stops import StopV1
from schemas.timers import MoveTimerV1, PutTimerV1
from schemas.user_state import Latest, Stopped, UserState
from schemas.words import Channel, Reason

UNDER_WAY_MS = 7 * 24 * 3_600_000  # topics are kept no longer, so nothing older is on its way
_MOST_STOPPED = 1000


class Followed(msgspec.Struct, frozen=True):
    """The state after it, the timers to put or move, and what the senders are told."""

    state: UserState
    timers: tuple[PutTimerV1 | MoveTimerV1, ...] = ()
    stops: tuple[StopV1, ...] = ()


def stop(
    state: UserState, notification_id: str, reason: Reason, now: int, channels: tuple[Channel, ...] = ()
) -> Followed:
    """Stop a notification on these channels (none named means all), known or not: one that comes later meets it."""
    until, print_ = now + UNDER_WAY_MS, print_of(notification_id)
    known = state.stopped.get(print_)
    if known is not None and not known.channels:
        channels = ()
    elif known is not None and channels:
        channels = (*known.channels, *(c for c in channels if c not in known.channels))
    stopped = {**state.stopped, print_: Stopped(until, reason, channels)}
    if len(stopped) > _MOST_STOPPED:
        del stopped[min(stopped, key=lambda p: stopped[p].until)]
    told = StopV1(at=now, until=until, notification_id=notification_id, reason=reason, channels=channels)
    back = tuple(_brought_back(state, now, bytes.fromhex(notification_id.replace("-", ""))))
    return Followed(msgspec.structs.replace(state, stopped=stopped), back, (told,))


def cancel(state: UserState, command: CancelV1, now: int) -> Followed:
    """What a command stops: nothing where it names a collapse key that nothing is known under."""
    notification_id = command.notification_id
    if notification_id is None:
        latest = state.latest.get(_collapse_key(command.source or "", command.collapse_key or ""))
        notification_id = None if latest is None else latest.notification_id
    if notification_id is None:
        return Followed(state)
    return stop(state, notification_id, Reason(command.reason), now, command.channels)


def collapse(state: UserState, notification: NotificationV1, now: int) -> Followed:
    """The newest under a collapse key replaces an older one that is not sent; the older one may be the one that is met.

    Met again, it says again what it has stopped.
    """
    if notification.collapse_key is None or notification.members:
        return Followed(state)
    key = _collapse_key(notification.source, notification.collapse_key)
    latest, own = state.latest.get(key), notification.notification_id
    if latest is not None and latest.notification_id != own:
        # Of two of one millisecond the one that is met again must not replace what has replaced it.
        if notification.accepted_at < latest.accepted_at or print_of(own) in state.stopped:
            return stop(state, own, Reason.COLLAPSED, now)
        state = _with_latest(state, key, notification, latest.notification_id)
        return stop(state, latest.notification_id, Reason.COLLAPSED, now)
    if latest is None:
        return Followed(_with_latest(state, key, notification, ""))
    return stop(state, latest.replaced, Reason.COLLAPSED, now) if latest.replaced else Followed(state)


def changed(state: UserState, profile: ProfileV1, catalogue: Catalogue, now: int) -> Followed:
    """A profile as it is from now on: what waits is decided anew, what is under way at the senders too."""
    told = StopV1(at=now, until=now + UNDER_WAY_MS, version=profile.version)
    state, ends = windows.replanned(state, profile, catalogue, now)
    return Followed(state, (*_brought_back(state, now), *ends), (told,))


def _brought_back(state: UserState, now: int, id_: bytes = b"") -> Iterator[MoveTimerV1]:
    """Each timer once that waits for the notification of this id (16 bytes), or for any."""
    waiting = {
        entry.timer_id: entry.revision
        for key, entry in state.pending.items()
        if entry.timer_id and not entry.resolved_at and key.startswith(id_)
    }
    for timer_id, revision in waiting.items():
        yield MoveTimerV1(timer_id=timer_id, due_at=now, revision=revision)


def _with_latest(state: UserState, key: bytes, notification: NotificationV1, replaced: str) -> UserState:
    entry = Latest(notification.notification_id, notification.accepted_at, notification.expires_at, replaced)
    return msgspec.structs.replace(state, latest={**state.latest, key: entry})


def _collapse_key(source: str, key: str) -> bytes:
    return blake2b(encode((source, key)), digest_size=8).digest()
