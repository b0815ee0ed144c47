"""Waiting for Kafka before anything joins a group: topics there, and as they should be."""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import TypeVar

from notify_streams.ports import Unavailable
from notify_streams.settings import Settings
from notify_streams.streaming import topics

T = TypeVar("T")
log = logging.getLogger(__name__)


class NotReady(RuntimeError):
    """An engine answers but is not set up; the message says what to do."""


async def for_kafka(settings: Settings) -> None:
    """Return once the broker answers. Raises NotReady when its topics are missing or otherwise than provisioned."""
    faults = await patiently("kafka", lambda: topics.check(settings.kafka, topics.all_topics(settings.kafka)))
    if faults:
        raise NotReady("; ".join(faults[:5]) + ": run `notify topics create`, or set kafka.partitions as it was")


async def patiently(engine: str, probe: Callable[[], Awaitable[T]]) -> T:
    """Repeat the probe until it no longer raises Unavailable; says so once and then every 10 s."""
    waited = 0.0
    while True:
        try:
            return await probe()
        except Unavailable as error:
            if waited % 10 < 0.5:
                log.warning("engine.awaited engine=%s waited_s=%.0f reason=%s", engine, waited, error)
        await asyncio.sleep(0.5)
        waited += 0.5
