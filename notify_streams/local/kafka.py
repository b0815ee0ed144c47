"""Apache Kafka on this machine: one KRaft node, formatted once, ready when a record comes back."""

import base64
import uuid
from pathlib import Path

from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, TopicPartition
from aiokafka.admin import AIOKafkaAdminClient, NewTopic
from aiokafka.errors import KafkaError, TopicAlreadyExistsError, for_code

from .child import Child
from .engine import EngineError, NotReady, ask_socket
from .free_ports import HOST
from .jvm import JavaEngine

PROBE = "local.ready"


class Kafka(JavaEngine):
    """Topics, groups and records."""

    name = "kafka"
    preferred = {"port": 9092, "controller_port": 9093}  # noqa: RUF012 - the base class says ClassVar

    @property
    def bootstrap(self) -> str:
        """The address for clients."""
        return f"{HOST}:{self.port}"

    async def prepare(self) -> list[str]:
        """Formats the data directory if it is new."""
        properties = self.render("server.properties", data=self.data)
        if not (self.data / "meta.properties").exists():
            await self._format(properties)
        return [*self.command("kafka.Kafka"), str(properties)]

    async def ask(self) -> None:
        """A record is produced and fetched, and the coordinator of a group takes an offset."""
        await ask_socket(self.port, b"", 0)
        try:
            await _make_probe_topic(self.bootstrap)
            await _round_trip(self.bootstrap)
        except KafkaError as error:
            raise NotReady(repr(error)) from error

    async def _format(self, properties: Path) -> None:
        quick = ("-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-Xmx128m")
        tool = self.command("kafka.tools.StorageTool", *quick, file=False)
        words = ["format", "--ignore-formatted", "-t", cluster_id(uuid.uuid4().bytes), "-c", str(properties)]
        child = Child([*tool, *words], log=self._log, cwd=self.home)
        await child.start()
        try:
            await child.wait(60)
        finally:
            await child.kill()
        if child.exit_code != 0:
            raise EngineError(self._failure(f"could not format {self.data}", child.tail()))


def cluster_id(random: bytes) -> str:
    """16 bytes in URL-safe base 64. It never begins with a dash, which the tool would take for an option."""
    return base64.urlsafe_b64encode(bytes([random[0] & 0x7F, *random[1:]])).decode().rstrip("=")


async def _make_probe_topic(bootstrap: str) -> None:
    admin = AIOKafkaAdminClient(bootstrap_servers=bootstrap)
    try:
        await admin.start()
        response = await admin.create_topics([NewTopic(PROBE, 1, 1, topic_configs={"retention.ms": "60000"})])
        for _, code, *_ in response.topic_errors:
            if code not in (0, TopicAlreadyExistsError.errno):
                raise for_code(code)
    finally:
        await admin.close()


async def _round_trip(bootstrap: str) -> None:
    partition = TopicPartition(PROBE, 0)
    token = uuid.uuid4().bytes
    producer = AIOKafkaProducer(bootstrap_servers=bootstrap, acks="all")
    consumer = AIOKafkaConsumer(bootstrap_servers=bootstrap, group_id=PROBE, enable_auto_commit=False)
    try:
        await producer.start()
        sent = await producer.send_and_wait(PROBE, token, partition=0)
        await consumer.start()
        consumer.assign([partition])
        consumer.seek(partition, sent.offset)
        fetched = await consumer.getone()
        if fetched.value != token:
            raise NotReady(f"{PROBE} gave another record than was put there")
        await consumer.commit({partition: sent.offset + 1})
    finally:
        await producer.stop()
        await consumer.stop()
