"""How long each delivery took, read back after the run: deliveries and outcomes from Kafka, mails from the log."""

from collections.abc import AsyncIterator, Iterable
from datetime import datetime
from pathlib import Path

import msgspec
import orjson
from aiokafka import AIOKafkaConsumer, TopicPartition

from notify_streams.settings import Kafka
from notify_streams.streaming import topics
from schemas.deliveries import decode_delivery
from schemas.outcomes import InboxOutcomesV1, decode_outcome
from schemas.words import LANES, Channel, Lane


class Took(msgspec.Struct, frozen=True):
    """One delivery that ended well: accepted by the broker, decided, in the inbox or at the mail server. In ms."""

    channel: Channel
    lane: Lane
    accepted_at: int
    ended_at: int
    decided_at: int


async def took(kafka: Kafka, log: Path) -> list[Took]:
    """All of them; the first time counts where something was done twice."""
    ended = mails_of(log)
    async for value in _records(kafka, [topics.OUTCOMES]):
        outcome = decode_outcome(value)
        if isinstance(outcome, InboxOutcomesV1):
            for write in outcome.written:
                ended.setdefault(write.delivery_id, outcome.at)
    found: dict[str, Took] = {}
    names = [topics.deliveries(channel, lane) for channel in ("inapp", "email") for lane in LANES]
    async for value in _records(kafka, names):
        delivery = decode_delivery(value)
        if delivery.delivery_id in ended:
            at = ended[delivery.delivery_id]
            lane, accepted_at, decided_at = delivery.lane, delivery.accepted_at, delivery.decided_at
            found[delivery.delivery_id] = Took(delivery.channel, lane, accepted_at, at, decided_at)
    return list(found.values())


def mails_of(log: Path) -> dict[str, int]:
    """When the simulator took each mail (ms), by delivery id; the first time where it took one twice."""
    return dict(reversed(entries_of(log)))


def entries_of(log: Path) -> list[tuple[str, int]]:
    """Delivery id and instant (ms) of each mail that the simulator took, in order; a line not yet whole is left out."""
    lines = log.read_bytes().rpartition(b"\n")[0].splitlines() if log.exists() else []
    entries = [orjson.loads(line) for line in lines]
    return [(e["delivery_id"], _ms(e["at"])) for e in entries if e["event"] == "accepted"]


def percentile(values: Iterable[float], share: float) -> float:
    """The smallest value that at least this share does not exceed; 0 of nothing."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))] if ordered else 0.0


def _ms(instant: str) -> int:
    return round(datetime.fromisoformat(instant).timestamp() * 1000)


async def _records(kafka: Kafka, names: list[str]) -> AsyncIterator[bytes]:
    """The values of everything that is on these topics now."""
    consumer = AIOKafkaConsumer(bootstrap_servers=kafka.bootstrap, enable_auto_commit=False)
    await consumer.start()
    try:
        tps = [TopicPartition(kafka.prefix + name, n) for name in names for n in range(kafka.partitions)]
        left = {tp: end for tp, end in (await consumer.end_offsets(tps)).items() if end}
        consumer.assign(list(left))
        for tp in left:
            consumer.seek(tp, 0)
        while left:
            for records in (await consumer.getmany(*left, timeout_ms=500, max_records=5000)).values():
                for record in records:
                    if record.value is not None:
                        yield record.value
            left = {tp: end for tp, end in left.items() if await consumer.position(tp) < end}
    finally:
        await consumer.stop()
