"""Digests and aggregations: which window a notification waits in, until when, and what its end is called.

A window has a number that only grows: the instant at which it was opened, or one more than the last. Its items are kept
under keys of their own; what is here is the one line per channel and key that says which window is the last.
"""

from hashlib import blake2b
from typing import NamedTuple

import msgspec

from notify_streams.domain.local_times import next_at, next_hour
from schemas.catalogue import Catalogue, Windows
from schemas.codec import encode
from schemas.decisions import Collect
from schemas.notifications import FlushV1
from schemas.profiles import Frequency, ProfileV1
from schemas.timers import PutTimerV1
from schemas.user_state import UserState, Window
from schemas.words import CHANNELS, Channel, Lane, Reason

_DIGEST = "digest/"
_DAY_MS = 24 * 3_600_000
_MOST_BYTES = 1 << 20  # all of a window is read and decided in one go


class Added(NamedTuple):
    """The state after an item, its window, and the timer that has to be put for it, if any."""

    state: UserState
    window: Window
    timer: PutTimerV1 | None


def digest_of(category: str) -> str:
    """The window in which notifications of a category wait for their digest."""
    return _DIGEST + category


def group_of(type_: str, aggregation_key: str) -> str:
    """The window in which notifications about the same thing wait for one another."""
    return f"group/{type_}/{aggregation_key}"


def is_digest(window: str) -> bool:
    """Whether it is one of a category."""
    return window.startswith(_DIGEST)


def key_of(channel: Channel, window: str) -> bytes:
    """Nine bytes that tell a user's windows apart."""
    return bytes([CHANNELS.index(channel)]) + blake2b(window.encode(), digest_size=8).digest()


def zone_of(catalogue: Catalogue, tenant: str) -> str:
    """The zone of a tenant's users who have none."""
    return catalogue.zones.get(tenant, catalogue.zone)


def next_digest(frequency: Frequency, digest_at: str, zone: str, now: int) -> int:
    """The next digest's instant (ms): the full hour, or daily the local time `digest_at`; `now` where it is instant."""
    match frequency:
        case "hourly":
            return next_hour(zone, now)
        case "daily":
            return next_at(digest_at, zone, now)
        case "instant":
            return now


def added(
    state: UserState, verdict: Collect, *, size: int, lane: Lane, tenant: str, now: int, limits: Windows
) -> Added:
    """Put an item of `size` bytes into the last window, or open the next one: after its end, or when it is full."""
    key = key_of(verdict.channel, verdict.window)
    last = state.windows.get(key)
    if last is None or last.closed_at or _is_full(last, limits):
        number = now if last is None else max(now, last.number + 1)
        opened = Window(
            number,
            verdict.channel,
            verdict.window,
            lane,
            verdict.reason,
            tenant,
            opened_at=now,
            due_at=verdict.until,
            count=1,
            size=size,
        )
        return _with(state, key, _ended_if_full(opened, now, limits), timer=True)
    until = _until(last, verdict, now, limits)
    earlier = until < last.due_at  # one that ends later is put off when its timer comes
    grown = msgspec.structs.replace(
        last, count=last.count + 1, size=last.size + size, due_at=until, revision=last.revision + earlier
    )
    ended = _ended_if_full(grown, now, limits)
    return _with(state, key, ended, timer=earlier or ended is not grown)


def standing(state: UserState, verdict: Collect) -> PutTimerV1 | None:
    """The timer of the window that an item met again waits in, if that is still open: it may have got lost."""
    last = state.windows.get(key_of(verdict.channel, verdict.window))
    return None if last is None or last.closed_at else timer_of(last)


def postponed(state: UserState, flush: FlushV1, now: int) -> Added | None:
    """What puts the flush off where its window ends later by now; None where it is over."""
    key = key_of(flush.channel, flush.window)
    last = state.windows.get(key)
    if last is None or last.number != flush.number or last.closed_at or last.due_at <= now:
        return None
    return _with(state, key, msgspec.structs.replace(last, revision=last.revision + 1), timer=True)


def closed(state: UserState, flush: FlushV1, now: int) -> tuple[UserState, int]:
    """The state with the window over, and the instant at which it was closed: the first time, if it is met again."""
    key = key_of(flush.channel, flush.window)
    last = state.windows.get(key)
    if last is None or last.number != flush.number:
        return state, now
    if last.closed_at:
        return state, last.closed_at
    kept = {k: w for k, w in state.windows.items() if not w.closed_at or w.closed_at > now - _DAY_MS}
    kept[key] = msgspec.structs.replace(last, closed_at=now)
    return msgspec.structs.replace(state, windows=kept), now


def replanned(
    state: UserState, profile: ProfileV1, catalogue: Catalogue, now: int
) -> tuple[UserState, list[PutTimerV1]]:
    """The state with every open window ending when it does under this profile, and all their timers.

    Also of those that stay as they are: what is done again after a crash may find the state, but not the timer.
    """
    planned = dict(state.windows)
    for key, window in state.windows.items():
        until = window.due_at if window.closed_at else _under(window, profile, catalogue, now)
        if until != window.due_at:
            planned[key] = msgspec.structs.replace(window, due_at=until, revision=window.revision + 1)
    timers = [timer_of(window) for window in planned.values() if not window.closed_at]
    return (state if planned == state.windows else msgspec.structs.replace(state, windows=planned)), timers


def lane_of(state: UserState, flush: FlushV1) -> Lane:
    """The lane on which the window's digest goes; normal where its window is forgotten."""
    last = state.windows.get(key_of(flush.channel, flush.window))
    return "normal" if last is None else last.lane


def timer_of(window: Window) -> PutTimerV1:
    """What ends the window."""
    flush = FlushV1(channel=window.channel, window=window.key, number=window.number, due_at=window.due_at)
    return PutTimerV1(
        timer_id=f"flush/{window.channel}/{key_of(window.channel, window.key)[1:].hex()}/{window.number}",
        due_at=window.due_at,
        revision=window.revision,
        target=f"notifications.{window.lane}",
        payload=msgspec.Raw(encode(flush)),
        lane=window.lane,
    )


def _with(state: UserState, key: bytes, window: Window, *, timer: bool) -> Added:
    after = msgspec.structs.replace(state, windows={**state.windows, key: window})
    return Added(after, window, timer_of(window) if timer else None)


def _until(window: Window, verdict: Collect, now: int, limits: Windows) -> int:
    if is_digest(window.key):
        return min(window.due_at, verdict.until)
    return max(window.due_at, min(now + limits.wait_ms, window.opened_at + limits.max_wait_ms))


def _is_full(window: Window, limits: Windows) -> bool:
    return window.count >= limits.max_size or window.size >= _MOST_BYTES


def _ended_if_full(window: Window, now: int, limits: Windows) -> Window:
    if not _is_full(window, limits) or window.due_at <= now:
        return window
    return msgspec.structs.replace(window, due_at=now, revision=window.revision + 1)


def _under(window: Window, profile: ProfileV1, catalogue: Catalogue, now: int) -> int:
    """When the window ends under this profile. What overflowed the budget waits for a digest whatever was chosen."""
    if profile.erased:
        return now
    if not is_digest(window.key) or window.due_at <= now:
        return window.due_at
    category = window.key.removeprefix(_DIGEST)
    chosen = profile.digest.get(window.channel, {}).get(category, "instant")
    if chosen == "instant" and window.kind is Reason.BUDGET_SPENT:
        chosen = "daily"
    zone = profile.zone or zone_of(catalogue, window.tenant)
    return next_digest(chosen, profile.digest_at or catalogue.windows.digest_at, zone, now)
