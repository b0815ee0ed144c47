"""What follows from a vendor's events: records on the log, each once, acknowledged before anybody says 2xx."""

import asyncio
import logging
from collections import Counter
from collections.abc import Awaitable, Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import Protocol

import msgspec

from notify_streams import __version__
from notify_streams.domain import references
from notify_streams.domain.addresses import NoAddress, address_key, canonical
from notify_streams.domain.bounces import judges_us
from notify_streams.domain.mailboxes import address_in
from notify_streams.domain.references import Reference
from notify_streams.gateway.publisher import Headers, Publisher
from notify_streams.gateway.receipts.said import AddressWord, Bad, Event, Item, Text
from notify_streams.gateway.receipts.seen import Seen
from notify_streams.metrics import BYPASSED, DEAD_LETTERS, DUPLICATES, RECEIPTS
from notify_streams.ports import Unavailable
from notify_streams.streaming import topics
from schemas import deadletters
from schemas.addresses import LiftSuppressionV1, SuppressAddressV1, Suppression
from schemas.codec import encode
from schemas.receipts import InboundV1, ReceiptV1
from schemas.words import Channel

log = logging.getLogger(__name__)
STAGE = "receipts"
_AT_ONCE = 200
_LONGEST_NAME, _LONGEST_TEXT, _KEPT_BYTES = 200, 10_000, 64 * 1024


class Settling(Protocol):
    """The keys under which senders remember what they have called."""

    async def settle(self, delivery_id: str, at: int, message_id: str | None) -> bool:
        """A receipt has shown at `at` (ms) that the provider took it; whether nobody knew. Raises Unavailable."""


class Nobody:
    """Where no sender keeps keys."""

    async def settle(self, delivery_id: str, at: int, message_id: str | None) -> bool:
        """Nothing waits for it."""
        return False


class Record(msgspec.Struct, frozen=True):
    """One for the log."""

    topic: str
    key: bytes
    value: bytes
    headers: Headers = ()


class Step(msgspec.Struct, frozen=True):
    """What follows from one event; `id` is the same for its copies. `settles`: that the provider took this delivery.

    `outcome` and `state` are for the metrics.
    """

    id: str
    outcome: str
    state: str = ""
    records: tuple[Record, ...] = ()
    settles: ReceiptV1 | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """Whose callbacks: the provider's name, the channel that it carries, how long it leaves a full mailbox alone."""

    name: str
    channel: Channel
    rests_ms: int


@dataclass(frozen=True, slots=True)
class Taking:
    """Takes events from verified callbacks."""

    publisher: Publisher
    seen: Seen
    settling: Settling
    secrets: Sequence[str]

    async def take(self, source: Source, items: Sequence[Item], now: int) -> dict[str, int]:
        """How many became what. Raises Unavailable when not all is known to be on the log: a repeat is harmless."""
        steps = [step for item in items if (step := self._step(source, item, now)) is not None]
        fresh = {step.id: step for step in steps}
        known = await self.seen.among(list(fresh))
        fresh = {id_: step for id_, step in fresh.items() if id_ not in known}
        await self._publish([record for step in fresh.values() for record in step.records])
        await self.seen.remember([id_ for id_, step in fresh.items() if step.records])
        await self._settle([step.settles for step in fresh.values() if step.settles is not None])
        return _counted(source, items, steps, list(fresh.values()))

    async def _publish(self, records: Sequence[Record]) -> None:
        for at in range(0, len(records), _AT_ONCE):
            part = records[at : at + _AT_ONCE]
            await _all([self.publisher.publish(r.topic, r.key, r.value, r.headers) for r in part])

    async def _settle(self, receipts: Sequence[ReceiptV1]) -> None:
        """Expendable: without it the fold of the facts says the same, only the sender does not know yet."""
        try:
            for receipt in receipts:
                await self.settling.settle(receipt.delivery_id, receipt.received_at, receipt.provider_message_id)
        except Unavailable:
            BYPASSED.labels("redis").inc()

    def _step(self, source: Source, item: Item, now: int) -> Step | None:
        match item:
            case Event():
                reference = references.read(self.secrets, item.reference) if item.reference else None
                if reference is None or reference.channel != source.channel:
                    return Step(_id(source, "unknown", item.id), "unknown")
                return _heard(source, item, reference, now)
            case Text():
                return _said(source, item, now)
            case Bad():
                return _quarantined(source, item, now)
            case _:
                return None


def _heard(source: Source, event: Event, reference: Reference, now: int) -> Step:
    """The receipt, and what it says against addresses. No event is of the future: it would win for ever."""
    at = now if event.at is None else max(0, min(event.at, now))
    receipt = ReceiptV1(
        receipt_id=_id(source, reference.delivery_id, event.id),
        delivery_id=reference.delivery_id,
        notification_id=reference.notification_id,
        user_id=reference.user_id,
        channel=reference.channel,
        provider=source.name,
        state=event.state,
        at=at,
        received_at=now,
        permanent=event.permanent,
        provider_message_id=event.message_id and event.message_id[:_LONGEST_NAME],
        detail=event.detail[:_LONGEST_NAME],
    )
    held = (_suppress(source, word, at, reference.delivery_id) for word in event.held)
    heard = Record(topics.RECEIPTS, reference.user_id.encode(), encode(receipt))
    state = "blocked" if event.state == "bounced" and judges_us(event.detail) else event.state
    return Step(receipt.receipt_id, "taken", state, (heard, *(r for r in held if r is not None)), receipt)


def _suppress(source: Source, word: AddressWord, at: int, delivery_id: str | None) -> Record | None:
    """None for what is no address of the channel: nobody is ever sent to there."""
    address = _address(source.channel, word.address)
    if address is None:
        log.warning("receipt.no_address provider=%s reason=%s", source.name, word.reason)
        return None
    change = SuppressAddressV1(
        channel=source.channel,
        at=at,
        by=f"/providers/{source.name}",
        reason=word.reason,
        until=at + source.rests_ms if word.reason == "mailbox_full" else None,
        provider=source.name,
        delivery_id=delivery_id,
    )
    return Record(topics.ADDRESS_CHANGES, address_key(source.channel, address).encode(), encode(change))


def _said(source: Source, text: Text, now: int) -> Step:
    """STOP and START change what may be sent to the number; everything else is passed on to whoever reads it."""
    id_, sender = _id(source, "inbound", text.id), _address(source.channel, text.sender)
    if sender is None:
        raw = encode({"sender": text.sender, "text": text.text})
        return _quarantined(source, Bad(raw, "From: no phone number"), now)
    opt_out: Suppression = "opt_out"
    if text.asks == "stop":
        record = _suppress(source, AddressWord(sender, opt_out), now, None)
        return Step(id_, "stopped", records=() if record is None else (record,))
    key = address_key(source.channel, sender)
    if text.asks == "start":
        lift = LiftSuppressionV1(channel=source.channel, at=now, by=f"/providers/{source.name}", only=opt_out)
        return Step(id_, "started", records=(Record(topics.ADDRESS_CHANGES, key.encode(), encode(lift)),))
    inbound = InboundV1(
        inbound_id=id_,
        channel=source.channel,
        provider=source.name,
        address_key=key,
        at=now,
        received_at=now,
        text=text.text[:_LONGEST_TEXT],
    )
    return Step(id_, "passed_on", records=(Record(topics.RECEIPTS, key.encode(), encode(inbound)),))


def _quarantined(source: Source, bad: Bad, now: int) -> Step:
    """A dead letter with the raw text. Its key is made of it, so that copies can be told."""
    id_ = _id(source, "bad", sha256(bad.raw).hexdigest())
    headers = {
        deadletters.ORIGINAL_TOPIC: topics.RECEIPTS,
        deadletters.ORIGINAL_PARTITION: "-1",
        deadletters.ORIGINAL_OFFSET: "-1",
        deadletters.ORIGINAL_TIMESTAMP: str(now),
        deadletters.ATTEMPTS: "1",
        deadletters.ERROR_CLASS: "BadEvent",
        deadletters.ERROR: f"{source.name}: {bad.reason}"[:2000],
        deadletters.STAGE: STAGE,
        deadletters.FAILED_AT: str(now),
        deadletters.VERSION: __version__,
    }
    if len(bad.raw) > _KEPT_BYTES:
        headers["notify-truncated"] = str(len(bad.raw))
    letter = [(name, text.encode(errors="replace")) for name, text in headers.items()]
    record = Record(topics.DEAD_LETTERS, id_.encode(), bad.raw[:_KEPT_BYTES], letter)
    return Step(id_, "quarantined", records=(record,))


def _address(channel: Channel, text: str) -> str | None:
    found = canonical(channel, address_in(text) if channel == "email" else text)
    return None if isinstance(found, NoAddress) else found


def _id(source: Source, what: str, id_: str) -> str:
    """The same for every copy of an event, and nobody else's."""
    return sha256(encode((source.name, what, id_))).hexdigest()[:32]


def _counted(source: Source, items: Sequence[Item], steps: Sequence[Step], fresh: Sequence[Step]) -> dict[str, int]:
    counts = Counter(step.outcome for step in fresh)
    repeated, ignored = len(steps) - len(fresh), len(items) - len(steps)
    DUPLICATES.labels(stage=STAGE).inc(repeated)
    DEAD_LETTERS.labels(stage=STAGE).inc(counts["quarantined"])
    shown = Counter((step.outcome, step.state) for step in fresh) + Counter({("ignored", ""): ignored})
    for (outcome, state), count in shown.items():
        RECEIPTS.labels(provider=source.name, outcome=outcome, state=state).inc(count)
    return dict(+(counts + Counter(repeated=repeated, ignored=ignored)))


async def _all(work: Sequence[Awaitable[None]]) -> None:
    """All of it is finished before the first failure is raised: no send goes on behind the caller's back."""
    for answer in await asyncio.gather(*work, return_exceptions=True):
        if isinstance(answer, BaseException):
            raise answer
