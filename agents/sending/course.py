"""The way of one delivery: its turn, its gate, its message, its provider; the call; what follows."""

import asyncio
import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal, assert_never

from msgspec.structs import replace

from agents.clock import Clock
from agents.sending import ends
from agents.sending.composing import Compose
from agents.sending.jobs import End, Job
from agents.sending.keyring import Keyring
from agents.sending.lines import Line, Lines
from agents.sending.order import Order
from agents.sending.saying import Saying, Terms
from agents.sending.waits import Waits
from notify_streams.domain import outcomes
from notify_streams.domain.answers import Answer, EndpointGone, TryLater, Unknown
from notify_streams.domain.breaker import verdict_of
from notify_streams.domain.gate import DecideAgain, Ended, Send, may_still_send
from notify_streams.domain.rendered import TemplateFailed
from notify_streams.domain.routing import Blocked, By, Nobody
from notify_streams.metrics import PROVIDER_SECONDS
from schemas.stops import Gate
from schemas.words import Lane, Reason

log = logging.getLogger(__name__)
_LOOK_S = 1.0


@dataclass(slots=True)
class Batch:
    """What the jobs of one batch share. Instants of the loop's clock. `holds`: without Redis it waits."""

    holds: bool
    deadline: float
    hold_until: float | None = None

    @property
    def left_s(self) -> float:
        """Until it has to end."""
        return self.deadline - asyncio.get_running_loop().time()


class Course:
    """What every delivery of one lane goes through. `gate` is asked by partition and user id."""

    def __init__(
        self,
        terms: Terms,
        lane: Lane,
        lines: Lines,
        keyring: Keyring,
        order: Order,
        waits: Waits,
        saying: Saying,
        *,
        compose: Compose,
        gate: Callable[[int, bytes], Gate],
        jitter: Callable[[], float],
        clock: Clock,
    ) -> None:
        self._terms, self._lane, self._lines = terms, lane, lines
        self._keyring, self._order, self._waits, self._saying = keyring, order, waits, saying
        self._compose, self._gate, self._jitter, self._clock = compose, gate, jitter, clock

    async def run(self, job: Job, batch: Batch) -> End:
        """From its turn to its end; the delivery is claimed, unless another record of it was on its way."""
        if not await self._order.turn(job, batch.left_s):
            return self._saying.put_off(job)
        end = (await self._claimed(job, batch)) if job.again else None
        end = end or self._barred(job) or self._uncomposed(job)
        if end is not None or job.message is None:
            return end or End()
        delivery, chain = job.delivery, self._lines.chain(job.delivery, job.message)
        while batch.left_s > 0 and not self._waits.interrupted():
            match self._lines.route(chain, delivery.avoid, self._clock()):
                case Nobody():
                    return self._saying.not_tried(delivery, Reason.NO_PROVIDER, "")
                case Blocked():
                    if not await self._may_open(chain, batch):
                        break
                case By(name):
                    end = await self._by(self._lines[name], job, batch, chain)
                    if end is not None:
                        return end
        return self._saying.put_off(job, opens_at=self._lines.opens_at(chain, self._clock()))

    async def _claimed(self, job: Job, batch: Batch) -> End | None:
        claims = await self._keyring.claims([job], hold_s=self._terms.hold_s if batch.holds else None)
        return self._saying.put_off(job, held=True) if claims is None else self._saying.claimed(job, claims[0])

    def _barred(self, job: Job) -> End | None:
        """Whether it may still be sent. After the claim: what was sent in time stays sent."""
        message, delivery, now = job.event.message, job.delivery, self._clock()
        gate = self._gate(message.partition, message.key or b"")
        match may_still_send(delivery, gate, now, self._terms.deliver_only_to):
            case Send():
                return None
            case DecideAgain():
                return ends.decided_again(delivery)
            case Ended(reason):
                return End(outcome=outcomes.not_tried(delivery, reason, "", now))
            case answer:
                assert_never(answer)

    def _uncomposed(self, job: Job) -> End | None:
        try:
            message = self._compose(job.delivery)
            job.message = message if job.badge is None else replace(message, badge=job.badge)
        except Exception as error:  # noqa: BLE001  rendering is pure: whatever it is, it is this delivery's alone
            if isinstance(error, TemplateFailed):
                return self._saying.not_tried(job.delivery, Reason.TEMPLATE_FAILED, str(error))
            log.error("delivery.unrendered delivery_id=%s error=%s", job.delivery.delivery_id, _name(error))
            return self._saying.not_tried(job.delivery, Reason.TEMPLATE_FAILED, _name(error))
        return None

    async def _may_open(self, chain: Sequence[str], batch: Batch) -> bool:
        """Wait until a provider may take calls again; False where the batch has waited long enough.

        Where other providers of the channel would have to wait as well, nobody waits.
        """
        loop = asyncio.get_running_loop()
        if not self._lines.harm_nobody(chain):
            return False
        if batch.hold_until is None:
            batch.hold_until = min(loop.time() + self._terms.hold_s, batch.deadline)
        left_s, now = batch.hold_until - loop.time(), self._clock()
        opens_in_s = (self._lines.opens_at(chain, now) - now) / 1000
        if left_s <= 0:
            return False
        timeout_s = min(left_s, opens_in_s if opens_in_s > 0 else _LOOK_S)
        await self._lines.first_closed(chain, now).change(self._waits, timeout_s)
        return True

    async def _by(self, line: Line, job: Job, batch: Batch, chain: Sequence[str]) -> End | None:
        """Its end; None where another way has to be looked for."""
        harmless = self._lines.harm_nobody(chain)
        patience_s = batch.left_s if harmless and len(chain) == 1 else min(self._terms.slot_s, batch.left_s)
        if not await line.slots.take(patience_s):
            return None if harmless else self._saying.put_off(job)
        try:
            now = self._clock()
            if not line.standing.takes_calls(self._lane, now) or not line.standing.may_call(now):
                return None
            return await self._permitted(line, job, batch, chain)
        finally:
            line.slots.give()

    async def _permitted(self, line: Line, job: Job, batch: Batch, chain: Sequence[str]) -> End | None:
        only_tries, called = line.standing.is_tried, False
        try:
            cleared = await self._cleared(line, job, batch)
            if cleared is not True:
                return cleared
            called = True
            answer = await self._ask(line, job)
        finally:
            if not called:
                line.standing.given_back()
        return await self._answered(line, job, answer, chain, counts=not (only_tries and verdict_of(answer) == "bad"))

    async def _cleared(self, line: Line, job: Job, batch: Batch) -> End | Literal[True] | None:
        """True: it is said that it is called for now."""
        match await line.permits.take(batch.left_s):
            case "late":
                return self._saying.put_off(job, Reason.LIMITED)
            case "away":
                return self._saying.put_off(job, held=True)
            case "paused":
                return None
            case "granted":
                barred = self._barred(job)
        if barred is not None:
            return barred
        name = line.provider.name
        allowed = await self._keyring.calling(job.delivery, self._clock(), name, holds=batch.holds)
        # Lost to whoever claimed later: the partition's next owner, or one woken late that will never say a word.
        return True if allowed else self._saying.put_off(job, held=True)

    async def _ask(self, line: Line, job: Job) -> Answer:
        if job.message is None:
            return TryLater("not rendered")
        try:
            with PROVIDER_SECONDS.labels(provider=line.provider.name).time():
                async with asyncio.timeout(self._terms.attempt_s + 1):  # it ends by itself before; if not, a batch does
                    return await line.provider.send(job.message, now=self._clock())
        except Exception as error:  # noqa: BLE001  it broke its promise, which is no reason to stop at it for ever
            log.error("provider.raised delivery_id=%s error=%s", job.delivery.delivery_id, _name(error))
            return Unknown(f"{line.provider.name} raised {_name(error)}")

    async def _answered(self, line: Line, job: Job, answer: Answer, chain: Sequence[str], *, counts: bool) -> End:
        now, delivery = self._clock(), job.delivery
        pause_ms = line.standing.heard(answer, now, self._jitter())
        if pause_ms:
            await line.permits.pause(pause_ms)
        left = self._lines.another_left(chain, (*delivery.avoid, line.provider.name), now)
        outcome = self._saying.outcome(delivery, answer, line, now, counts=counts, another_left=left)
        await self._keyring.ended(outcome)
        since = answer.since if isinstance(answer, EndpointGone) else None
        return self._saying.said(delivery, outcome, counts=counts, since=since)


def _name(error: Exception) -> str:
    """Its kind alone: its words may hold an address."""
    return type(error).__name__
