"""Stopping what is under way, and planning anew what waits: what follows for a user's state, timers and senders.

What waits for a timer is not taken off it but brought back at once and decided again: its decision record then says
why it was not sent, and what is on its way back already is met by the same state. The move keeps the timer's revision,
so that nothing that comes back is taken for something older.
"""

from collections.abc import Iterable, Iterator
from hashlib import blake2b
from typing import Any

import msgspec

from notify_streams.domain.dedup import COLLECTED, find, print_of, verdict_in
from schemas.codec import encode
from schemas.commands import CancelV1
from schemas.notifications import NotificationV1
from schemas.profiles import ProfileV1
from schemas.stops import StopV1
from schemas.timers import MoveTimerV1
from schemas.user_state import Latest, Stopped, UserState
from schemas.words import CHANNELS, Channel, Reason

UNDER_WAY_MS = 7 * 24 * 3_600_000  # topics are kept no longer, so nothing older is on its way
_MOST_STOPPED, _MOST_LATEST, _MOST_REPLACED = 1000, 256, 16


class Followed(msgspec.Struct, frozen=True):
    """The state after it, the timers to move, and what the senders are told."""

    state: UserState
    timers: tuple[MoveTimerV1, ...] = ()
    stops: tuple[StopV1, ...] = ()


def stop(
    state: UserState, notification_id: str, reason: Reason, now: int, channels: tuple[Channel, ...] = ()
) -> Followed:
    """Stop a notification on these channels (none named means all), known or not: one that comes later meets it."""
    until, print_ = now + UNDER_WAY_MS, print_of(notification_id)
    known = state.stopped.get(print_)
    if known is not None:
        reason, before = known.reason, known.channels
        channels = (*before, *(c for c in channels if c not in before)) if before and channels else ()
    stopped = {**state.stopped, print_: Stopped(until, reason, channels, now)}
    if len(stopped) > _MOST_STOPPED:
        del stopped[min(stopped, key=lambda p: stopped[p].until)]
    told = StopV1(at=now, until=until, notification_id=notification_id, reason=reason, channels=channels)
    back = tuple(_brought_back(state, now, bytes.fromhex(notification_id.replace("-", ""))))
    return Followed(msgspec.structs.replace(state, stopped=stopped), back, (told,))


def _replaced(followed: Followed, notification_id: str, now: int) -> Followed:
    """With this one stopped that another one replaces. Where nothing of it waits any more only senders are told.

    So whoever replaces all the time does not fill what is kept of one user's stops.
    """
    more = _and(followed, notification_id, Reason.COLLAPSED, now)
    return more if _may_still_come(followed.state, notification_id) else _with(more, followed.state)


def _may_still_come(state: UserState, notification_id: str) -> bool:
    """Whether the notification was not met yet, or waits for a timer or in a window."""
    seen = find(state.seen, print_of(notification_id))
    if seen is None or any(verdict_in(seen, channel) == COLLECTED for channel in CHANNELS):
        return True
    id_ = bytes.fromhex(notification_id.replace("-", ""))
    return any(key.startswith(id_) and not entry.resolved_at for key, entry in state.pending.items())


def cancel(state: UserState, command: CancelV1, given_at: int, now: int) -> Followed:
    """What a command of `given_at` (ms) stops: a notification, or what was accepted under a collapse key until then.

    Also what is met only later.
    """
    reason = Reason(command.reason)
    if command.notification_id is not None:
        return stop(state, command.notification_id, reason, now, command.channels)
    key = _collapse_key(command.source or "", command.collapse_key or "")
    latest = state.latest.get(key, Latest("", 0, 0))
    state = _with_latest(state, key, latest, stopped_at=max(latest.stopped_at, given_at), expires_at=now + UNDER_WAY_MS)
    if not latest.notification_id or latest.accepted_at > given_at:
        return Followed(state)
    return stop(state, latest.notification_id, reason, now, command.channels)


def collapse(state: UserState, notification: NotificationV1, now: int, *, again: bool = False) -> Followed:
    """The newest under a collapse key replaces an older one that is not sent; the older one may be the one that is met.

    One that has expired replaces nothing. Met `again`, it says again what was stopped under the key, as that may have
    got lost.
    """
    if notification.collapse_key is None or notification.members or now >= notification.expires_at:
        return Followed(state)
    key, own = _collapse_key(notification.source, notification.collapse_key), notification.notification_id
    latest = state.latest.get(key, Latest("", 0, 0))
    told = _all_stopped(Followed(state), latest.replaced if again else (), now)
    if notification.accepted_at <= latest.stopped_at:
        return _and(told, own, Reason.CANCELLED, now)
    if latest.notification_id in ("", own):
        entered = {"notification_id": own, "accepted_at": notification.accepted_at}
        expires_at = max(latest.expires_at, notification.expires_at)
        return _with(told, _with_latest(told.state, key, latest, **entered, expires_at=expires_at))
    # Of two of one millisecond the one that is met again must not replace what has replaced it.
    was_replaced = own in latest.replaced or print_of(own) in state.stopped
    if notification.accepted_at < latest.accepted_at or was_replaced:
        return _and(told, own, Reason.COLLAPSED, now)
    after = _with_latest(
        told.state,
        key,
        latest,
        notification_id=own,
        accepted_at=notification.accepted_at,
        expires_at=max(latest.expires_at, notification.expires_at),
        replaced=(*latest.replaced[1 - _MOST_REPLACED :], latest.notification_id),
    )
    return _replaced(_with(told, after), latest.notification_id, now)


def changed(state: UserState, profile: ProfileV1, now: int) -> Followed:
    """A profile as it is from now on: what waits is decided anew, what is under way at the senders too."""
    told = StopV1(at=now, until=now + UNDER_WAY_MS, version=profile.version)
    return Followed(state, tuple(_brought_back(state, now)), (told,))


def _all_stopped(followed: Followed, ids: Iterable[str], now: int) -> Followed:
    for id_ in ids:
        followed = _replaced(followed, id_, now)
    return followed


def _and(followed: Followed, notification_id: str, reason: Reason, now: int) -> Followed:
    """With this one stopped as well."""
    more = stop(followed.state, notification_id, reason, now)
    return Followed(more.state, (*followed.timers, *more.timers), (*followed.stops, *more.stops))


def _with(followed: Followed, state: UserState) -> Followed:
    return msgspec.structs.replace(followed, state=state)


def _brought_back(state: UserState, now: int, id_: bytes = b"") -> Iterator[MoveTimerV1]:
    """Each timer once that waits for the notification of this id (16 bytes), or for any."""
    waiting = {
        entry.timer_id: entry.revision
        for key, entry in state.pending.items()
        if entry.timer_id and not entry.resolved_at and key.startswith(id_)
    }
    for timer_id, revision in waiting.items():
        yield MoveTimerV1(timer_id=timer_id, due_at=now, revision=revision)


def _with_latest(state: UserState, key: bytes, latest: Latest, **changes: Any) -> UserState:
    entries = {**state.latest, key: msgspec.structs.replace(latest, **changes)}
    if len(entries) > _MOST_LATEST:
        del entries[min(entries, key=lambda k: entries[k].expires_at)]
    return msgspec.structs.replace(state, latest=entries)


def _collapse_key(source: str, key: str) -> bytes:
    return blake2b(encode((source, key)), digest_size=8).digest()
