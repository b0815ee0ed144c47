"""Digests and aggregations: which window a notification waits in, until when, and what its end is called.

A window has a number that only grows: the instant at which it was opened, or one more than the last. A closed one is
remembered for a day, so that what comes again finds the same end, and its number does not.
"""

from collections.abc import Iterable, Sequence
from hashlib import blake2b
from typing import NamedTuple

import msgspec

from notify_streams.domain.local_times import next_at, next_hour
from notify_streams.domain.zones import ZONES
from schemas.catalogue import Catalogue, Windows
from schemas.codec import encode
from schemas.decisions import Collect
from schemas.notifications import FlushV1, NotificationV1
from schemas.profiles import Frequency, ProfileV1
from schemas.timers import PutTimerV1
from schemas.user_state import Window
from schemas.words import CHANNELS, MAX_MS, Channel, Reason

_DIGEST = "digest/"
_KEPT_MS = 24 * 3_600_000
_MOST_BYTES = 1 << 20  # all of a window is read and decided in one go


class Added(NamedTuple):
    """A window with one more item, and the timer that has to be put for it, if any."""

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


def key_of(channel: Channel, window: str, source: str = "") -> bytes:
    """Nine bytes that tell a user's windows apart; an aggregation is of one source, a digest of all."""
    name = window if is_digest(window) else f"{window}@{source}"
    return bytes([CHANNELS.index(channel)]) + blake2b(name.encode(), digest_size=8).digest()


def of_window(window: Window) -> bytes:
    """The key of a window."""
    return key_of(window.channel, window.key, window.source)


def of_flush(flush: FlushV1) -> bytes:
    """The key of the window that it ends."""
    return key_of(flush.channel, flush.window, flush.source)


def zone_of(catalogue: Catalogue, tenant: str, own: str | None) -> str:
    """A user's own zone, while there is such a one, else that of the tenant's users who have none."""
    return own if own in ZONES and own is not None else catalogue.zones.get(tenant, catalogue.zone)


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
    known: Sequence[Window], verdict: Collect, notification: NotificationV1, *, size: int, now: int, limits: Windows
) -> Added:
    """Put an item of `size` bytes into the last of the known windows of its key (by number), or open the next one.

    That is after the last one's end, or when it is full.
    """
    last = known[-1] if known else None
    if last is None or last.closed_at or _is_full(last, limits):
        number = now if last is None else max(now, last.number + 1)
        opened = Window(
            number,
            verdict.channel,
            verdict.window,
            notification.lane,
            verdict.reason,
            notification.tenant,
            opened_at=now,
            due_at=verdict.until,
            count=1,
            size=size,
            source="" if is_digest(verdict.window) else notification.source,
        )
        ended = _ended_if_full(opened, now, limits)
        return Added(ended, timer_of(ended))
    until = _until(last, verdict, now, limits)
    earlier = until < last.due_at  # one that ends later is put off when its timer comes
    grown = msgspec.structs.replace(
        last, count=last.count + 1, size=last.size + size, due_at=until, revision=last.revision + earlier
    )
    ended = _ended_if_full(grown, now, limits)
    overdue = last.due_at <= now  # its timer is on its way, or was lost
    return Added(ended, timer_of(ended) if earlier or overdue or ended is not grown else None)


def standing(known: Iterable[Window]) -> list[PutTimerV1]:
    """The timers of those that are open: of an item that is met again one of them may have got lost."""
    return [timer_of(window) for window in known if not window.closed_at]


def put_off(window: Window, now: int, quiet_until: int | None) -> Window | None:
    """The window as it goes on where it is not to end yet: it has grown, or its channel is quiet. Instants in ms."""
    until = quiet_until if quiet_until is not None and quiet_until < MAX_MS else window.due_at
    if window.closed_at or until <= now:
        return None
    return msgspec.structs.replace(window, due_at=until, revision=window.revision + 1)


def closed(window: Window, now: int) -> Window:
    """The window over: since `now` (ms), or since it was closed first, if that is met again."""
    return window if window.closed_at else msgspec.structs.replace(window, closed_at=now)


def replanned(known: Iterable[Window], profile: ProfileV1, catalogue: Catalogue, now: int) -> list[Window]:
    """The open ones, each as it ends under this profile."""
    return [_under(window, profile, catalogue, now) for window in known if not window.closed_at]


def timer_of(window: Window) -> PutTimerV1:
    """What ends the window."""
    return _timer("flush", window, window.due_at)


def end_of(window: Window) -> PutTimerV1:
    """What lets a closed window be forgotten: its number must not come again while anything of it is under way."""
    return _timer("over", window, window.closed_at + _KEPT_MS)


def _timer(what: str, window: Window, due_at: int) -> PutTimerV1:
    flush = FlushV1(
        channel=window.channel,
        window=window.key,
        number=window.number,
        due_at=due_at,
        over=what == "over",
        source=window.source,
    )
    return PutTimerV1(
        timer_id=f"{what}/{window.channel}/{of_window(window)[1:].hex()}/{window.number}",
        due_at=due_at,
        revision=window.revision,
        target=f"notifications.{window.lane}",
        payload=msgspec.Raw(encode(flush)),
        lane=window.lane,
    )


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


def _under(window: Window, profile: ProfileV1, catalogue: Catalogue, now: int) -> Window:
    until = _ends_under(window, profile, catalogue, now)
    if until == window.due_at:
        return window
    return msgspec.structs.replace(window, due_at=until, revision=window.revision + 1)


def _ends_under(window: Window, profile: ProfileV1, catalogue: Catalogue, now: int) -> int:
    """What overflowed the budget waits for a digest whatever was chosen."""
    if profile.erased:
        return min(now, window.due_at)
    if not is_digest(window.key) or window.due_at <= now:
        return window.due_at
    category = window.key.removeprefix(_DIGEST)
    chosen = profile.digest.get(window.channel, {}).get(category, "instant")
    if chosen == "instant" and window.kind is Reason.BUDGET_SPENT:
        chosen = "daily"
    zone = zone_of(catalogue, window.tenant, profile.zone)
    return next_digest(chosen, profile.digest_at or catalogue.windows.digest_at, zone, now)
