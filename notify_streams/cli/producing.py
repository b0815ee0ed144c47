"""Events from the shell into Kafka, checked by the code that ingest uses."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from time import time
from typing import Any

import click
from aiokafka import AIOKafkaProducer
from aiokafka.errors import KafkaError

from notify_streams.domain import accept
from notify_streams.domain.accept import Accepted, Limits, Rejected
from notify_streams.settings import Kafka
from schemas.catalogue import Catalogue

HEADERS = [("content-type", b"application/cloudevents+json")]


def checked(value: bytes, catalogue: Catalogue, limits: Limits) -> Accepted | Rejected:
    """What ingest will make of a structured CloudEvent."""
    headers = dict(HEADERS)
    now = round(time() * 1000)
    record = accept.Record(value=value, headers=headers, lane="high", accepted_at=now, origin="shell")
    return accept.accept(record, catalogue, limits)


@asynccontextmanager
async def producer(kafka: Kafka) -> AsyncIterator[Any]:
    """A started idempotent producer, flushed at the end. Exits with 1 and a hint where there is no broker."""
    client = AIOKafkaProducer(
        bootstrap_servers=kafka.bootstrap,
        client_id="notify-shell",
        acks="all",
        enable_idempotence=True,
        max_batch_size=256 * 1024,
        max_request_size=2 * 1024 * 1024,
        linger_ms=5,
    )
    try:
        await client.start()
    except (KafkaError, OSError) as error:
        with suppress(KafkaError, OSError):
            await client.stop()
        hint = "`notify up` starts one"
        raise click.ClickException(f"no broker answers at {kafka.bootstrap} ({error}). {hint}") from error
    try:
        yield client
    finally:
        await client.stop()
