"""Cassandra away and back: Unavailable meanwhile, and nobody has to restart anything."""

import asyncio
import contextlib
from collections.abc import AsyncIterator

import msgspec
import pytest

from notify_streams.cli.schema import create_tables
from notify_streams.ports import Unavailable
from notify_streams.records.cassandra import CassandraRecords
from notify_streams.settings import Cassandra, Settings
from notify_streams.stores.cassandra import connect
from tests.facts import a_decision, an_id


class Cable:
    """A TCP connection to the engine that can be cut and mended."""

    def __init__(self, host: str, port: int) -> None:
        self._to = host, port
        self._open: set[asyncio.StreamWriter] = set()
        self._server: asyncio.Server | None = None
        self.port = 0

    async def mend(self) -> None:
        self._server = await asyncio.start_server(self._join, "127.0.0.1", self.port)
        self.port = self._server.sockets[0].getsockname()[1]

    async def cut(self) -> None:
        assert self._server is not None
        self._server.close()
        for writer in self._open:
            writer.transport.abort()
        await self._server.wait_closed()

    async def _join(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        engine_reader, engine_writer = await asyncio.open_connection(*self._to)
        self._open |= {writer, engine_writer}
        await asyncio.gather(_pump(reader, engine_writer), _pump(engine_reader, writer))
        self._open -= {writer, engine_writer}


async def _pump(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with contextlib.suppress(OSError):
        while chunk := await reader.read(65536):
            writer.write(chunk)
            await writer.drain()
    writer.close()


@pytest.fixture
async def cable(cassandra: Cassandra) -> AsyncIterator[Cable]:
    await create_tables(Settings(cassandra=msgspec.structs.replace(cassandra, keyspace="outage")))
    cable = Cable(cassandra.hosts[0], cassandra.port)
    await cable.mend()
    yield cable
    await cable.cut()


@pytest.fixture
async def records(cable: Cable) -> AsyncIterator[CassandraRecords]:
    session = await connect(Cassandra(port=cable.port, keyspace="outage", request_timeout="2s"))
    yield await CassandraRecords.open(session)
    await session.close()


async def test_an_outage_is_unavailable_and_over_as_soon_as_cassandra_is_back(
    cable: Cable, records: CassandraRecords
) -> None:
    """OPS-05."""
    facts = [a_decision(notification_id=an_id()) for _ in range(100)]
    await records.write(facts)
    await cable.cut()
    for _ in range(3):
        with pytest.raises(Unavailable):
            await records.write(facts)
        with pytest.raises(Unavailable):
            await records.facts(facts[0].notification.notification_id)
    await cable.mend()
    async with asyncio.timeout(30):
        while True:
            with contextlib.suppress(Unavailable):
                await records.write(facts)
                break
            await asyncio.sleep(0.1)
    assert len(await records.facts(facts[-1].notification.notification_id)) == 1


async def test_nobody_there_is_unavailable() -> None:
    with pytest.raises(Unavailable):
        await connect(Cassandra(port=1))


async def test_a_missing_keyspace_says_what_to_do(cable: Cable) -> None:
    with pytest.raises(Unavailable, match="notify schema create"):
        await connect(Cassandra(port=cable.port, keyspace="nowhere"))
