"""Decisions, outcomes and receipts in; webhooks to the producers whose keys ask for them out.

They go to the webhook sender's LOW lane on the same partition, with its retries. A record that comes again gives the
same ids, which the sender has met. Without a key that asks nothing is read but the records themselves.
"""

from collections.abc import Callable, Sequence

from faust.types import AgentT, EventT, StreamT

from agents.clock import Clock, wall_clock
from notify_streams.domain import hooks as rules
from notify_streams.domain.hooks import Change, Hook
from notify_streams.gateway.keys import KeyRing
from notify_streams.metrics import STAGE_RECORDS, STAGE_SECONDS, UNRESOLVED
from notify_streams.stores.hooked import Hooked
from notify_streams.streaming import topics
from notify_streams.streaming.app import App, topic
from notify_streams.streaming.batches import batches
from notify_streams.streaming.deadletters import DeadLetters
from notify_streams.streaming.keyed import keyed
from notify_streams.streaming.lanes import FACTS_S
from notify_streams.streaming.outgoing import Outgoing
from notify_streams.streaming.settle import settled
from schemas.codec import encode
from schemas.decisions import DecisionV1, decode_decision
from schemas.outcomes import InboxOutcomesV1, OutcomeV1, decode_outcome
from schemas.receipts import ReceiptV1, decode_receipt

BATCH = 1000
ROLE = "hooks"
_TOPICS = (topics.DECISIONS, topics.OUTCOMES, topics.RECEIPTS)
Told = tuple[EventT[bytes], Change]
Fault = tuple[EventT[bytes], Exception]


class Hooks:
    """What the three agents share. `asking` are the keys with a webhook as of now."""

    def __init__(
        self,
        app: App,
        hooked: Hooked,
        asking: Callable[[], Sequence[Hook]],
        dead: DeadLetters,
        *,
        clock: Clock = wall_clock,
    ) -> None:
        self.app, self.hooked, self.asking, self.dead, self.clock = app, hooked, asking, dead, clock

    async def take(self, events: Sequence[EventT[bytes]], hooks: Sequence[Hook]) -> tuple[list[Told], list[Fault]]:
        """What has changed, and the records that say nothing that could be read."""
        told: list[Told] = []
        faults: list[Fault] = []
        sent: dict[str, tuple[EventT[bytes], str]] = {}
        receipts: list[tuple[EventT[bytes], ReceiptV1]] = []
        for event in events:
            try:
                said = _read(event)
            except Exception as error:  # noqa: BLE001  the fault is in the record, or in our code for it
                faults.append((event, error))
                continue
            if isinstance(said, DecisionV1):
                told += [(event, change) for change in rules.of_decision(said)]
            elif isinstance(said, InboxOutcomesV1):
                told += [(event, change) for change in rules.of_inbox(said)]
            elif isinstance(said, ReceiptV1):
                receipts.append((event, said))
            elif isinstance(said, OutcomeV1):
                told += [(event, change) for change in rules.of_outcome(said)]
                if said.attempt and rules.wanted(said.source, hooks):
                    sent[said.delivery_id] = (event, said.source)
        return told + await self._early(sent) + await self._later(receipts), faults

    def publish(self, told: Sequence[Told], hooks: Sequence[Hook], outgoing: Outgoing) -> None:
        """Queue the webhooks."""
        for event, change in told:
            for delivery in rules.deliveries([change], hooks, self.clock()):
                name, key = topics.deliveries("webhook", "low"), delivery.user_id.encode()
                outgoing.add(name, event.message.partition, key, encode(delivery))

    async def _early(self, sent: dict[str, tuple[EventT[bytes], str]]) -> list[Told]:
        """What was said of these deliveries before anybody knew of them."""
        early = await self.hooked.met({id_: source for id_, (_, source) in sent.items()})
        told: list[Told] = []
        for id_, raw in early:
            event, source = sent[id_]
            receipt = decode_receipt(raw)
            if isinstance(receipt, ReceiptV1):
                told += [(event, change) for change in rules.of_receipt(receipt, source)]
        return told

    async def _later(self, receipts: Sequence[tuple[EventT[bytes], ReceiptV1]]) -> list[Told]:
        known = await self.hooked.sources([(r.delivery_id, encode(r)) for _, r in receipts if _tells(r)])
        UNRESOLVED.inc(sum(_tells(r) and r.delivery_id not in known for _, r in receipts))
        return [
            (event, change)
            for event, receipt in receipts
            for change in rules.of_receipt(receipt, known.get(receipt.delivery_id, ""))
        ]


def asking(ring: KeyRing) -> list[Hook]:
    """The keys with a webhook; each may hear of what it may publish."""
    return [Hook(key.name, key.webhook, (*key.sources, key.own_source)) for key in ring.with_webhooks()]


def register(hooks: Hooks) -> list[AgentT[bytes]]:
    """One agent per topic."""
    return [_agent(hooks, name) for name in _TOPICS]


def _agent(role: Hooks, name: str) -> AgentT[bytes]:
    app, dead = role.app, role.dead
    records, seconds = STAGE_RECORDS.labels(role=ROLE, lane=name), STAGE_SECONDS.labels(role=ROLE)

    @app.agent(topic(app, name), name=f"{ROLE}.{name}")
    async def tell(stream: StreamT[bytes]) -> None:
        async for events in batches(stream, BATCH, FACTS_S):
            asking = role.asking()
            if asking:
                with seconds.time():
                    async with settled(app) as outgoing:
                        told, faults = await role.take(events, asking)
                        for event, error in faults:
                            dead.keep(event, type(error).__name__, str(error), outgoing, now=role.clock())
                        role.publish(told, asking, outgoing)
            records.inc(len(events))

    return tell


def _read(event: EventT[bytes]) -> object:
    """Whatever it is; its key is the user's id where it concerns one."""
    name, value = event.message.topic, event.message.value
    if name.endswith(topics.DECISIONS):
        said: object = decode_decision(value or b"")
    elif name.endswith(topics.RECEIPTS):
        said = decode_receipt(value or b"")
    else:
        said = decode_outcome(value or b"")
    if isinstance(said, DecisionV1 | OutcomeV1 | ReceiptV1):
        keyed(event)
    return said


def _tells(receipt: ReceiptV1) -> bool:
    return any(True for _ in rules.of_receipt(receipt, ""))
