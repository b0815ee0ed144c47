"""Records into Kafka, each acknowledged by all in-sync replicas before anybody says so."""

import asyncio
import logging
from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import Any, Protocol

import msgspec
from aiokafka import AIOKafkaProducer
from aiokafka.errors import KafkaError, KafkaTimeoutError

from notify_streams.ports import Unavailable
from notify_streams.settings import Settings, seconds
from notify_streams.streaming.partitions import Partitions

log = logging.getLogger(__name__)
_BACKOFF_S = 1.0
_PROBE_S = 2.0

Headers = Sequence[tuple[str, bytes]]


class Record(msgspec.Struct, frozen=True):
    """One record of many; `topic` is without prefix."""

    topic: str
    key: bytes
    value: bytes
    headers: Headers = ()


class Publisher(Protocol):
    """Where commands and events go."""

    async def publish(self, topic: str, key: bytes, value: bytes, headers: Headers = ()) -> None:
        """Return once the broker has acknowledged the record; `topic` is without prefix.

        Raises Unavailable once the delivery timeout is over: not confirmed, it may still come to be.
        """

    async def probe(self) -> None:
        """Ask the broker something. Raises Unavailable."""


class BatchPublisher(Publisher, Protocol):
    """One for many records at once too."""

    async def publish_all(self, records: Sequence[Record]) -> Sequence[bool]:
        """Which of them the broker has acknowledged. Raises Unavailable for all."""


class KafkaPublisher:
    """One idempotent producer. A broken one is replaced: aiokafka's stays broken for good."""

    def __init__(self, settings: Settings) -> None:
        self._kafka = settings.kafka
        self._partitions = Partitions(settings.kafka.partitions)
        self._timeout_s = seconds(settings.gateway.delivery_timeout)
        self._producer: Any = None
        self._connecting: asyncio.Task[None] | None = None
        self._leaving: asyncio.Task[None] | None = None

    def start(self) -> None:
        """Connect in the background, for as long as it takes; until then everything is Unavailable."""
        if self._connecting is None or self._connecting.done():
            self._connecting = asyncio.create_task(self._connect(), name="publisher.connect")

    async def publish(self, topic: str, key: bytes, value: bytes, headers: Headers = ()) -> None:
        """See Publisher."""
        producer = self._producer
        if producer is None:
            raise Unavailable("no connection to the broker yet")
        try:
            async with asyncio.timeout(self._timeout_s):
                await (await producer.send(self._kafka.prefix + topic, value, key, headers=list(headers)))
        except TimeoutError:
            raise Unavailable(f"the broker did not acknowledge within {self._timeout_s} s") from None
        except KafkaError as error:
            if not (error.retriable or isinstance(error, KafkaTimeoutError)):  # that one: its buffer is full
                self._replace(producer)
            raise Unavailable(f"the broker did not take a record: {error!r}") from error

    async def publish_all(self, records: Sequence[Record]) -> Sequence[bool]:
        """See BatchPublisher. By record batches: each of them is acknowledged or not as a whole."""
        producer = self._producer
        if producer is None:
            raise Unavailable("no connection to the broker yet")
        sent: list[tuple[list[int], asyncio.Future[Any]]] = []
        try:
            async with asyncio.timeout(self._timeout_s):
                for topic, partition, batch, places in self._batches(producer, records):
                    sent.append((places, await producer.send_batch(batch, topic, partition=partition)))
                await asyncio.wait([future for _, future in sent])
        except TimeoutError:
            log.warning("publisher.late records=%d", len(records))
        except KafkaError as error:
            self._replace(producer)
            raise Unavailable(f"the broker did not take records: {error!r}") from error
        done = [False] * len(records)
        for places, future in sent:
            if future.done() and not future.cancelled() and future.exception() is None:
                for place in places:
                    done[place] = True
        return done

    def _batches(self, producer: Any, records: Sequence[Record]) -> Iterator[tuple[str, int, Any, list[int]]]:
        """Record batches by topic and partition, with the places of their records."""
        open_: dict[tuple[str, int], tuple[Any, list[int]]] = {}
        for place, record in enumerate(records):
            at = self._kafka.prefix + record.topic, self._partitions.of(record.key)
            batch, places = open_.get(at, (None, []))
            if batch is None or not _append(batch, record):
                if batch is not None:
                    yield (*at, batch, places)
                batch, places = producer.create_batch(), []
                _append(batch, record)
            places.append(place)
            open_[at] = batch, places
        for at, (batch, places) in open_.items():
            yield (*at, batch, places)

    async def probe(self) -> None:
        """See Publisher."""
        producer = self._producer
        if producer is None:
            raise Unavailable("no connection to the broker yet")
        try:
            async with asyncio.timeout(_PROBE_S):
                answered = await producer.client.force_metadata_update()
        except (TimeoutError, KafkaError) as error:
            raise Unavailable(f"the broker does not answer: {error!r}") from error
        if not answered:
            raise Unavailable("the broker does not answer")

    async def close(self) -> None:
        """Wait for what is under way, at most for the delivery timeout, then let go."""
        if self._connecting is not None:
            self._connecting.cancel()
            with suppress(asyncio.CancelledError):
                await self._connecting
        if self._producer is not None:
            await self._stop(self._producer)

    def _replace(self, broken: Any) -> None:
        if self._producer is broken:
            log.error("publisher.replaced")
            self._producer = None
            self._leaving = asyncio.create_task(self._stop(broken), name="publisher.leave")
            self.start()

    async def _connect(self) -> None:
        while True:
            producer = AIOKafkaProducer(
                bootstrap_servers=self._kafka.bootstrap,
                client_id="notify-gateway",
                acks="all",
                enable_idempotence=True,
                max_request_size=2 * 1024 * 1024,
                max_batch_size=512 * 1024,
                request_timeout_ms=round(self._timeout_s * 1000),
            )
            try:
                await producer.start()
            except (KafkaError, OSError) as error:
                log.warning("publisher.waits reason=%r", error)
                await self._stop(producer)
                await asyncio.sleep(_BACKOFF_S)
            except asyncio.CancelledError:
                await self._stop(producer)
                raise
            else:
                self._producer = producer
                return

    async def _stop(self, producer: Any) -> None:
        with suppress(KafkaError, OSError, TimeoutError):
            async with asyncio.timeout(self._timeout_s):
                await producer.stop()


def _append(batch: Any, record: Record) -> bool:
    """False where the batch is full."""
    headers = list(record.headers)
    return batch.append(key=record.key, value=record.value, timestamp=None, headers=headers) is not None
