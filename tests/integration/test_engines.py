from pathlib import Path

from aiokafka import AIOKafkaProducer

from notify_streams import settings


async def test_the_shared_broker_takes_a_record(kafka: settings.Kafka) -> None:
    producer = AIOKafkaProducer(bootstrap_servers=kafka.bootstrap, acks="all")
    await producer.start()
    try:
        assert (await producer.send_and_wait("local.ready", b"x")).offset > 0
    finally:
        await producer.stop()
