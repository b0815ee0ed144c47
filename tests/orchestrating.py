"""Commands on a real broker answered as the orchestrator does, without its tables: for tests of those who ask."""

from aiokafka import AIOKafkaConsumer, AIOKafkaProducer

from notify_streams.domain.commands import carry_out
from notify_streams.settings import Kafka
from notify_streams.streaming import topics
from schemas.catalogue import Catalogue
from schemas.codec import encode
from schemas.commands import decode_command
from schemas.profiles import NOBODY, ProfileV1


async def orchestrate(kafka: Kafka, catalogue: Catalogue, *, silent_after: int | None = None) -> None:
    """Until it is cancelled, or for so many commands."""
    profiles = dict[bytes, ProfileV1]()
    answered = 0
    producer = AIOKafkaProducer(bootstrap_servers=kafka.bootstrap)
    consumer = AIOKafkaConsumer(
        kafka.prefix + topics.USER_COMMANDS, bootstrap_servers=kafka.bootstrap, auto_offset_reset="earliest"
    )
    async with producer, consumer:
        async for record in consumer:
            if answered == silent_after:
                continue
            answered += 1
            before, user_id = profiles.get(record.key, NOBODY), record.key.decode()
            place = {"generation": 1, "offset": record.offset}
            after, result = carry_out(before, decode_command(record.value), user_id, catalogue, **place)
            profiles[record.key] = after
            await producer.send(kafka.prefix + topics.COMMAND_RESULTS, encode(result), record.key)
