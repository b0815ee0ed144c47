"""One partition of a topic, read from its beginning to where it ends now."""

from collections.abc import AsyncIterator, Callable, Sequence

from aiokafka import AIOKafkaConsumer, TopicPartition
from aiokafka.errors import KafkaError

from notify_streams.ports import Unavailable
from notify_streams.settings import Kafka
from notify_streams.streaming import topics

_AT_ONCE, _POLL_MS = 5000, 500
Progress = Callable[[int, int], None]
Row = tuple[bytes, bytes | None]


async def rows(
    kafka: Kafka, name: str, partition: int, *, progress: Progress | None = None
) -> AsyncIterator[Sequence[Row]]:
    """Keys and values in their order, in batches; `progress` is told offsets done and all. Raises Unavailable.

    `name` is without prefix. A record without a key is left out.
    """
    faults = await topics.check(kafka, [topics.Topic(name, {})])
    if faults:
        raise Unavailable("; ".join(faults) + ": run `notify topics create`")
    consumer = AIOKafkaConsumer(bootstrap_servers=kafka.bootstrap, group_id=None, enable_auto_commit=False)
    try:
        await consumer.start()
        tp = TopicPartition(kafka.prefix + name, partition)
        consumer.assign([tp])
        first, end = (await consumer.beginning_offsets([tp]))[tp], (await consumer.end_offsets([tp]))[tp]
        consumer.seek(tp, first)
        while (at := await consumer.position(tp)) < end:
            if progress is not None:
                progress(at - first, end - first)
            for records in (await consumer.getmany(tp, timeout_ms=_POLL_MS, max_records=_AT_ONCE)).values():
                yield [(record.key, record.value) for record in records if record.key and record.offset < end]
    except (KafkaError, OSError, TimeoutError) as error:
        raise Unavailable(f"reading {kafka.prefix}{name} from {kafka.bootstrap}: {error!r}") from error
    finally:
        await consumer.stop()
