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


class Expire(msgspec.Struct, frozen=True):
    """The next attempt would come too late."""


NextStep = Finish | Fail | Exhausted | RetryAt | SettleAt | Expire
_BEFORE_EXPIRY_MS = 1000


def next_step(
    answer: Answer, *, attempt: int, expires_at: int, now: int, jitter: float, policy: RetryPolicy, repeatable: bool
) -> NextStep:
    """Decide what follows attempt number `attempt` (counted from 1). Instants in ms.

    `jitter` in [0, 1) spreads a delay over its upper half. `repeatable`: the provider honours an idempotency key,
    so an unknown outcome may be resent like any other failure.
    """
    match answer:
        case Sent():
            return Finish()
        case EndpointGone():
            return Fail(Reason.ENDPOINT_GONE)
        case Refused():
            return Fail(Reason.REFUSED)
        case Unknown() if not repeatable:
            return _settle(attempt, expires_at, now, policy)
        case TryLater() | Unknown() | Misconfigured():
            if attempt >= policy.attempts:
                return Exhausted()
            backoff = min(policy.cap_ms, policy.base_ms * 2 ** min(attempt - 1, 40)) * (1 + jitter) / 2
            told = (answer.retry_after or 0) * 1000 if isinstance(answer, TryLater) else 0
            delay = max(backoff, told)
            # Compared before it is made an integer: a provider may name any number of seconds.
            return RetryAt(now + ceil(delay)) if delay <= expires_at - now - 1 else Expire()
        case _:
            assert_never(answer)


def _settle(attempt: int, expires_at: int, now: int, policy: RetryPolicy) -> NextStep:
    """After the lock's time, or just before it expires; an attempt that came so late is over."""
    if attempt >= policy.attempts:
        return Exhausted()
    due = min(now + policy.lock_ms, expires_at - _BEFORE_EXPIRY_MS)
    return SettleAt(due) if due > now else Fail(Reason.UNKNOWN_OUTCOME)
