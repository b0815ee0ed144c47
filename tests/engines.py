"""Fixtures with the real engines: each starts when a test first asks for it, and serves the whole session."""

import asyncio
from collections.abc import Coroutine, Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest

from notify_streams import settings
from notify_streams.local.engines import EngineName, LocalEngines

JARS = Path(__file__).parents[1] / ".local" / "engines"


@pytest.fixture(scope="session")
def engines(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalEngines]:
    """Not yet started, on any free ports, with data and logs in a temporary directory."""
    local = LocalEngines(tmp_path_factory.mktemp("engines"), JARS, which=(), standard_ports=False)
    _run(local.open())
    yield local
    _run(local.close())


@pytest.fixture(scope="session")
def kafka(engines: LocalEngines) -> settings.Kafka:
    """A running broker; choose a prefix of your own."""
    _ensure(engines, "kafka")
    return settings.Kafka(bootstrap=engines.addresses.kafka or "")


@pytest.fixture(scope="session")
def cassandra(engines: LocalEngines) -> settings.Cassandra:
    """A running node; choose a keyspace of your own."""
    _ensure(engines, "cassandra")
    host, port = engines.addresses.cassandra or ("", 0)
    return settings.Cassandra(hosts=(host,), port=port)


@pytest.fixture(scope="session")
def redis(engines: LocalEngines) -> settings.Redis:
    """A running server; clean up your keys, or choose a database of your own (0 to 15)."""
    _ensure(engines, "redis")
    return settings.Redis(url=engines.addresses.redis or "")


def is_gone(process: psutil.Process) -> bool:
    """It ended, whether or not somebody asked for its exit code."""
    try:
        return not process.is_running() or process.status() == psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return True


def _ensure(engines: LocalEngines, name: EngineName) -> None:
    _run(engines.start(name))


def _run(work: Coroutine[Any, Any, None]) -> None:
    """In a loop of its own: the engines belong to no loop, so those of the tests may come and go."""
    loop = asyncio.new_event_loop()
    try:
        loop.run_until_complete(work)
    finally:
        loop.close()
