"""Metrics of a sender: each end and each call once; what is only said again was counted when it happened."""

from functools import lru_cache

from prometheus_client import Counter, Histogram

from agents.sending.jobs import End, Job
from notify_streams.metrics import ATTEMPTS, DELIVERIES, DELIVERY_ATTEMPTS, END_TO_END
from schemas.outcomes import OutcomeV1


class Counting:
    """Looks up each labelled metric once."""

    def __init__(self) -> None:
        self._deliveries = lru_cache(maxsize=512)(_deliveries)
        self._attempts = lru_cache(maxsize=512)(_attempts)
        self._taken = lru_cache(maxsize=512)(_taken)
        self._took = lru_cache(maxsize=64)(_took)

    def end(self, job: Job, end: End) -> None:
        """One job is over."""
        outcome = end.outcome
        if end.is_repeated:
            return
        if outcome is None:
            if end.back is not None:
                self._deliveries(job.delivery.channel, "decided_again").inc()
            return
        self._deliveries(outcome.channel, outcome.state).inc()
        if outcome.provider:
            self._attempts(outcome.channel, outcome.provider, outcome.state).inc()
        if outcome.next_at is None:
            self._taken(outcome.channel, outcome.state).observe(outcome.attempt)
        if outcome.state == "sent":
            self._observe(job, outcome)

    def _observe(self, job: Job, outcome: OutcomeV1) -> None:
        since = job.delivery.due_at or job.delivery.accepted_at
        deferred = "no" if job.delivery.due_at is None else "yes"
        self._took(outcome.channel, outcome.lane, deferred).observe(max(0, outcome.at - since) / 1000)


def _deliveries(channel: str, state: str) -> Counter:
    return DELIVERIES.labels(channel=channel, state=state)


def _attempts(channel: str, provider: str, state: str) -> Counter:
    return ATTEMPTS.labels(channel=channel, provider=provider, outcome=state)


def _taken(channel: str, state: str) -> Histogram:
    return DELIVERY_ATTEMPTS.labels(channel=channel, outcome=state)


def _took(channel: str, lane: str, deferred: str) -> Histogram:
    return END_TO_END.labels(channel=channel, lane=lane, deferred=deferred)
