"""What a notification meets in its user's state: nothing, its own trace, or another record's; and what it leaves.

The state is read and written in one synchronous block before any effect. So the trace says which record left it:
the same record again repeats its effects with the same inputs, another record of the same event has none.
"""

import msgspec

from notify_streams.domain import dedup
from notify_streams.domain.dedup import Seen, Sighting
from schemas.decisions import Defer, Deliver, StateSlice, Verdict
from schemas.notifications import NotificationV1
from schemas.user_state import Pending, UserState
from schemas.words import CHANNELS, Channel

_BY_TIMER = "timer/"
_DELIVER, _DEFER, _COLLECT = 1, 2, 3
_MOST_PENDING = 1000  # all are read and written with each notification; a missing one means: go on


class Meeting(msgspec.Struct, frozen=True):
    """How to go on: the channels to decide, the instant and the revision to decide with."""

    sighting: Sighting
    channels: tuple[Channel, ...]
    now: int
    revision: int


def origin_of_timer(timer_id: str, revision: int) -> str:
    """What a record that a timer brings back says of where it comes from."""
    return f"{_BY_TIMER}{timer_id}/{revision}"


def meet(state: UserState, notification: NotificationV1, profile_version: int, now: int) -> Meeting:
    """Compare a notification with its user's state. `now` in ms."""
    if notification.origin.startswith(_BY_TIMER):
        return _meet_pending(state, notification, profile_version, now)
    seen = _trace(state, notification)
    sighting = dedup.sight(seen, notification.origin)
    if seen is None or sighting is Sighting.DUPLICATE:
        return Meeting(sighting, notification.channels, now, notification.revision)
    if seen.profile_version == profile_version & 0xFFFF:
        return Meeting(sighting, notification.channels, seen.decided_at, seen.revision)
    return Meeting(sighting, notification.channels, now, seen.revision + 1)


def slice_of(state: UserState, notification: NotificationV1) -> StateSlice:
    """The part of the state that `decide` looks at."""
    stopped = state.stopped.get(dedup.print_of(notification.notification_id)) if state.stopped else None
    return StateSlice() if stopped is None else StateSlice(stopped=stopped.reason, stopped_on=stopped.channels)


def leave(
    state: UserState,
    notification: NotificationV1,
    meeting: Meeting,
    profile_version: int,
    verdicts: tuple[Verdict, ...],
) -> UserState:
    """The state after the decision, pruned of what is older than the window."""
    print_, origin = dedup.print_of(notification.notification_id), dedup.origin_print(notification.origin)
    pending = _pruned(state.pending, meeting.now) if state.pending else state.pending
    if notification.origin.startswith(_BY_TIMER) or any(
        isinstance(verdict, Defer) or (pending and _key(notification, verdict.channel) in pending)
        for verdict in verdicts
    ):
        pending = dict(pending)
        for verdict in verdicts:
            key, entry = _key(notification, verdict.channel), _entry(verdict, meeting, origin, profile_version)
            if key in pending or len(pending) < _MOST_PENDING:
                pending[key] = pending[key] if _moved_on(pending.get(key), entry, meeting) else entry
    row = state.seen
    if not notification.origin.startswith(_BY_TIMER):
        mask = sum(_code(verdict) << 2 * CHANNELS.index(verdict.channel) for verdict in verdicts)
        row = dedup.remember(row, print_, Seen(origin, meeting.now, profile_version, mask, meeting.revision))
    return msgspec.structs.replace(state, seen=row, pending=pending)


def _trace(state: UserState, notification: NotificationV1) -> Seen | None:
    """Its print, or what its pending entries say: they live until a day after they are resolved, prints a day."""
    print_ = dedup.print_of(notification.notification_id)
    seen = dedup.find(state.seen, print_)
    if seen is not None or not state.pending:
        return seen
    own = dedup.origin_print(notification.origin)
    entries = [entry for key, entry in state.pending.items() if key.startswith(print_)]
    if not entries:
        return None
    entry = next((entry for entry in entries if entry.origin == own), entries[0])
    revision = entry.revision if entry.resolved_at else entry.revision - 1
    return Seen(entry.origin, entry.decided_at, entry.profile_version & 0xFFFF, 0, revision)


def _moved_on(known: Pending | None, entry: Pending, meeting: Meeting) -> bool:
    """Whether a timer has taken the channel further since the record that is now met again was first met."""
    if known is None or meeting.sighting is not Sighting.REPEAT:
        return False
    return known.origin != entry.origin and known.revision >= entry.revision


def _meet_pending(state: UserState, notification: NotificationV1, profile_version: int, now: int) -> Meeting:
    """A missing entry means: go on (it was forgotten); a resolved or newer one: somebody has decided it since."""
    origin = dedup.origin_print(notification.origin)
    open_: list[Channel] = []
    sighting, decided_at, revision = Sighting.FRESH, now, notification.revision
    for channel in notification.channels:
        entry = state.pending.get(_key(notification, channel))
        if entry is None or (entry.resolved_at == 0 and entry.revision <= notification.revision):
            open_.append(channel)
        elif entry.origin == origin:
            open_.append(channel)
            sighting = Sighting.REPEAT
            if entry.profile_version == profile_version:
                decided_at = entry.decided_at
            else:
                revision = entry.revision + 1
    if not open_:
        return Meeting(Sighting.DUPLICATE, (), now, revision)
    return Meeting(sighting, tuple(open_), decided_at, revision)


def _entry(verdict: Verdict, meeting: Meeting, origin: bytes, profile_version: int) -> Pending:
    if isinstance(verdict, Defer):
        return Pending(meeting.revision + 1, verdict.until, origin, meeting.now, profile_version)
    return Pending(meeting.revision, 0, origin, meeting.now, profile_version, resolved_at=meeting.now)


def _pruned(pending: dict[bytes, Pending], now: int) -> dict[bytes, Pending]:
    return {
        key: entry
        for key, entry in pending.items()
        if entry.resolved_at == 0 or entry.resolved_at > now - dedup.WINDOW_MS
    }


def _key(notification: NotificationV1, channel: Channel) -> bytes:
    """With the whole id: whoever plans anew has to name its timer."""
    return bytes.fromhex(notification.notification_id.replace("-", "")) + bytes([CHANNELS.index(channel)])


def _code(verdict: Verdict) -> int:
    match verdict:
        case Deliver():
            return _DELIVER
        case Defer():
            return _DEFER
        case _:
            return 0
