"""What is asked on a real broker answered as orchestrator and registry do, without tables: for tests of who asks."""

from aiokafka import AIOKafkaConsumer, AIOKafkaProducer

from agents.registry import answer
from notify_streams.domain import registry
from notify_streams.domain.commands import carry_out
from notify_streams.settings import Kafka
from notify_streams.streaming import topics
from schemas.addresses import AddressState, LiftSuppressionV1, ShowAddressV1, SuppressAddressV1, decode_change
from schemas.catalogue import Catalogue
from schemas.codec import encode
from schemas.commands import decode_command
from schemas.profiles import NOBODY, ProfileV1


async def register(kafka: Kafka) -> None:
    """Address changes, as the registry has them follow; until it is cancelled."""
    states = dict[bytes, AddressState | None]()
    producer = AIOKafkaProducer(bootstrap_servers=kafka.bootstrap)
    consumer = AIOKafkaConsumer(
        kafka.prefix + topics.ADDRESS_CHANGES, bootstrap_servers=kafka.bootstrap, auto_offset_reset="earliest"
    )
    async with producer, consumer:
        async for record in consumer:
            key, change, place = record.key.decode(), decode_change(record.value), (1, record.offset)
            step = registry.take(states.get(record.key), change, key=key, place=place, now=record.timestamp)
            states[record.key] = step.state
            for user_id, command in step.commands:
                await producer.send(kafka.prefix + topics.USER_COMMANDS, encode(command), user_id.encode())
            if isinstance(change, SuppressAddressV1 | LiftSuppressionV1 | ShowAddressV1) and change.command_id:
                result = answer(change.command_id, step.state or AddressState(change.channel))
                await producer.send(kafka.prefix + topics.COMMAND_RESULTS, encode(result), record.key)


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
