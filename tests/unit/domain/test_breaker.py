"""When a provider is left alone, who tries it, and how calls come back."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from notify_streams.domain.answers import (
    Answer,
    EndpointGone,
    Misconfigured,
    Refused,
    Sent,
    TryLater,
    Unknown,
)
from notify_streams.domain.breaker import (
    CLOSED,
    Breaker,
    BreakerPolicy,
    Verdict,
    given_back,
    heard,
    may_call,
    state_of,
    verdict_of,
)

NOW = 1_790_000_000_000
BAD_THEN_GOOD: list[Verdict] = ["bad", "good"]
GOOD_THEN_BAD: list[Verdict] = ["good", "bad"]
POLICY = BreakerPolicy(failures=3, open_ms=1000, most_open_ms=8000, ramp=2, full=16, probe_ms=60_000)


def told(breaker: Breaker, *verdicts: Verdict, now: int = NOW) -> Breaker:
    """After calls that ended so."""
    for verdict in verdicts:
        breaker, allowed = may_call(breaker, now)
        assert allowed
        breaker = heard(breaker, verdict, now)
    return breaker


def opened() -> Breaker:
    return told(Breaker(POLICY), "bad", "bad", "bad")


def permits(breaker: Breaker, wanted: int, now: int) -> tuple[Breaker, int]:
    """How many of so many calls are let through."""
    got = 0
    for _ in range(wanted):
        breaker, allowed = may_call(breaker, now)
        got += allowed
    return breaker, got


@pytest.mark.parametrize(
    ("answer", "verdict"),
    [
        (Sent("m"), "good"),
        (TryLater("503", about="provider"), "bad"),
        (TryLater("greylisted"), "neither"),
        (EndpointGone("410"), "neither"),
        (Refused("400"), "neither"),
        (Unknown("reset"), "bad"),
        (Misconfigured("401"), "forbidden"),
    ],
)
def test_only_what_is_about_the_provider_counts(answer: Answer, verdict: Verdict) -> None:
    assert verdict_of(answer) == verdict


def test_it_opens_after_failures_in_a_row_and_closes_to_all() -> None:
    assert state_of(told(Breaker(POLICY), "bad", "bad", "good", "bad", "bad"), NOW) == "closed"
    breaker = opened()
    assert state_of(breaker, NOW) == "open"
    assert permits(breaker, 500, NOW + 999)[1] == 0


def test_it_opens_when_half_of_many_fail_though_never_many_in_a_row() -> None:
    assert state_of(told(CLOSED, *(BAD_THEN_GOOD * 9)), NOW) == "closed"
    assert state_of(told(CLOSED, *(BAD_THEN_GOOD * 10)), NOW) == "closed"
    assert state_of(told(CLOSED, *(GOOD_THEN_BAD * 10)), NOW) == "open"


def test_failures_of_long_ago_do_not_count() -> None:
    breaker = told(CLOSED, *(BAD_THEN_GOOD * 9))
    later = NOW + CLOSED.policy.window_ms
    assert state_of(told(breaker, "bad", "bad", now=later), later) == "closed"


def test_half_open_lets_one_probe_through_while_500_wait() -> None:
    """FAIR-05: the probe takes three seconds, fails once, later succeeds; then calls come back step by step."""
    breaker, at = opened(), NOW + 1000
    breaker, first = permits(breaker, 500, at)
    assert first == 1
    breaker, meanwhile = permits(breaker, 500, at + 2999)
    assert meanwhile == 0
    breaker = heard(breaker, "bad", at + 3000)
    assert permits(breaker, 500, at + 3000)[1] == 0
    assert breaker.opens_at == at + 3000 + 2000  # twice as long as before
    breaker, second = permits(breaker, 500, breaker.opens_at)
    assert second == 1
    breaker = heard(breaker, "good", at + 9000)
    widths = []
    for _ in range(3):
        breaker, got = permits(breaker, 500, at + 9000)
        widths.append(got)
        for _ in range(got):
            breaker = heard(breaker, "good", at + 9000)
    assert widths == [2, 4, 8]
    assert permits(breaker, 500, at + 9001)[1] == 500


def test_a_failure_while_it_starts_again_opens_it_for_longer() -> None:
    breaker, _ = may_call(opened(), NOW + 1000)
    breaker = heard(breaker, "good", NOW + 1000)
    breaker = told(breaker, "bad", now=NOW + 1001)
    assert (state_of(breaker, NOW + 1002), breaker.opens_at) == ("open", NOW + 1001 + 2000)


def test_a_refused_message_decides_nothing_about_a_half_open_one() -> None:
    """Pinned 10: a 400 is neither success nor failure, so the next message is the probe."""
    breaker, _ = may_call(opened(), NOW + 1000)
    breaker = heard(breaker, "neither", NOW + 1100)
    assert state_of(breaker, NOW + 1100) == "half_open"
    assert permits(breaker, 9, NOW + 1100)[1] == 1


def test_a_probe_that_is_never_heard_of_does_not_shut_it_for_ever() -> None:
    breaker, _ = may_call(opened(), NOW + 1000)
    assert permits(breaker, 9, NOW + 1000 + POLICY.probe_ms - 1)[1] == 0
    assert permits(breaker, 9, NOW + 1000 + POLICY.probe_ms)[1] == 1


def test_a_permit_that_is_not_used_is_free_again() -> None:
    breaker, _ = may_call(opened(), NOW + 1000)
    assert permits(given_back(breaker), 9, NOW + 1000)[1] == 1


def test_a_refusal_of_our_credentials_opens_it_at_once() -> None:
    breaker = told(Breaker(POLICY), "forbidden")
    assert (state_of(breaker, NOW), breaker.opens_at) == ("open", NOW + POLICY.forbidden_ms)


def test_what_the_provider_asks_for_is_obeyed_and_a_late_answer_does_not_close_it() -> None:
    breaker, _ = may_call(Breaker(POLICY), NOW)
    breaker, _ = may_call(breaker, NOW)
    breaker = heard(told(breaker, "bad", "bad"), "bad", NOW, until=NOW + 120_000)
    assert breaker.opens_at == NOW + 120_000
    assert state_of(heard(breaker, "good", NOW + 1), NOW + 2) == "open"


def test_openings_get_longer_up_to_a_limit_and_are_spread() -> None:
    breaker, at, lengths = opened(), NOW, []
    for _ in range(5):
        at = breaker.opens_at
        breaker, _ = may_call(breaker, at)
        breaker = heard(breaker, "bad", at, jitter=0.0)
        lengths.append(breaker.opens_at - at)
    assert lengths == [2000, 4000, 8000, 8000, 8000]
    breaker, _ = may_call(breaker, breaker.opens_at)
    assert heard(breaker, "bad", at, jitter=0.8).opens_at - at == 9600


@given(
    st.lists(st.tuples(st.sampled_from(["good", "bad", "neither", "forbidden"]), st.integers(0, 20_000)), max_size=80)
)
def test_it_always_lets_somebody_through_again(calls: list[tuple[Verdict, int]]) -> None:
    breaker, now = Breaker(POLICY), NOW
    for verdict, later in calls:
        now += later
        breaker, allowed = may_call(breaker, now)
        if allowed:
            breaker = heard(breaker, verdict, now)
        assert breaker.under_way == 0
    assert may_call(breaker, now + POLICY.most_open_ms + POLICY.forbidden_ms + POLICY.probe_ms)[1]
