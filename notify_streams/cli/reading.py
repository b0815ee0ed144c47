"""What commands that read the records share: opening them, and saying it when they cannot be reached."""

import asyncio
import sys
from collections.abc import AsyncIterator, Awaitable
from contextlib import asynccontextmanager
from typing import TypeVar

import click

from notify_streams.ports import Unavailable
from notify_streams.records.cassandra import CassandraRecords
from notify_streams.settings import Settings
from notify_streams.stores.cassandra import connect

T = TypeVar("T")


@asynccontextmanager
async def opened(config: Settings) -> AsyncIterator[CassandraRecords]:
    """The records, for as long as the block lasts. Raises Unavailable."""
    session = await connect(config.cassandra)
    try:
        yield await CassandraRecords.open(session)
    finally:
        await session.close()


def answered(work: Awaitable[T]) -> T:
    """Run it; an engine that is away is one sentence on standard error and exit code 1."""

    async def awaited() -> T:
        return await work

    try:
        return asyncio.run(awaited())
    except Unavailable as error:
        click.echo(f"notify: {error}. Is it running? `notify status` shows what is.", err=True)
        sys.exit(1)
