"""Deliveries of a channel in; calls to its provider, outcomes, retries by timer, what is to be decided again out."""

import msgspec
from faust.types import AgentT, EventT, StreamT

from agents.delivering import Job, Results, Sender
from agents.gates import Gatekeeper
from notify_streams.domain.dedup import print_of
from notify_streams.metrics import (
    ATTEMPTS,
    DELIVERIES,
    DELIVERY_ATTEMPTS,
    END_TO_END,
    QUEUE_AGE,
    STAGE_RECORDS,
    STAGE_SECONDS,
)
from notify_streams.streaming import topics
from notify_streams.streaming.app import App, topic
from notify_streams.streaming.batches import batches, put_back
from notify_streams.streaming.deadletters import DeadLetters
from notify_streams.streaming.keyed import keyed
from notify_streams.streaming.lanes import GATHER_S
from notify_streams.streaming.outgoing import Outgoing
from notify_streams.streaming.settle import settled
from schemas.codec import encode
from schemas.deliveries import decode_delivery
from schemas.outcomes import OutcomeV1
from schemas.words import Channel, Lane

BATCH = 100


def register(
    app: App, sender: Sender, gatekeeper: Gatekeeper, dead: DeadLetters, *, channel: Channel, lane: Lane
) -> AgentT[bytes]:
    """The agent of one channel and lane. Without Redis HIGH goes on, the other lanes are held.

    What was stopped before a delivery was met is known when it is: after an assignment stops come first.
    """
    role = f"sender-{channel}"
    records, seconds, age = (
        STAGE_RECORDS.labels(role=role, lane=lane),
        STAGE_SECONDS.labels(role=role),
        QUEUE_AGE.labels(role=role, lane=lane),
    )

    @app.agent(topic(app, topics.deliveries(channel, lane)), name=f"{role}.{lane}")
    async def send(stream: StreamT[bytes]) -> None:
        async for events in batches(stream, BATCH, GATHER_S[lane]):
            if not await gatekeeper.caught_up({event.message.partition for event in events}):
                put_back(events)
                continue
            with seconds.time():
                async with settled(app) as outgoing:
                    jobs = _jobs(events, dead, outgoing, sender.clock())
                    results = await sender.work(jobs, hold=lane != "high")
                    _publish(results, dead, outgoing, sender.clock())
            _count(results)
            records.inc(len(events))
            age.set(sender.clock() / 1000 - events[0].message.timestamp)

    return send


def _jobs(events: list[EventT[bytes]], dead: DeadLetters, outgoing: Outgoing, now: int) -> list[Job]:
    jobs: list[Job] = []
    for event in events:
        try:
            _, _, value = keyed(event)
            delivery = decode_delivery(value)
            print_of(delivery.notification_id)  # the gate looks for it, and must not be the one to refuse it
            jobs.append(Job(event, delivery))
            dead.handled(event)
        except (ValueError, msgspec.MsgspecError) as error:
            dead.bury(event, error, outgoing, now=now)
    return jobs


def _publish(results: Results, dead: DeadLetters, outgoing: Outgoing, now: int) -> None:
    for job, outcome in results.outcomes:
        message = job.event.message
        outgoing.add(topics.OUTCOMES, message.partition, message.key, encode(outcome))
    for job, timer in results.timers:
        message = job.event.message
        outgoing.add(topics.TIMERS, message.partition, message.key, encode(timer))
    for job, notification in results.again:
        message = job.event.message
        name = topics.notifications(notification.lane)
        outgoing.add(name, message.partition, message.key, encode(notification))
    for job, outcome in results.dead:
        reason = outcome.reason.value if outcome.reason is not None else outcome.state
        dead.keep(job.event, reason, outcome.detail, outgoing, now=now, attempts=outcome.attempt)


def _count(results: Results) -> None:
    """Each end and each call once: what is only said again was counted when it happened."""
    for _, notification in results.again:
        DELIVERIES.labels(channel=notification.channels[0], state="decided_again").inc()
    for job, outcome in results.outcomes:
        if job.repeated:
            continue
        DELIVERIES.labels(channel=outcome.channel, state=outcome.state).inc()
        if outcome.provider:
            ATTEMPTS.labels(channel=outcome.channel, provider=outcome.provider, outcome=outcome.state).inc()
        if outcome.next_at is None:
            DELIVERY_ATTEMPTS.labels(channel=outcome.channel, outcome=outcome.state).observe(outcome.attempt)
        if outcome.state == "sent":
            _observe(job, outcome)


def _observe(job: Job, outcome: OutcomeV1) -> None:
    since = job.delivery.due_at or job.delivery.accepted_at
    deferred = "no" if job.delivery.due_at is None else "yes"
    seconds = max(0, outcome.at - since) / 1000
    END_TO_END.labels(channel=outcome.channel, lane=outcome.lane, deferred=deferred).observe(seconds)
