"""What a mail sender does with one batch: claim, gate, render, call in waves, say how it ended."""

import asyncio
import logging
from collections.abc import Callable, Sequence
from typing import assert_never

import msgspec
from faust.types import EventT

from agents.clock import Clock, wall_clock
from notify_streams.domain import outcomes
from notify_streams.domain.answers import Answer, TryLater, Unknown
from notify_streams.domain.gate import DecideAgain, Ended, Send, may_still_send
from notify_streams.domain.rendered import TemplateFailed
from notify_streams.domain.retry import RetryPolicy, next_step
from notify_streams.domain.send_back import send_back
from notify_streams.metrics import BYPASSED, DUPLICATES, PROVIDER_SECONDS
from notify_streams.ports import Claim, DeliveryKeys, Message, Provider, Renderer, Unavailable
from schemas.deliveries import DeliveryV1
from schemas.notifications import NotificationV1
from schemas.outcomes import OutcomeV1
from schemas.stops import Gate
from schemas.timers import PutTimerV1
from schemas.words import Reason

log = logging.getLogger(__name__)
BATCH_S, HOLD_S, HOLD_STEP_S = 25.0, 15.0, 0.25  # the last wave may take an attempt's 20 s more: 45 s in all


class Job(msgspec.Struct, eq=False):
    """One delivery of the batch on its way; `message` once it is rendered, `repeated` when it had ended before."""

    event: EventT[bytes]
    delivery: DeliveryV1
    message: Message | None = None
    repeated: bool = False


class Results(msgspec.Struct):
    """What follows from a batch.

    `dead` are those that used up their attempts, or could not be rendered. `again` are those given back to be decided
    again: nothing is said of them here, since no attempt was made and none has ended.
    """

    outcomes: list[tuple[Job, OutcomeV1]] = []
    timers: list[tuple[Job, PutTimerV1]] = []
    dead: list[tuple[Job, OutcomeV1]] = []
    again: list[tuple[Job, NotificationV1]] = []


class Sender:
    """One per process and channel; its collaborators are ports. `gate` is asked by partition and user id."""

    def __init__(
        self,
        provider: Provider,
        renderer: Renderer,
        keys: DeliveryKeys,
        own_memory: DeliveryKeys,
        policy: RetryPolicy,
        *,
        concurrency: int,
        deliver_only_to: Sequence[str],
        gate: Callable[[int, bytes], Gate],
        jitter: Callable[[], float],
        interrupted: Callable[[], bool],
        clock: Clock = wall_clock,
    ) -> None:
        self.provider, self.renderer, self.policy, self.clock = provider, renderer, policy, clock
        self._keys, self._own_memory = keys, own_memory
        self._concurrency, self._deliver_only_to, self._gate = concurrency, deliver_only_to, gate
        self._jitter, self._interrupted = jitter, interrupted

    async def work(self, jobs: Sequence[Job], *, hold: bool) -> Results:
        """Bring every job to an outcome, a timer, or back to its decision.

        `hold`: without Redis wait, rather than go on without it.
        """
        results, loop = Results(), asyncio.get_running_loop()
        deadline = loop.time() + BATCH_S
        keys, claimed = await self._claimed(_once(jobs), hold, results)
        waiting = self._rendered(self._open(claimed, results), results)
        while waiting:
            if self._interrupted() or loop.time() > deadline:
                self._postpone(waiting, self.clock(), results)
                break
            wave = _wave(waiting, self._concurrency)
            waiting = [job for job in waiting if job not in wave]
            wave = self._open(wave, results)  # the waves before may have taken long
            try:
                await self._call(wave, keys, results)
            except Unavailable:
                BYPASSED.labels(engine="redis").inc()
                if hold:
                    self._postpone([*wave, *waiting], self.clock() + round(HOLD_S * 1000), results)
                    break
                keys = self._own_memory
                await self._call(wave, keys, results)
        return results

    def _open(self, jobs: Sequence[Job], results: Results) -> list[Job]:
        """Those that may still be sent; the others end here, or go back to be decided again.

        After the claim: what was sent in time stays sent. A claim does no harm: whoever gets the same attempt later,
        here or elsewhere, may take it over.
        """
        now, open_ = self.clock(), []
        for job in jobs:
            message = job.event.message
            gate = self._gate(message.partition, message.key or b"")
            match may_still_send(job.delivery, gate, now, self._deliver_only_to):
                case Send():
                    open_.append(job)
                case DecideAgain():
                    results.again.append((job, send_back(job.delivery)))
                case Ended(reason):
                    results.outcomes.append((job, outcomes.not_tried(job.delivery, reason, "", now)))
                case answer:
                    assert_never(answer)
        return open_

    async def _claimed(self, jobs: list[Job], hold: bool, results: Results) -> tuple[DeliveryKeys, list[Job]]:
        keys, claims = self._keys, await self._claims(jobs, HOLD_S if hold else 0.0)
        if claims is None and hold:
            self._postpone(jobs, self.clock() + round(HOLD_S * 1000), results)
            return keys, []
        if claims is None:
            keys = self._own_memory
            claims = await keys.claim([job.delivery for job in jobs])
        mine: list[Job] = []
        for job, claim in zip(jobs, claims, strict=True):
            match claim.status:
                case "mine":
                    mine.append(job)
                case "done":
                    self._repeat(job, claim, results)
                case "unknown":
                    self._settle_later(job, claim, results)
        return keys, mine

    async def _claims(self, jobs: list[Job], patience_s: float) -> Sequence[Claim] | None:
        """The claims, or None when Redis stays away; every wait ends at once on a stop or a rebalance."""
        loop = asyncio.get_running_loop()
        until = loop.time() + patience_s
        while True:
            try:
                return await self._keys.claim([job.delivery for job in jobs])
            except Unavailable:
                BYPASSED.labels(engine="redis").inc()
            if loop.time() >= until or self._interrupted():
                return None
            await asyncio.sleep(HOLD_STEP_S)

    def _repeat(self, job: Job, claim: Claim, results: Results) -> None:
        """It has ended before; whoever ended it may not have got to say so."""
        DUPLICATES.labels(stage=f"sender-{job.delivery.channel}").inc()
        job.repeated = True
        if claim.outcome is not None:
            self._follow(job, claim.outcome, results)

    def _settle_later(self, job: Job, claim: Claim, results: Results) -> None:
        """Somebody called for this very attempt and ended before it learnt the answer."""
        unknown = Unknown("its process ended during the call")
        self._follow(job, self._outcome(job, unknown, claim.since), results)

    def _rendered(self, jobs: list[Job], results: Results) -> list[Job]:
        ready: list[Job] = []
        for job in jobs:
            try:
                rendered, locale = self.renderer.message(job.delivery)
            except Exception as error:  # noqa: BLE001  rendering is pure: whatever it is, it is this delivery's alone
                if not isinstance(error, TemplateFailed):
                    log.error("delivery.unrendered delivery_id=%s error=%s", job.delivery.delivery_id, _name(error))
                failed = outcomes.not_tried(job.delivery, Reason.TEMPLATE_FAILED, str(error), self.clock())
                results.outcomes.append((job, failed))
                results.dead.append((job, failed))
                continue
            address = "" if job.delivery.content is None else job.delivery.content.address or ""
            job.message = Message(
                delivery_id=job.delivery.delivery_id, address=address, rendered=rendered, locale=locale
            )
            ready.append(job)
        return ready

    async def _call(self, wave: list[Job], keys: DeliveryKeys, results: Results) -> None:
        """One round trip to say that we call, the calls at once, one round trip to say how they ended.

        A claim is lost to whoever claimed later: the partition's next owner, or one woken late that will never say
        a word. So it comes back, and meets what became of it.
        """
        allowed = await keys.calling([job.delivery for job in wave], self.clock())
        called = [job for job, ok in zip(wave, allowed, strict=True) if ok]
        lost = [job for job, ok in zip(wave, allowed, strict=True) if not ok]
        self._postpone(lost, self.clock() + round(HOLD_S * 1000), results)
        answers = await asyncio.gather(*(self._ask(job) for job in called))
        ended = [(job, self._outcome(job, answer, self.clock())) for job, answer in zip(called, answers, strict=True)]
        for job, outcome in ended:
            self._follow(job, outcome, results)
        try:
            await keys.ended([outcome for _, outcome in ended])
        except Unavailable:
            BYPASSED.labels(engine="redis").inc()
        await self._own_memory.ended([outcome for _, outcome in ended])

    async def _ask(self, job: Job) -> Answer:
        if job.message is None:
            return TryLater("not rendered")
        try:
            with PROVIDER_SECONDS.labels(provider=self.provider.name).time():
                return await self.provider.send(job.message, now=self.clock())
        except Exception as error:  # noqa: BLE001  it broke its promise, which is no reason to stop at it for ever
            log.error("provider.raised delivery_id=%s error=%s", job.delivery.delivery_id, _name(error))
            return Unknown(f"{self.provider.name} raised {_name(error)}")

    def _outcome(self, job: Job, answer: Answer, now: int) -> OutcomeV1:
        step = next_step(
            answer,
            attempt=job.delivery.attempt,
            expires_at=job.delivery.expires_at,
            now=now,
            jitter=self._jitter(),
            policy=self.policy,
            repeatable=self.provider.repeatable,
        )
        return outcomes.of_answer(job.delivery, answer, step, self.provider.name, now)

    def _follow(self, job: Job, outcome: OutcomeV1, results: Results) -> None:
        results.outcomes.append((job, outcome))
        timer = outcomes.next_attempt(outcome, job.delivery)
        if timer is not None:
            results.timers.append((job, timer))
        if outcome.reason is Reason.ATTEMPTS_EXHAUSTED:
            results.dead.append((job, outcome))

    def _postpone(self, jobs: Sequence[Job], due_at: int, results: Results) -> None:
        """Not an attempt: it comes back as it is, and its status says until when it is put off."""
        now = self.clock()
        results.outcomes += [(job, outcomes.held(job.delivery, due_at, now)) for job in jobs]
        results.timers += [(job, outcomes.postponed(job.delivery, due_at)) for job in jobs]


def _once(jobs: Sequence[Job]) -> list[Job]:
    """Of an attempt that came more than once the latest decision: the batch is settled as one."""
    kept: dict[tuple[str, int], Job] = {}
    for job in jobs:
        key = job.delivery.delivery_id, job.delivery.attempt
        known = kept.setdefault(key, job)
        if known is not job:
            DUPLICATES.labels(stage=f"sender-{job.delivery.channel}").inc()
            kept[key] = job if job.delivery.revision > known.delivery.revision else known
    return list(kept.values())


def _wave(jobs: Sequence[Job], size: int) -> list[Job]:
    """The first job of each user, in order, at most `size`: users in parallel, one user's one after the other."""
    first: dict[str, Job] = {}
    for job in jobs:
        if job.delivery.user_id not in first:
            if len(first) == size:
                break
            first[job.delivery.user_id] = job
    return list(first.values())


def _name(error: Exception) -> str:
    """Its kind alone: its words may hold an address."""
    return type(error).__name__
