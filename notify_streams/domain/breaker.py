"""A circuit breaker as a value: closed lets calls through, open none, half-open one that tries; then a slow start."""

from typing import Literal, assert_never

import msgspec

from notify_streams.domain.answers import Answer, EndpointGone, Misconfigured, Refused, Sent, TryLater, Unknown

State = Literal["closed", "open", "half_open"]
Verdict = Literal["good", "bad", "neither", "forbidden"]


class BreakerPolicy(msgspec.Struct, frozen=True):
    """When it opens: `failures` in a row, or `share` of at least `of` answers within `window_ms`.

    It stays open for `open_ms`, twice as long each time it opens again, at most `most_open_ms`; after a refusal of our
    credentials `forbidden_ms` at once. `probes` calls try a half-open one. After that `ramp` calls at a time, doubled
    whenever as many have gone well, until `full`.
    """

    failures: int = 5
    share: float = 0.5
    of: int = 20
    window_ms: int = 30_000
    open_ms: int = 5_000
    most_open_ms: int = 300_000
    forbidden_ms: int = 60_000
    probes: int = 1
    ramp: int = 2
    full: int = 1024
    probe_ms: int = 60_000


class Breaker(msgspec.Struct, frozen=True):
    """Instants in ms. `under_way` calls have a permit; `at_most` may have one, 0 for any number."""

    policy: BreakerPolicy = BreakerPolicy()
    state: State = "closed"
    in_a_row: int = 0
    good: int = 0
    bad: int = 0
    since: int = 0
    opens_at: int = 0
    times: int = 0
    under_way: int = 0
    at_most: int = 0
    went_well: int = 0
    asked_at: int = 0


CLOSED = Breaker()
_replace = msgspec.structs.replace


def verdict_of(answer: Answer) -> Verdict:
    """What an answer says of the provider. That it throttles one endpoint, or refuses one message, says nothing."""
    match answer:
        case Sent():
            return "good"
        case Misconfigured():
            return "forbidden"
        case Unknown():
            return "bad"
        case TryLater(about=about):
            return "bad" if about == "provider" else "neither"
        case EndpointGone() | Refused():
            return "neither"
        case _:
            assert_never(answer)


def state_of(breaker: Breaker, now: int) -> State:
    """Open until `opens_at`, then half-open until a call has tried it."""
    return "half_open" if breaker.state == "open" and now >= breaker.opens_at else breaker.state


def may_call(breaker: Breaker, now: int) -> tuple[Breaker, bool]:
    """Whether a call may be made at `now` (ms); if so it is under way until it is `heard` or `given_back`.

    A probe of which nothing was heard for `probe_ms` is forgotten.
    """
    if breaker.state == "closed" and not breaker.at_most:
        return _replace(breaker, under_way=breaker.under_way + 1), True
    state = state_of(breaker, now)
    if state == "open":
        return breaker, False
    if state == "half_open" and (breaker.state == "open" or now - breaker.asked_at >= breaker.policy.probe_ms):
        breaker = _replace(breaker, state="half_open", under_way=0, at_most=breaker.policy.probes)
    if breaker.under_way >= breaker.at_most:
        return breaker, False
    return _replace(breaker, under_way=breaker.under_way + 1, asked_at=now), True


def given_back(breaker: Breaker) -> Breaker:
    """The permit was not used."""
    return _replace(breaker, under_way=max(0, breaker.under_way - 1))


def heard(breaker: Breaker, verdict: Verdict, now: int, jitter: float = 0.0, until: int | None = None) -> Breaker:
    """The answer to a call that had a permit. `jitter` in [0, 1) lengthens an opening by at most a quarter.

    `until` (ms) is when the provider asks to be called again, where it does. In the half-open state an answer that
    says nothing of the provider decides nothing: another call tries (pinned: a 400 is neither success nor failure).
    """
    breaker = given_back(breaker)
    match verdict:
        case "forbidden":
            return _opened(breaker, now + breaker.policy.forbidden_ms, until)
        case "good":
            return _went_well(breaker, now)
        case "neither":
            return breaker
        case "bad":
            return _went_badly(breaker, now, jitter, until)


def _went_well(breaker: Breaker, now: int) -> Breaker:
    policy = breaker.policy
    if breaker.state == "open":  # an answer to a call from before it opened
        return breaker
    if breaker.state == "half_open":
        return Breaker(policy, since=now, times=breaker.times, under_way=breaker.under_way, at_most=policy.ramp)
    breaker = _counted(breaker, now, good=1)
    if not breaker.at_most:
        return breaker
    well = breaker.went_well + 1
    if well < breaker.at_most:
        return _replace(breaker, went_well=well)
    wider = breaker.at_most * 2
    return _replace(
        breaker,
        went_well=0,
        at_most=0 if wider >= policy.full else wider,
        times=0 if wider >= policy.full else breaker.times,
    )


def _went_badly(breaker: Breaker, now: int, jitter: float, until: int | None) -> Breaker:
    policy = breaker.policy
    if breaker.state == "open":
        return _replace(breaker, opens_at=max(breaker.opens_at, until or 0))
    breaker = _counted(breaker, now, bad=1)
    many = breaker.good + breaker.bad >= policy.of and breaker.bad >= policy.share * (breaker.good + breaker.bad)
    if breaker.state == "closed" and breaker.in_a_row < policy.failures and not many and not breaker.at_most:
        return breaker
    lasts = min(policy.most_open_ms, policy.open_ms * 2 ** min(breaker.times, 20))
    return _opened(breaker, now + round(lasts * (1 + jitter / 4)), until)


def _counted(breaker: Breaker, now: int, *, good: int = 0, bad: int = 0) -> Breaker:
    if now - breaker.since >= breaker.policy.window_ms:
        breaker = _replace(breaker, since=now, good=0, bad=0)
    in_a_row = breaker.in_a_row + 1 if bad else 0
    return _replace(breaker, in_a_row=in_a_row, good=breaker.good + good, bad=breaker.bad + bad)


def _opened(breaker: Breaker, opens_at: int, until: int | None) -> Breaker:
    return Breaker(
        breaker.policy,
        state="open",
        opens_at=max(opens_at, until or 0),
        times=breaker.times + 1,
    )
