"""Deliveries of a channel in; calls to its providers, outcomes, retries by timer, what is to be decided again out."""

import asyncio
from collections.abc import Sequence

import msgspec
from faust.types import AgentT, EventT, StreamT

from agents.clock import Clock, wall_clock
from agents.gates import Gatekeeper
from agents.sending.jobs import End, Job
from agents.sending.publishing import Input, Publishing
from agents.sending.sender import Sender
from agents.sending.waits import Waits
from notify_streams.domain.dedup import print_of
from notify_streams.metrics import QUEUE_AGE, STAGE_RECORDS, STAGE_SECONDS
from notify_streams.streaming import topics
from notify_streams.streaming.app import App, topic
from notify_streams.streaming.batches import batches, put_back
from notify_streams.streaming.deadletters import DeadLetters
from notify_streams.streaming.keyed import keyed
from notify_streams.streaming.lanes import GATHER_S
from notify_streams.streaming.settle import leave
from schemas import deadletters as headers
from schemas.deliveries import DeliveryV1, decode_delivery
from schemas.words import Channel, Lane

_SMALLEST, _USUAL, _LARGEST = 20, 100, 500


def batch_size(concurrency: int, rate: float) -> int:
    """Records taken up at once: enough to keep all slots busy, and no more than get their permits within a second, so
    that a backlog waits in Kafka and not by timers.
    """
    return round(max(_SMALLEST, min(_LARGEST, max(_USUAL, 2 * concurrency), rate / 2)))


class Lanework:
    """What one agent has under way. `ahead` deliveries may be on their way when the next batch is taken up."""

    def __init__(
        self,
        sender: Sender,
        publishing: Publishing,
        dead: DeadLetters,
        waits: Waits,
        *,
        role: str,
        lane: Lane,
        ahead: int,
        clock: Clock = wall_clock,
    ) -> None:
        self.role, self.lane, self.clock = role, lane, clock
        self._sender, self._publishing, self._dead, self._waits, self._ahead = sender, publishing, dead, waits, ahead
        self._seconds = STAGE_SECONDS.labels(role=role)
        self._under_way: set[asyncio.Task[None]] = set()

    @property
    def interrupted(self) -> bool:
        """Whether nothing new may be begun."""
        return self._waits.interrupted()

    async def begin(self, events: list[EventT[bytes]]) -> None:
        """Take a list that `batches` yielded: it is done when all is published. Returns when the next may come."""
        of = Input(events, len(events))
        jobs = self._jobs(events, of)
        work = asyncio.ensure_future(self._work(jobs, of))
        self._under_way.add(work)
        work.add_done_callback(self._under_way.discard)
        events.clear()  # the jobs have what is still needed of them
        await asyncio.sleep(0)
        await self._sender.room(self._ahead)

    async def _work(self, jobs: Sequence[Job], of: Input) -> None:
        def ended(job: Job, end: End) -> None:
            self._publishing.add(of, job, end)

        try:
            with self._seconds.time():
                await self._sender.work(jobs, ended, hold=self.lane != "high")
        except Exception:  # noqa: BLE001  an outage or a bug: either way nothing of this batch may count as done
            leave("batch.unsettled")

    def _jobs(self, events: Sequence[EventT[bytes]], of: Input) -> list[Job]:
        jobs: list[Job] = []
        for event in events:
            try:
                jobs.append(Job(event, a_delivery_of(event)))
                self._dead.handled(event)
            except Exception as error:  # noqa: BLE001  the fault is in the record, or in our code for it
                self._publishing.bury(of, event, error)
        return jobs


def register(app: App, work: Lanework, gatekeeper: Gatekeeper, *, channel: Channel, batch: int) -> AgentT[bytes]:
    """The agent of one channel and lane. Without Redis HIGH goes on, the other lanes are held.

    What was stopped before a delivery was met is known when it is: after an assignment stops come first.
    """
    role, lane = work.role, work.lane
    records, age = STAGE_RECORDS.labels(role=role, lane=lane), QUEUE_AGE.labels(role=role, lane=lane)

    @app.agent(topic(app, topics.deliveries(channel, lane)), name=f"{role}.{lane}")
    async def send(stream: StreamT[bytes]) -> None:
        async for events in batches(stream, batch, GATHER_S[lane]):
            caught_up = await gatekeeper.caught_up({event.message.partition for event in events})
            if not caught_up or work.interrupted:
                put_back(events)
                continue
            records.inc(len(events))
            age.set(work.clock() / 1000 - events[0].message.timestamp)
            await work.begin(events)

    return send


def a_delivery_of(event: EventT[bytes]) -> DeliveryV1:
    """Raises ValueError or MsgspecError for what is none."""
    _, _, value = keyed(event)
    delivery = decode_delivery(value)
    print_of(delivery.notification_id)  # the gate looks for it, and must not be the one to refuse it
    return redriven(delivery, dict(event.message.headers or ()))


def redriven(delivery: DeliveryV1, found: dict[str, bytes]) -> DeliveryV1:
    """A dead letter that somebody put back, its headers with it: the next attempt, and a limit of its own from there.

    The same each time that this record is met. Every other delivery stays as it is.
    """
    made = found.get(headers.ATTEMPTS)
    if made is None:
        return delivery
    attempt = max(delivery.attempt, int(made) + 1)
    return msgspec.structs.replace(delivery, attempt=attempt, uncounted=attempt - 1, avoid=())
