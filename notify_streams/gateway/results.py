"""The answers to commands, tailed from every partition of `command-results` by every gateway.

A gateway begins ten minutes back, as far as its own memory of versions would have reached, and after an interruption
where it was: what it never heard, it could contradict.
"""

import asyncio
import logging
from collections.abc import Callable, Sequence
from contextlib import suppress
from time import time
from typing import Any, Protocol

import msgspec
from aiokafka import AIOKafkaConsumer, TopicPartition
from aiokafka.errors import KafkaError

from notify_streams.gateway.known import KEPT_S
from notify_streams.ports import Unavailable
from notify_streams.settings import Kafka
from notify_streams.streaming import topics
from schemas.commands import CommandResultV1
from schemas.inbox import InboxResultV1, decode_answer

log = logging.getLogger(__name__)
Answer = CommandResultV1 | InboxResultV1
_BACKOFF_S, _ENDS_S, _POLL_MS = 1.0, 10.0, 500


class Results(Protocol):
    """Where the answers come in."""

    @property
    def listening(self) -> bool:
        """Whether an answer given from now on is heard."""

    def expect(self, command_id: str) -> asyncio.Future[Answer]:
        """What will hold the answer; cancel it to stop waiting. Raises Unavailable while nothing is heard."""


class Waiting:
    """Who waits for which command."""

    def __init__(self, heard: Callable[[CommandResultV1], None]) -> None:
        self._heard = heard
        self._waiting: dict[str, asyncio.Future[Answer]] = {}
        self.listening = False

    def expect(self, command_id: str) -> asyncio.Future[Answer]:
        """See Results."""
        if not self.listening:
            raise Unavailable("the answers to commands are not heard yet")
        future: asyncio.Future[Answer] = asyncio.get_running_loop().create_future()
        self._waiting[command_id] = future
        future.add_done_callback(lambda _: self._waiting.pop(command_id, None))
        return future

    def take(self, value: bytes | None) -> None:
        """One record of the topic. What cannot be read is nobody's answer."""
        try:
            result = decode_answer(value or b"")
        except msgspec.DecodeError:
            log.warning("results.undecodable")
            return
        if isinstance(result, CommandResultV1) and result.user_id:  # an answer of the registry is of no user
            self._heard(result)
        future = self._waiting.get(result.command_id)
        if future is not None and not future.done():
            future.set_result(result)


class KafkaResults(Waiting):
    """The tail: no group, for as long as the gateway runs; it begins `back_s` seconds ago."""

    def __init__(self, kafka: Kafka, heard: Callable[[CommandResultV1], None], *, back_s: float = KEPT_S) -> None:
        super().__init__(heard)
        self._kafka, self._back_s = kafka, back_s
        self._task: asyncio.Task[None] | None = None
        self._next: dict[TopicPartition, int] = {}

    def start(self) -> None:
        """Listen in the background; `listening` once it has heard all that was there when it began."""
        self._task = asyncio.create_task(self._run(), name="results.tail")

    async def close(self) -> None:
        """Stop listening."""
        if self._task is not None:
            self._task.cancel()
            with suppress(asyncio.CancelledError):
                await self._task

    async def _run(self) -> None:
        while True:
            consumer = AIOKafkaConsumer(
                bootstrap_servers=self._kafka.bootstrap,
                client_id="notify-gateway",
                enable_auto_commit=False,
                auto_offset_reset="earliest",
            )
            try:
                await consumer.start()
                await self._tail(consumer)
            except (KafkaError, OSError, TimeoutError) as error:
                log.warning("results.interrupted reason=%r", error)
            finally:
                self.listening = False
                await consumer.stop()
            await asyncio.sleep(_BACKOFF_S)

    async def _tail(self, consumer: Any) -> None:
        topic = self._kafka.prefix + topics.COMMAND_RESULTS
        partitions = [TopicPartition(topic, number) for number in range(self._kafka.partitions)]
        consumer.assign(partitions)
        async with asyncio.timeout(_ENDS_S):
            ends = await consumer.end_offsets(partitions)
            for partition, offset in (await self._beginnings(consumer, partitions, ends)).items():
                consumer.seek(partition, offset)
        while True:
            if not self.listening:
                self.listening = all([await consumer.position(tp) >= end for tp, end in ends.items()])
            batches = await consumer.getmany(timeout_ms=_POLL_MS)
            for partition, records in batches.items():
                for record in records:
                    self.take(record.value)
                self._next[partition] = records[-1].offset + 1

    async def _beginnings(
        self, consumer: Any, partitions: Sequence[TopicPartition], ends: dict[TopicPartition, int]
    ) -> dict[TopicPartition, int]:
        since = round((time() - self._back_s) * 1000)
        found = await consumer.offsets_for_times(dict.fromkeys(partitions, since))
        of_time = {tp: ends[tp] if found.get(tp) is None else found[tp].offset for tp in partitions}
        return of_time | {tp: offset for tp, offset in self._next.items() if offset <= ends[tp]}
