"""Records into Kafka, each acknowledged by all in-sync replicas before anybody says so."""

import asyncio
import logging
from collections.abc import Sequence
from contextlib import suppress
from typing import Any, Protocol

from aiokafka import AIOKafkaProducer
from aiokafka.errors import KafkaError, KafkaTimeoutError

from notify_streams.ports import Unavailable
from notify_streams.settings import Settings, seconds

log = logging.getLogger(__name__)
_BACKOFF_S = 1.0
_PROBE_S = 2.0

Headers = Sequence[tuple[str, bytes]]


class Publisher(Protocol):
    """Where commands and events go."""

    async def publish(self, topic: str, key: bytes, value: bytes, headers: Headers = ()) -> None:
        """Return once the broker has acknowledged the record; `topic` is without prefix.

        Raises Unavailable once the delivery timeout is over: not confirmed, it may still come to be.
        """

    async def probe(self) -> None:
        """Ask the broker something. Raises Unavailable."""


class KafkaPublisher:
    """One idempotent producer. A broken one is replaced: aiokafka's stays broken for good."""

    def __init__(self, settings: Settings) -> None:
        self._kafka = settings.kafka
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
