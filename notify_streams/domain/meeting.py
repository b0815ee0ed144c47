"""What a notification meets in its user's state: nothing, its own trace, or another record's; and what it leaves.

The state is read and written in one synchronous block before any effect. So the trace says which record left it:
the same record again repeats its effects with the same inputs, another record of the same event has none.
"""

from collections.abc import Iterable
from hashlib import blake2b

import msgspec

from notify_streams.domain import budget, dedup
from notify_streams.domain.dedup import COLLECTED, DEFERRED, DELIVERED, Seen, Sighting, verdict_in
from schemas.decisions import Collect, Defer, Deliver, StateSlice, Verdict
from schemas.notifications import NotificationV1
from schemas.user_state import Pending, UserState, Window
from schemas.words import CHANNELS, Channel, Reason

_BY_TIMER, _BY_SENDER = "timer/", "sender/"
_APART = 2 * len(CHANNELS)  # above two bits of verdict per channel one that says: left to others
_WHOLE = 17  # bytes of the key of a channel with all its endpoints
_MOST_PENDING = 1000  # all are read and written with each notification; a missing one means: go on


class Meeting(msgspec.Struct, frozen=True):
    """How to go on: the channels to decide, the instant and the revision to decide with.

    Of an event that is decided anew, channels that something else decides meanwhile are `apart`, perhaps all; of a
    repeat, those that are `collected` wait in a window already.
    """

    sighting: Sighting
    channels: tuple[Channel, ...]
    now: int
    revision: int
    apart: tuple[Channel, ...] = ()
    collected: tuple[Channel, ...] = ()


def origin_of_timer(timer_id: str, revision: int) -> str:
    """What a record that a timer brings back says of where it comes from."""
    return f"{_BY_TIMER}{timer_id}/{revision}"


def comes_back(notification: NotificationV1) -> bool:
    """Whether it was decided before, and a timer or a sender brings it to be decided again."""
    return notification.origin.startswith((_BY_TIMER, _BY_SENDER))


def timer_id(notification: NotificationV1, channels: Iterable[Channel]) -> str:
    """The timer that brings these channels back at the same instant."""
    at = "" if notification.endpoint_id is None else f"@{notification.endpoint_id}"
    return f"decide/{notification.notification_id}/{'+'.join(sorted(channels, key=CHANNELS.index))}{at}"


def meet(state: UserState, notification: NotificationV1, profile_version: int, now: int) -> Meeting:
    """Compare a notification with its user's state. `now` in ms."""
    now = budget.instant_of(state.charged, now)
    if comes_back(notification):
        return _meet_pending(state, notification, profile_version, now)
    seen = _trace(state, notification)
    sighting = dedup.sight(seen, notification.origin)
    if seen is None or sighting is Sighting.DUPLICATE:
        return Meeting(sighting, notification.channels, now, notification.revision)
    anew = seen.profile_version != profile_version & 0xFFFF or _is_stopped_since(state, notification, seen.decided_at)
    apart = tuple(c for c in notification.channels if _is_apart(state, notification, c, seen, anew=anew))
    channels = tuple(c for c in notification.channels if c not in apart)
    if anew:
        return Meeting(Sighting.ANEW, channels, now, seen.revision + 1, apart)
    collected = tuple(c for c in channels if verdict_in(seen, c) == COLLECTED)
    return Meeting(sighting, channels, seen.decided_at, seen.revision, apart, collected)


def slice_of(state: UserState, notification: NotificationV1, now: int, joining: Window | None = None) -> StateSlice:
    """The part of the state that `decide` looks at, as of `now` (ms); at the end of a window, of an item in it."""
    waited, grouped = joining is not None, joining is not None and joining.kind is Reason.AGGREGATED
    stopped = state.stopped.get(dedup.print_of(notification.notification_id)) if state.stopped else None
    if stopped is None and not state.charged:
        return StateSlice(joining=waited, grouped=grouped)
    spending = budget.spending(state.charged, notification.notification_id, now)
    return StateSlice(
        stopped=None if stopped is None else stopped.reason,
        stopped_on=() if stopped is None else stopped.channels,
        hour=spending.hour,
        day=spending.day,
        paid=spending.paid,
        joining=waited,
        grouped=grouped,
    )


def leave(
    state: UserState,
    notification: NotificationV1,
    meeting: Meeting,
    profile_version: int,
    verdicts: tuple[Verdict, ...],
    *,
    costs: bool = False,
) -> UserState:
    """The state after the decision, pruned of what is older than the window. `costs`: a noisy delivery is charged."""
    print_, origin = dedup.print_of(notification.notification_id), dedup.origin_print(notification.origin)
    row, charges = state.seen, state.charged
    if not (comes_back(notification) or notification.members):
        mask = sum(_code(verdict) << 2 * CHANNELS.index(verdict.channel) for verdict in verdicts)
        mask |= sum(1 << _APART + CHANNELS.index(channel) for channel in meeting.apart)
        row = dedup.remember(row, print_, Seen(origin, meeting.now, profile_version, mask, meeting.revision))
    if costs and any(isinstance(v, Deliver) and v.channel != "inapp" for v in verdicts):
        charges = budget.charged(charges, notification.notification_id, meeting.now)
    return msgspec.structs.replace(
        state,
        seen=row,
        charged=charges,
        pending=_left_pending(state, notification, meeting, profile_version, verdicts),
        stopped={p: s for p, s in state.stopped.items() if s.until > meeting.now} if state.stopped else state.stopped,
        latest={k: e for k, e in state.latest.items() if e.expires_at > meeting.now} if state.latest else state.latest,
    )


def _left_pending(
    state: UserState,
    notification: NotificationV1,
    meeting: Meeting,
    profile_version: int,
    verdicts: tuple[Verdict, ...],
) -> dict[bytes, Pending]:
    pending = _pruned(state.pending, meeting.now) if state.pending else state.pending
    if not (
        comes_back(notification)
        or any(isinstance(v, Defer) or (pending and _key(notification, v.channel) in pending) for v in verdicts)
    ):
        return pending
    pending, origin, waiting = dict(pending), dedup.origin_print(notification.origin), deferred(verdicts)
    for verdict in verdicts:
        key, timer = _key(notification, verdict.channel), ""
        if isinstance(verdict, Defer):
            timer = timer_id(notification, waiting[verdict.until])
        entry = _entry(verdict, meeting, origin, profile_version, timer)
        if key in pending or len(pending) < _MOST_PENDING:
            pending[key] = pending[key] if _moved_on(pending.get(key), entry, meeting) else entry
    return pending


def deferred(verdicts: Iterable[Verdict]) -> dict[int, list[Channel]]:
    """The channels that wait, by the instant until which they do (ms)."""
    waiting: dict[int, list[Channel]] = {}
    for verdict in verdicts:
        if isinstance(verdict, Defer):
            waiting.setdefault(verdict.until, []).append(verdict.channel)
    return waiting


def _trace(state: UserState, notification: NotificationV1) -> Seen | None:
    """Its print, or what its pending entries say: they live until a day after they are resolved, prints a day."""
    print_ = dedup.print_of(notification.notification_id)
    seen = dedup.find(state.seen, print_)
    if seen is not None or not state.pending:
        return seen
    own = dedup.origin_print(notification.origin)
    entries = {key: entry for key, entry in state.pending.items() if key.startswith(print_)}
    if not entries:
        return None
    entry = next((e for e in entries.values() if e.origin == own), next(iter(entries.values())))
    verdicts = sum(e.verdict << 2 * key[16] for key, e in entries.items() if len(key) == _WHOLE)
    return Seen(entry.origin, entry.decided_at, entry.profile_version & 0xFFFF, verdicts, _decided_with(entry))


def _moved_on(known: Pending | None, entry: Pending, meeting: Meeting) -> bool:
    """Whether a timer has taken the channel further since the record that is now met again was first met."""
    if known is None or meeting.sighting is not Sighting.REPEAT:
        return False
    return known.origin != entry.origin and known.revision >= entry.revision


def _meet_pending(state: UserState, notification: NotificationV1, profile_version: int, now: int) -> Meeting:
    """A missing or older entry means: go on; one that is newer or resolved: somebody has decided it since."""
    origin = dedup.origin_print(notification.origin)
    open_, collected = list[Channel](), list[Channel]()
    sighting, decided_at, revision = Sighting.FRESH, now, notification.revision
    for channel in notification.channels:
        entry = state.pending.get(_key(notification, channel))
        if entry is None or _goes_on(entry, notification.revision):
            open_.append(channel)
        elif entry.origin == origin and _holds(entry, state, notification, profile_version):
            open_.append(channel)
            sighting, decided_at, revision = Sighting.REPEAT, entry.decided_at, max(revision, _decided_with(entry))
            collected += [channel] if entry.verdict == COLLECTED else []
        elif entry.origin == origin and entry.verdict != COLLECTED:
            open_.append(channel)
            sighting, revision = Sighting.ANEW, max(revision, _decided_with(entry) + 1)
    if not open_:
        return Meeting(Sighting.DUPLICATE, (), now, revision)
    return Meeting(sighting, tuple(open_), decided_at, revision, collected=tuple(collected))


def _entry(verdict: Verdict, meeting: Meeting, origin: bytes, profile_version: int, timer: str) -> Pending:
    if isinstance(verdict, Defer):
        return Pending(meeting.revision + 1, verdict.until, origin, meeting.now, profile_version, 0, timer, DEFERRED)
    decided = _code(verdict)
    return Pending(meeting.revision, 0, origin, meeting.now, profile_version, meeting.now, verdict=decided)


def _pruned(pending: dict[bytes, Pending], now: int) -> dict[bytes, Pending]:
    return {
        key: entry
        for key, entry in pending.items()
        if entry.resolved_at == 0 or entry.resolved_at > now - dedup.WINDOW_MS
    }


def _key(notification: NotificationV1, channel: Channel) -> bytes:
    """With the whole id: whoever plans anew has to name its timer. An endpoint that comes back alone has its own."""
    key = bytes.fromhex(notification.notification_id.replace("-", "")) + bytes([CHANNELS.index(channel)])
    endpoint = notification.endpoint_id
    return key if endpoint is None else key + blake2b(endpoint.encode(), digest_size=4).digest()


def _goes_on(entry: Pending, revision: int) -> bool:
    """Whether this revision is news. What waits in a window is asked again only when that is over."""
    return entry.verdict != COLLECTED and entry.revision + bool(entry.resolved_at) <= revision


def _decided_with(entry: Pending) -> int:
    """The revision of the decision that left the entry; one that waits names the next."""
    return entry.revision if entry.resolved_at else entry.revision - 1


def _is_apart(state: UserState, notification: NotificationV1, channel: Channel, seen: Seen, *, anew: bool) -> bool:
    """What waits in a window is asked again when that is over, what its timer took further by that.

    Decided here as well, it would go out twice.
    """
    index = CHANNELS.index(channel)
    before = bool(seen.verdicts >> _APART + index & 1)
    if before or not anew:
        return before
    entry = state.pending.get(_key(notification, channel))
    taken = entry is not None and entry.origin != dedup.origin_print(notification.origin)
    return taken or verdict_in(seen, channel) == COLLECTED


def _holds(entry: Pending, state: UserState, notification: NotificationV1, profile_version: int) -> bool:
    """Whether what was decided would be decided again in the same way."""
    same = entry.profile_version == profile_version
    return same and not _is_stopped_since(state, notification, entry.decided_at)


def _is_stopped_since(state: UserState, notification: NotificationV1, decided_at: int) -> bool:
    """Whether a stop came after a decision at that instant (ms): the same one cannot be made again."""
    stopped = state.stopped.get(dedup.print_of(notification.notification_id)) if state.stopped else None
    return stopped is not None and stopped.at >= decided_at


def _code(verdict: Verdict) -> int:
    match verdict:
        case Deliver():
            return DELIVERED
        case Defer():
            return DEFERRED
        case Collect():
            return COLLECTED
        case _:
            return 0
