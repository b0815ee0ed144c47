"""What follows an attempt."""

from math import ceil
from typing import assert_never

import msgspec

from notify_streams.domain.answers import Answer, EndpointGone, Misconfigured, Refused, Sent, TryLater, Unknown
from schemas.words import Reason


class RetryPolicy(msgspec.Struct, frozen=True):
    """A channel's schedule: delays double from `base_ms` to `cap_ms`; `lock_ms` is how long an unknown one rests."""

    base_ms: int
    cap_ms: int
    attempts: int
    lock_ms: int


class Finish(msgspec.Struct, frozen=True):
    """The provider took it."""


class Fail(msgspec.Struct, frozen=True):
    """Over for good; nobody can mend it by sending it again."""

    reason: Reason


class Exhausted(msgspec.Struct, frozen=True):
    """The last attempt failed too: a failed delivery and a dead letter."""


class RetryAt(msgspec.Struct, frozen=True):
    """Try again at `due_at` (ms)."""

    due_at: int


class SettleAt(msgspec.Struct, frozen=True):
    """Nobody knows; at `due_at` (ms) it is tried once more unless a receipt has settled it."""

    due_at: int


class FailOver(msgspec.Struct, frozen=True):
    """At once by another provider of the chain."""


class Expire(msgspec.Struct, frozen=True):
    """The next attempt would come too late."""


NextStep = Finish | Fail | Exhausted | RetryAt | SettleAt | FailOver | Expire
MOST_PAUSE_MS = 3_600_000  # longer than any provider means it: one that is told more of is asked again by then
_BEFORE_EXPIRY_MS = 1000
_SPREAD_MS = 45_000
_LEAST_REST_MS, _MOST_REST_MS, _OF_ITS_AGE = 2_000, 300_000, 4
_REFUSED: dict[str, Reason] = {
    "mailbox_full": Reason.MAILBOX_FULL,
    "sender": Reason.SENDER_BLOCKED,
    "opted_out": Reason.RECIPIENT_OPTED_OUT,
}


def next_step(
    answer: Answer,
    *,
    attempt: int,
    expires_at: int,
    now: int,
    jitter: float,
    policy: RetryPolicy,
    repeatable: bool,
    uncounted: int = 0,
    another_left: bool = False,
    not_before: int = 0,
) -> NextStep:
    """Decide what follows attempt number `attempt` (counted from 1). Instants in ms.

    `jitter` in [0, 1) spreads a delay over its upper half. `repeatable`: the provider honours an idempotency key,
    so an unknown outcome may be resent like any other failure. `uncounted` attempts, this one perhaps among them, do
    not count against the limit. `another_left`: another provider could take it now; it is asked where it is the
    provider that cannot, and not the endpoint. What is refused for our credentials has no limit but its deadline.
    `not_before`: the provider takes no calls until then. Whoever waits for a provider waits in a crowd: what is due at
    the same instant is spread over three quarters of a minute more.
    """
    counted = attempt - uncounted
    match answer:
        case Sent():
            return Finish()
        case EndpointGone():
            return Fail(Reason.ENDPOINT_GONE)
        case Refused():
            return Fail(_REFUSED.get(answer.about, Reason.REFUSED))
        case Unknown() if not repeatable:
            return _settle(counted, expires_at, now, policy)
        case TryLater() | Unknown() | Misconfigured():
            if another_left and fails_over(answer):
                return FailOver()
            if counted >= policy.attempts and not isinstance(answer, Misconfigured):
                return Exhausted()
            backoff = min(policy.cap_ms, policy.base_ms * 2 ** min(attempt - 1, 40)) * (1 + jitter) / 2
            told = (answer.retry_after or 0) * 1000 if isinstance(answer, TryLater) else 0
            delay = max(backoff, told)
            # Compared before it is made an integer: a provider may name any number of seconds.
            if not delay <= expires_at - now - 1:
                return Expire()
            closed_for = not_before - now
            spread = jitter * _SPREAD_MS if told > backoff or closed_for > 0 else 0
            return RetryAt(min(now + ceil(max(delay, closed_for) + spread), expires_at - 1))
        case _:
            assert_never(answer)


def fails_over(answer: Answer) -> bool:
    """Whether another provider may fare better; never where this one may have taken it."""
    return isinstance(answer, Misconfigured) or (isinstance(answer, TryLater) and answer.about == "provider")


def pause_ms(answer: Answer) -> int:
    """How long everybody leaves the provider alone, because it has asked for it: 0 where it has not."""
    if not isinstance(answer, TryLater) or answer.about != "provider" or not (answer.retry_after or 0) > 0:
        return 0
    return ceil(min((answer.retry_after or 0) * 1000, MOST_PAUSE_MS))


def rests_until(decided_at: int, expires_at: int, now: int, jitter: float, *, not_before: int = 0) -> int:
    """When to come back with what could not be tried: the longer it waits already the later, so that a long outage
    makes few rounds; never after `expires_at`, where it ends. Instants in ms.

    `not_before`: nobody takes it until then; all that wait for that are spread as after a failed attempt.
    """
    closed_for = max(0, not_before - now)
    rest = max(_LEAST_REST_MS, closed_for, min((now - decided_at) // _OF_ITS_AGE, _MOST_REST_MS))
    spread = max(rest, _SPREAD_MS) if closed_for else rest
    return max(now, min(now + round(rest + spread * jitter), expires_at))


def _settle(attempt: int, expires_at: int, now: int, policy: RetryPolicy) -> NextStep:
    """After the lock's time, or just before it expires; an attempt that came so late is over."""
    if attempt >= policy.attempts:
        return Exhausted()
    due = min(now + policy.lock_ms, expires_at - _BEFORE_EXPIRY_MS)
    return SettleAt(due) if due > now else Fail(Reason.UNKNOWN_OUTCOME)
