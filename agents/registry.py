"""Address changes in; commands for the users they concern, then the table, then answers out.

Send, await, then write: one agent touches the table, and a change that the table holds has had all its effects.
Whatever is killed in between, the change comes again and meets what it met before.
"""

from typing import cast

import msgspec
from faust.types import AgentT, EventT, StreamT

from agents.clock import Clock, wall_clock
from notify_streams.domain import registry
from notify_streams.metrics import MISROUTED, STAGE_RECORDS
from notify_streams.streaming import topics
from notify_streams.streaming.app import App, topic
from notify_streams.streaming.batches import batches
from notify_streams.streaming.deadletters import DeadLetters
from notify_streams.streaming.outgoing import Headers, Outgoing
from notify_streams.streaming.partitions import Partitions
from notify_streams.streaming.settle import settled
from schemas.addresses import AddressState, LiftSuppressionV1, ShowAddressV1, SuppressAddressV1, decode_change
from schemas.codec import encode
from schemas.commands import CommandResultV1
from tables.addresses import Addresses
from tables.by_event import StoreFailed

BATCH, ROLE = 200, "registry"
_Where = tuple[int, bytes]  # partition and address key


class NoAddressChange(ValueError):
    """A record that is none, or that is keyed by another address; the message says what is wrong."""


class Batch:
    """What a batch leaves: the states to write once its commands are out, the answers to give once these are."""

    def __init__(self) -> None:
        self.states: dict[_Where, AddressState | None] = {}
        self.answers: list[tuple[_Where, CommandResultV1]] = []


class Registry:
    """The one writer of addresses."""

    def __init__(
        self, app: App, addresses: Addresses, dead: DeadLetters, *, generation: int, clock: Clock = wall_clock
    ) -> None:
        self.app, self.addresses, self.dead = app, addresses, dead
        self.generation, self.clock = generation, clock
        self.partitions = Partitions(app.conf.topic_partitions)

    def take(self, event: EventT[bytes], batch: Batch, outgoing: Outgoing) -> None:
        """Queue what one change says to its users; no await. What is to be kept is left in the batch.

        Raises NoAddressChange or msgspec.DecodeError for what its sender got wrong.
        """
        message = event.message
        partition, key = message.partition, message.key or b""
        home = self.partitions.of(key)
        if home != partition:
            MISROUTED.labels(topic=topics.ADDRESS_CHANGES).inc()
            outgoing.add(topics.ADDRESS_CHANGES, home, key, message.value, cast("Headers", message.headers or ()))
            return
        where, change = (partition, key), decode_change(message.value or b"")
        known = batch.states[where] if where in batch.states else self.addresses.load(partition, key)
        fault = registry.why_not(change, key.decode(errors="replace"), known)
        if fault is not None:
            raise NoAddressChange(fault)
        place = (self.generation, message.offset)
        step = registry.take(known, change, key=key.decode(), place=place, now=self.clock())
        for user_id, command in step.commands:
            user = user_id.encode()
            outgoing.add(topics.USER_COMMANDS, self.partitions.of(user), user, encode(command))
        if step.state != known:
            batch.states[where] = step.state
        if isinstance(change, SuppressAddressV1 | LiftSuppressionV1 | ShowAddressV1) and change.command_id:
            state = step.state or AddressState(change.channel)
            batch.answers.append((where, answer(change.command_id, state)))

    def keep(self, batch: Batch, outgoing: Outgoing) -> None:
        """Write what was left."""
        for (partition, key), state in batch.states.items():
            self.addresses.store(partition, key, state, outgoing)


def answer(command_id: str, state: AddressState) -> CommandResultV1:
    """What is kept of the address, for whoever asked with this id."""
    return CommandResultV1(command_id=command_id, user_id="", status="applied", version=0, address=state)


def register(role: Registry) -> AgentT[bytes]:
    """The agent on `address-changes`."""
    app, dead = role.app, role.dead
    records = STAGE_RECORDS.labels(role=ROLE, lane="changes")

    @app.agent(topic(app, topics.ADDRESS_CHANGES), name=f"{ROLE}.changes")
    async def change(stream: StreamT[bytes]) -> None:
        async for events in batches(stream, BATCH):
            batch = Batch()
            async with settled(app) as outgoing:
                for event in events:
                    try:
                        role.take(event, batch, outgoing)
                        dead.handled(event)
                    except StoreFailed:
                        raise
                    except (NoAddressChange, msgspec.DecodeError) as error:  # others write here: their own faults
                        dead.keep(event, type(error).__name__, str(error), outgoing, now=role.clock())
                    except Exception as error:  # noqa: BLE001  the fault is in our code for it
                        dead.bury(event, error, outgoing, now=role.clock())
            async with settled(app, role.addresses) as outgoing:
                role.keep(batch, outgoing)
            async with settled(app) as outgoing:
                for (partition, key), told in batch.answers:
                    outgoing.add(topics.COMMAND_RESULTS, partition, key, encode(told))
            records.inc(len(events))

    return change
