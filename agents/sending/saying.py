"""From a claim or an answer to what follows: the rules of a channel applied to one delivery."""

from collections.abc import Callable, Sequence

import msgspec

from agents.clock import Clock
from agents.sending import ends
from agents.sending.ends import Said
from agents.sending.jobs import End, Job
from agents.sending.lines import Line, Lines
from agents.sending.waits import Waits
from notify_streams.domain import outcomes
from notify_streams.domain.answers import Answer, Unknown
from notify_streams.domain.retry import RetryPolicy, fails_over, next_step, rests_until
from notify_streams.metrics import DUPLICATES, PROVIDER_TROUBLE
from notify_streams.ports import Claim
from schemas.deliveries import DeliveryV1
from schemas.outcomes import OutcomeV1
from schemas.words import Lane, Reason


class Terms(msgspec.Struct, frozen=True, kw_only=True):
    """What a channel's deliveries are sent on. `attempt_s` is the longest that a provider promises to take."""

    policy: RetryPolicy
    deliver_only_to: Sequence[str] = ()
    rests_after_full_ms: int = 86_400_000
    attempt_s: float = 20.0
    batch_s: float = 25.0  # and an attempt: 45 s in all
    hold_s: float = 15.0
    slot_s: float = 2.0


class Saying:
    """What is said of the deliveries of one lane."""

    def __init__(
        self, terms: Terms, lane: Lane, lines: Lines, waits: Waits, *, jitter: Callable[[], float], clock: Clock
    ) -> None:
        self._terms, self._lane, self._lines, self._waits = terms, lane, lines, waits
        self._jitter, self._clock = jitter, clock

    def claimed(self, job: Job, claim: Claim) -> End | None:
        """What follows from a claim; None where the delivery is this process's to call for."""
        delivery = job.delivery
        match claim.status:
            case "mine":
                return None
            case "done":
                DUPLICATES.labels(stage=f"sender-{delivery.channel}").inc()
                return End() if claim.outcome is None else self.said(delivery, claim.outcome, repeated=True)
            case "settled":
                known = outcomes.settled(delivery, claim.provider, claim.message_id, claim.attempt, claim.since)
                return self.said(delivery, known)
            case "unknown":
                line = self._lines.named(claim.provider)
                unknown = Unknown("its process ended during the call")
                return self.said(delivery, self.outcome(delivery, unknown, line, claim.since))

    def put_off(self, job: Job, reason: Reason = Reason.HELD, *, opens_at: int = 0, held: bool = False) -> End:
        """Not an attempt: it comes back as it is, and its status says until when it is put off.

        At once where the process stops or its partitions move; after the hold where it is `held`.
        """
        now, delivery = self._clock(), job.delivery
        if held:
            due_at = now + round(self._terms.hold_s * 1000)
        elif self._waits.interrupted():
            due_at = now
        else:
            jitter = self._jitter()
            due_at = rests_until(delivery.decided_at, delivery.expires_at, now, jitter, not_before=opens_at)
        return ends.put_off(delivery, due_at, now, reason)

    def outcome(
        self,
        delivery: DeliveryV1,
        answer: Answer,
        line: Line,
        now: int,
        *,
        counts: bool = True,
        another_left: bool = False,
    ) -> OutcomeV1:
        """What an answer comes to. `counts`: the attempt counts against the limit; see `retry.next_step`."""
        step = next_step(
            answer,
            attempt=delivery.attempt,
            expires_at=delivery.expires_at,
            now=now,
            jitter=self._jitter(),
            policy=self._terms.policy,
            repeatable=line.provider.repeatable,
            uncounted=delivery.uncounted + (not counts),
            another_left=another_left,
            not_before=line.standing.opens_at(self._lane, now) if fails_over(answer) else 0,
        )
        return outcomes.of_answer(delivery, answer, step, line.provider.name, now)

    def not_tried(self, delivery: DeliveryV1, reason: Reason, detail: str) -> End:
        """It ends without a call."""
        return self.said(delivery, outcomes.not_tried(delivery, reason, detail, self._clock()))

    def said(
        self,
        delivery: DeliveryV1,
        outcome: OutcomeV1,
        *,
        counts: bool = True,
        since: int | None = None,
        repeated: bool = False,
    ) -> End:
        """An outcome with all that follows. No address is removed while its provider calls too many dead."""
        keeps = outcome.reason is Reason.ENDPOINT_GONE and self._lines.named(outcome.provider).standing.is_surging(
            self._clock()
        )
        if keeps and not repeated:
            PROVIDER_TROUBLE.labels(provider=outcome.provider, trouble="gone_kept").inc()
        rests_ms = self._terms.rests_after_full_ms
        said = Said(rests_ms=rests_ms, counts=counts, since=since, keeps=keeps, is_repeated=repeated)
        return ends.of(delivery, outcome, said)
