"""The project's tables on the real Cassandra."""

import asyncio
from collections.abc import Iterator

import msgspec
import pytest

from notify_streams.cli.schema import create_tables
from notify_streams.settings import Cassandra, Settings
from notify_streams.stores.cassandra import Session, connect


@pytest.fixture(scope="session")
def keyspace(cassandra: Cassandra) -> Cassandra:
    """All tables, in a keyspace that the contract suites share: use ids of your own."""
    config = msgspec.structs.replace(cassandra, keyspace="contract")
    asyncio.run(create_tables(Settings(cassandra=config)))
    return config


@pytest.fixture(scope="session")
def tables(keyspace: Cassandra) -> Iterator[Session]:
    """A session on them; it belongs to no event loop."""
    session = asyncio.run(connect(keyspace))
    yield session
    asyncio.run(session.close())


@pytest.fixture(params=["memory", "cassandra"])
def backing(request: pytest.FixtureRequest) -> Session | None:
    """What a suite's store stands on: nothing, or the real tables."""
    session: Session | None = request.getfixturevalue("tables") if request.param == "cassandra" else None
    return session
