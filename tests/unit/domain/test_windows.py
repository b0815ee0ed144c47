"""Which window an item waits in, when that ends, and what puts it off."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from notify_streams.domain import windows
from notify_streams.domain.windows import Added, added, closed, end_of, put_off, replanned, standing, timer_of
from schemas.catalogue import Windows
from schemas.decisions import Collect
from schemas.notifications import FlushV1, decode_notification_or_flush
from schemas.timers import PutTimerV1
from schemas.user_state import Window
from schemas.words import MAX_MS, Reason
from tests.builders import DAY, HOUR, MINUTE, NOW, a_catalogue, a_notification, a_profile

LIMITS = Windows(wait_ms=5 * MINUTE, max_wait_ms=12 * MINUTE, max_size=4)
DIGEST = windows.digest_of("orders")
GROUP = windows.group_of("social.like", "post:9")
LOW = a_notification(lane="low")


def collect(window: str = DIGEST, until: int = NOW + HOUR) -> Collect:
    reason = Reason.DIGEST if windows.is_digest(window) else Reason.AGGREGATED
    return Collect(channel="email", window=window, until=until, reason=reason)


def add(*known: Window, verdict: Collect | None = None, now: int = NOW, size: int = 1) -> Added:
    return added(known, verdict or collect(), LOW, size=size, now=now, limits=LIMITS)


def flush_of(timer: PutTimerV1 | None) -> FlushV1:
    assert timer is not None
    flush = decode_notification_or_flush(timer.payload)
    assert isinstance(flush, FlushV1)
    return flush


def test_the_first_item_opens_a_window_and_its_timer_ends_it() -> None:
    step = add()
    assert step.window.count == 1
    assert step.timer == timer_of(step.window)
    assert (step.timer.due_at, step.timer.target, step.timer.lane) == (NOW + HOUR, "notifications.low", "low")
    assert flush_of(step.timer) == FlushV1(channel="email", window=DIGEST, number=NOW, due_at=NOW + HOUR)


def test_a_further_item_waits_in_the_same_window_and_needs_no_timer() -> None:
    step = add(add().window, now=NOW + 1)
    assert (step.window.number, step.window.count, step.timer) == (NOW, 2, None)


def test_a_digest_that_is_wanted_sooner_ends_sooner() -> None:
    step = add(add().window, verdict=collect(until=NOW + MINUTE), now=NOW + 1)
    assert step.timer is not None
    assert (step.timer.due_at, step.timer.revision) == (NOW + MINUTE, 1)


def test_an_aggregation_waits_for_the_next_item_but_not_for_ever() -> None:
    """Five minutes after the last, twelve after the first at most; its timer is put off when it comes."""
    first = add(verdict=collect(GROUP, NOW + 5 * MINUTE)).window
    later = add(first, verdict=collect(GROUP, NOW + 9 * MINUTE), now=NOW + 4 * MINUTE)
    assert (later.window.due_at, later.timer) == (NOW + 9 * MINUTE, None)
    last = add(later.window, verdict=collect(GROUP, NOW + 13 * MINUTE), now=NOW + 8 * MINUTE).window
    assert last.due_at == NOW + 12 * MINUTE

    off = put_off(last, NOW + 5 * MINUTE, None)
    assert off is not None
    assert (off.due_at, off.revision) == (NOW + 12 * MINUTE, 1)
    assert put_off(off, NOW + 12 * MINUTE, None) is None


def test_a_window_ends_when_its_channel_is_quiet_no_more() -> None:
    window = add().window
    off = put_off(window, NOW + HOUR, NOW + 9 * HOUR)
    assert off is not None
    assert timer_of(off).due_at == NOW + 9 * HOUR
    assert put_off(window, NOW + HOUR, MAX_MS) is None


def test_a_full_window_ends_at_once_and_the_next_item_opens_another() -> None:
    window = add().window
    for number in range(1, LIMITS.max_size):
        step = add(window, now=NOW + number)
        window = step.window
    assert step.timer is not None
    assert (step.timer.due_at, step.timer.revision) == (NOW + 3, 1)
    assert put_off(window, NOW + 3, None) is None
    assert add(window, now=NOW + 4).window.number == NOW + 4


def test_a_window_of_a_mebibyte_is_full() -> None:
    step = add(add().window, now=NOW + 1, size=1 << 20)
    assert step.window.due_at == NOW + 1
    assert add(step.window, now=NOW + 2).window.number == NOW + 2


def test_numbers_only_grow_even_within_a_millisecond_or_when_the_clock_goes_back() -> None:
    known: list[Window] = []
    for now in (NOW, NOW, NOW - MINUTE):
        known.append(closed(add(*known, now=now).window, now))
    assert [window.number for window in known] == [NOW, NOW + 1, NOW + 2]


def test_an_item_that_comes_while_its_window_ends_is_in_the_next_one() -> None:
    """DIG-07: at the closing instant, a millisecond before and after, each is in exactly one."""
    before = closed(add(add().window, now=NOW + HOUR - 1).window, NOW + HOUR)
    assert before.count == 2
    first = add(before, verdict=collect(until=NOW + 2 * HOUR), now=NOW + HOUR).window
    second = add(before, first, verdict=collect(until=NOW + 2 * HOUR), now=NOW + HOUR + 1).window
    assert (second.number, second.count) == (NOW + HOUR, 2)


def test_a_window_is_closed_once_whenever_its_end_is_met_again() -> None:
    once = closed(add().window, NOW + HOUR)
    assert closed(once, NOW + 2 * HOUR) is once
    assert put_off(once, NOW, None) is None
    assert end_of(once).due_at == NOW + HOUR + DAY
    assert flush_of(end_of(once)).over


def test_an_item_met_again_puts_the_timers_of_all_open_windows_of_its_key_again() -> None:
    """It may wait in one that was full: that one's timer may have got lost as well as the last one's."""
    full = Window(NOW - 1, "email", DIGEST, "low", Reason.DIGEST, "", NOW - 1, NOW, count=4)
    last = add(full).window
    over = closed(Window(NOW - 9, "email", DIGEST, "low", Reason.DIGEST, "", NOW - 9, NOW - 2), NOW - 2)
    assert standing([over, full, last]) == [timer_of(full), timer_of(last)]


def test_an_item_that_joins_an_overdue_window_puts_its_timer_again() -> None:
    step = add(add().window, verdict=collect(until=NOW + 3 * HOUR), now=NOW + 2 * HOUR)
    assert step.timer is not None
    assert step.timer.due_at == NOW + HOUR


DAILY: dict[str, Any] = {"digest": {"email": {"orders": "daily"}}, "digest_at": "09:00", "zone": "Europe/Paris"}
EIGHT_IN_PARIS = 1_790_056_800_000  # 2026-09-22T06:00:00Z


@pytest.mark.parametrize(
    ("kind", "changes", "until"),
    [
        (Reason.DIGEST, DAILY, EIGHT_IN_PARIS + HOUR),
        (Reason.DIGEST, {**DAILY, "zone": None}, EIGHT_IN_PARIS + 3 * HOUR),
        (Reason.DIGEST, {**DAILY, "digest": {"email": {"orders": "hourly"}}}, NOW - NOW % HOUR + HOUR),
        (Reason.DIGEST, {"digest": {}}, NOW),
        (Reason.BUDGET_SPENT, {"zone": "Europe/Paris"}, EIGHT_IN_PARIS),
        (Reason.BUDGET_SPENT, {"erased": True}, NOW),
    ],
)
def test_a_changed_profile_moves_the_end_of_a_digest(kind: Reason, changes: dict[str, Any], until: int) -> None:
    opened = Window(NOW - MINUTE, "email", DIGEST, "low", kind, "", NOW - MINUTE, NOW + 20 * DAY)
    [moved] = replanned([opened], a_profile(**changes), a_catalogue(), NOW)
    assert (moved.due_at, moved.revision) == (until, 1)
    assert replanned([moved], a_profile(**changes), a_catalogue(), NOW) == [moved]


def test_the_end_of_an_aggregation_is_nobodys_choice_and_a_closed_one_has_ended() -> None:
    window = add(verdict=collect(GROUP)).window
    assert replanned([window], a_profile(**DAILY), a_catalogue(), NOW) == [window]
    assert replanned([closed(window, NOW)], a_profile(**DAILY), a_catalogue(), NOW) == []


STEPS = st.lists(st.tuples(st.sampled_from(["item", "item", "item", "tick"]), st.integers(0, 7 * MINUTE)), max_size=60)


@given(STEPS, st.sampled_from([DIGEST, GROUP]))
def test_every_item_is_in_exactly_one_window_that_ends(steps: list[tuple[str, int]], key: str) -> None:
    """The union over all windows is complete: what the timers bring back empties everything (DIG-01, DIG-07)."""
    now = NOW
    known: dict[int, Window] = {}
    timers: dict[int, PutTimerV1] = {}
    held: dict[int, list[int]] = {}
    sent: list[int] = []
    for number, (what, pause) in enumerate([*steps, *[("tick", HOUR)] * 4]):
        now += pause
        if what == "item":
            until = now - now % HOUR + HOUR if key == DIGEST else now + LIMITS.wait_ms
            step = add(*known.values(), verdict=collect(key, until), now=now)
            known[step.window.number] = step.window
            timers |= {} if step.timer is None else {step.window.number: step.timer}
            held.setdefault(step.window.number, []).append(number)
        for at in [at for at, timer in timers.items() if timer.due_at <= now]:
            flush = flush_of(timers.pop(at))
            off = put_off(known[flush.number], now, None)
            if off is not None:
                known[at], timers[at] = off, timer_of(off)
                continue
            known[at] = closed(known[at], now)
            assert len(held.get(at, [])) <= LIMITS.max_size
            sent += held.pop(at, [])
    assert sorted(sent) == [number for number, (what, _) in enumerate(steps) if what == "item"]
    assert held == {}
