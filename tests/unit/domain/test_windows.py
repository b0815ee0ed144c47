"""Which window an item waits in, when that ends, and what puts it off."""

from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from notify_streams.domain import windows
from notify_streams.domain.windows import added, closed, postponed, replanned, standing, timer_of
from schemas.catalogue import Windows
from schemas.decisions import Collect
from schemas.notifications import FlushV1, decode_notification_or_flush
from schemas.timers import PutTimerV1
from schemas.user_state import EMPTY, UserState, Window
from schemas.words import Reason
from tests.builders import DAY, HOUR, MINUTE, NOW, a_catalogue, a_profile

LIMITS = Windows(wait_ms=5 * MINUTE, max_wait_ms=12 * MINUTE, max_size=4)
DIGEST = windows.digest_of("orders")
GROUP = windows.group_of("social.like", "post:9")


def collect(window: str = DIGEST, until: int = NOW + HOUR) -> Collect:
    reason = Reason.DIGEST if windows.is_digest(window) else Reason.AGGREGATED
    return Collect(channel="email", window=window, until=until, reason=reason)


def add(state: UserState = EMPTY, verdict: Collect | None = None, now: int = NOW, size: int = 1) -> windows.Added:
    return added(state, verdict or collect(), size=size, lane="low", tenant="", now=now, limits=LIMITS)


def the_window(state: UserState) -> Window:
    [window] = state.windows.values()
    return window


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
    step = add(add().state, now=NOW + 1)
    assert (step.window.number, step.window.count, step.timer) == (NOW, 2, None)


def test_a_digest_that_is_wanted_sooner_ends_sooner() -> None:
    step = add(add().state, collect(until=NOW + MINUTE), NOW + 1)
    assert step.timer is not None
    assert (step.timer.due_at, step.timer.revision) == (NOW + MINUTE, 1)


def test_an_aggregation_waits_for_the_next_item_but_not_for_ever() -> None:
    """Five minutes after the last, twelve after the first at most; its timer is put off when it comes."""
    step = add(EMPTY, collect(GROUP, NOW + 5 * MINUTE))
    later = add(step.state, collect(GROUP, NOW + 9 * MINUTE), NOW + 4 * MINUTE)
    assert (later.window.due_at, later.timer) == (NOW + 9 * MINUTE, None)
    last = add(later.state, collect(GROUP, NOW + 13 * MINUTE), NOW + 8 * MINUTE)
    assert last.window.due_at == NOW + 12 * MINUTE

    off = postponed(last.state, flush_of(step.timer), NOW + 5 * MINUTE)
    assert off is not None
    assert off.timer is not None
    assert (off.timer.due_at, off.timer.revision) == (NOW + 12 * MINUTE, 1)
    assert postponed(off.state, flush_of(off.timer), NOW + 12 * MINUTE) is None


def test_a_full_window_ends_at_once_and_the_next_item_opens_another() -> None:
    state = EMPTY
    for number in range(LIMITS.max_size):
        step = add(state, now=NOW + number)
        state = step.state
    assert step.timer is not None
    assert (step.timer.due_at, step.timer.revision) == (NOW + 3, 1)
    assert postponed(state, flush_of(step.timer), NOW + 3) is None
    assert add(state, now=NOW + 4).window.number == NOW + 4


def test_a_window_of_a_mebibyte_is_full() -> None:
    step = add(add().state, now=NOW + 1, size=1 << 20)
    assert step.window.due_at == NOW + 1
    assert add(step.state, now=NOW + 2).window.number == NOW + 2


def test_numbers_only_grow_even_within_a_millisecond() -> None:
    state = EMPTY
    numbers = []
    for _ in range(3):
        step = add(state)
        numbers.append(step.window.number)
        state, _ = closed(step.state, flush_of(timer_of(step.window)), NOW)
    assert numbers == [NOW, NOW + 1, NOW + 2]


def test_an_item_that_comes_while_its_window_ends_is_in_the_next_one() -> None:
    """DIG-07: at the closing instant, a millisecond before and after, each is in exactly one."""
    before = add(add().state, now=NOW + HOUR - 1)
    state, at = closed(before.state, flush_of(timer_of(before.window)), NOW + HOUR)
    assert at == NOW + HOUR
    for now in (NOW + HOUR, NOW + HOUR + 1):
        step = add(state, collect(until=NOW + 2 * HOUR), now)
        state = step.state
        assert step.window.number == NOW + HOUR
    assert step.window.count == 2


def test_a_window_is_closed_once_whenever_its_end_is_met_again() -> None:
    step = add()
    flush = flush_of(step.timer)
    state, first = closed(step.state, flush, NOW + HOUR)
    again, second = closed(state, flush, NOW + 2 * HOUR)
    assert (first, second) == (NOW + HOUR, NOW + HOUR)
    assert again is state
    assert postponed(state, flush, NOW) is None


def test_the_end_of_a_window_that_rolled_over_leaves_the_next_one_open() -> None:
    old = flush_of(add().timer)
    rolled = add(msgspec.structs.replace(EMPTY, windows=_full()), now=NOW + 9)
    state, _ = closed(rolled.state, old, NOW + 10)
    assert the_window(state).closed_at == 0


def _full() -> dict[bytes, Window]:
    state = EMPTY
    for number in range(LIMITS.max_size):
        state = add(state, now=NOW + number).state
    return state.windows


def test_an_item_met_again_puts_the_timer_of_its_window_again_while_that_is_open() -> None:
    step = add()
    assert standing(step.state, collect()) == step.timer
    state, _ = closed(step.state, flush_of(step.timer), NOW + HOUR)
    assert standing(state, collect()) is None
    assert standing(EMPTY, collect()) is None


def test_closed_windows_are_forgotten_a_day_later() -> None:
    step = add()
    state, _ = closed(step.state, flush_of(step.timer), NOW + HOUR)
    other = add(state, collect(GROUP), NOW + 2 * DAY)
    after, _ = closed(other.state, flush_of(other.timer), NOW + 2 * DAY + 1)
    assert [w.key for w in after.windows.values()] == [GROUP]


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
    state = msgspec.structs.replace(EMPTY, windows={windows.key_of("email", DIGEST): opened})
    after, [timer] = replanned(state, a_profile(**changes), a_catalogue(), NOW)
    assert the_window(after).due_at == until
    assert (timer.due_at, timer.revision) == (until, 1)
    again, [same] = replanned(after, a_profile(**changes), a_catalogue(), NOW)
    assert (again, same) == (after, timer)


def test_the_end_of_an_aggregation_is_nobodys_choice() -> None:
    state = add(EMPTY, collect(GROUP)).state
    after, [timer] = replanned(state, a_profile(**DAILY), a_catalogue(), NOW)
    assert after is state
    assert timer.revision == 0


STEPS = st.lists(st.tuples(st.sampled_from(["item", "item", "item", "tick"]), st.integers(0, 7 * MINUTE)), max_size=60)


@given(STEPS, st.sampled_from([DIGEST, GROUP]))
def test_every_item_is_in_exactly_one_window_that_ends(steps: list[tuple[str, int]], key: str) -> None:
    """The union over all windows is complete: what the timers bring back empties everything (DIG-01, DIG-07)."""
    state, now = EMPTY, NOW
    timers: dict[str, PutTimerV1] = {}
    held: dict[int, list[int]] = {}
    sent: list[int] = []
    for number, (what, pause) in enumerate([*steps, *[("tick", HOUR)] * 4]):
        now += pause
        if what == "item":
            until = now - now % HOUR + HOUR if key == DIGEST else now + LIMITS.wait_ms
            step = add(state, collect(key, until), now)
            state, timers = step.state, timers | ({} if step.timer is None else {step.timer.timer_id: step.timer})
            held.setdefault(step.window.number, []).append(number)
        for timer in [t for t in timers.values() if t.due_at <= now]:
            del timers[timer.timer_id]
            flush = flush_of(timer)
            off = postponed(state, flush, now)
            if off is not None and off.timer is not None:
                state, timers[off.timer.timer_id] = off.state, off.timer
                continue
            state, _ = closed(state, flush, now)
            assert len(held.get(flush.number, [])) <= LIMITS.max_size
            sent += held.pop(flush.number, [])
    assert sorted(sent) == [number for number, (what, _) in enumerate(steps) if what == "item"]
    assert held == {}
