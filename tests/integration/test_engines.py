import asyncio
import os
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, TopicPartition
from cassandra.cluster import EXEC_PROFILE_DEFAULT, Cluster, ExecutionProfile
from cassandra.policies import RoundRobinPolicy

from notify_streams import settings
from notify_streams.local.engine import EngineError, NotReady, ask_socket
from notify_streams.local.engines import LocalEngines
from notify_streams.local.kafka import PROBE
from notify_streams.local.lock import InUse
from tests.engines import JARS, is_gone

PARENT = """
import asyncio, sys, time
from pathlib import Path
from notify_streams.local.engines import LocalEngines
engines = LocalEngines(Path(sys.argv[1]), Path(sys.argv[2]), standard_ports=False)
asyncio.run(engines.open())
print(*engines.pids.values(), flush=True)
time.sleep(600)
"""


def _engines(state: Path, *which: str, fresh: bool = False) -> LocalEngines:
    chosen = [name for name in ("kafka", "cassandra", "redis") if name in which]
    return LocalEngines(state, JARS, chosen, fresh=fresh, standard_ports=False)


async def _publish(bootstrap: str, value: bytes) -> int:
    producer = AIOKafkaProducer(bootstrap_servers=bootstrap, acks="all")
    await producer.start()
    try:
        offset: int = (await producer.send_and_wait(PROBE, value, partition=0)).offset
        return offset
    finally:
        await producer.stop()


async def _fetch(bootstrap: str, offset: int) -> bytes:
    consumer = AIOKafkaConsumer(bootstrap_servers=bootstrap)
    await consumer.start()
    try:
        consumer.assign([TopicPartition(PROBE, 0)])
        consumer.seek(TopicPartition(PROBE, 0), offset)
        value: bytes = (await consumer.getone()).value
        return value
    finally:
        await consumer.stop()


async def _redis(url: str, command: bytes, answer: bytes) -> bool:
    port = int(url.split(":")[2].split("/")[0])
    return await ask_socket(port, command + b"\r\n", len(answer)) == answer


def _cql(address: tuple[str, int], *statements: str) -> list[tuple[int, ...]]:
    host, port = address
    profile = ExecutionProfile(load_balancing_policy=RoundRobinPolicy())
    cluster = Cluster([host], port=port, protocol_version=5, execution_profiles={EXEC_PROFILE_DEFAULT: profile})
    try:
        session = cluster.connect()
        for statement in statements:
            rows = session.execute(statement)
        return [tuple(row) for row in rows]
    finally:
        cluster.shutdown()


async def test_the_shared_engines_serve(
    kafka: settings.Kafka, cassandra: settings.Cassandra, redis: settings.Redis, engines: LocalEngines
) -> None:
    assert engines.addresses.kafka == kafka.bootstrap
    assert engines.addresses.cassandra == (cassandra.hosts[0], cassandra.port)
    assert engines.addresses.redis == redis.url
    assert set(engines.pids) == {"kafka", "cassandra", "redis"}


async def test_a_killed_broker_comes_back_on_its_port_with_its_records(tmp_path: Path) -> None:
    async with _engines(tmp_path, "kafka") as engines:
        bootstrap = engines.addresses.kafka or ""
        offset = await _publish(bootstrap, b"kept")
        await engines.kill("kafka")
        assert engines.pids == {}
        await engines.start("kafka")
        assert engines.addresses.kafka == bootstrap
        assert await _fetch(bootstrap, offset) == b"kept"


async def test_a_paused_engine_does_not_answer_until_it_is_resumed(tmp_path: Path) -> None:
    async with _engines(tmp_path, "redis") as engines:
        url = engines.addresses.redis or ""
        engines.pause("redis")
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(_redis(url, b"PING", b"+PONG\r\n"), 0.5)
        engines.resume("redis")
        assert await _redis(url, b"PING", b"+PONG\r\n")


async def test_data_outlives_a_kill_and_other_ports_until_it_is_wiped(tmp_path: Path) -> None:
    async with _engines(tmp_path, "kafka", "redis") as engines:
        offset = await _publish(engines.addresses.kafka or "", b"kept")
        assert await _redis(engines.addresses.redis or "", b"SET a 1", b"+OK\r\n")
        await engines.kill("redis")
    async with _engines(tmp_path, "kafka", "redis") as engines:
        assert await _fetch(engines.addresses.kafka or "", offset) == b"kept"
        assert await _redis(engines.addresses.redis or "", b"GET a", b"$1\r\n1\r\n")
    async with _engines(tmp_path, "redis", fresh=True) as engines:
        assert await _redis(engines.addresses.redis or "", b"GET a", b"$-1\r\n")
        assert not (tmp_path / "kafka").exists()


async def test_cassandra_keeps_its_rows_when_its_ports_change(tmp_path: Path) -> None:
    made = ("CREATE KEYSPACE k WITH replication = {'class': 'SimpleStrategy', 'replication_factor': 1}",)
    async with _engines(tmp_path, "cassandra") as engines:
        first = engines.addresses.cassandra or ("", 0)
        rows = (*made, "CREATE TABLE k.t (a int PRIMARY KEY)", "INSERT INTO k.t (a) VALUES (7)")
        await asyncio.to_thread(_cql, first, *rows)
    async with _engines(tmp_path, "cassandra") as engines:
        second = engines.addresses.cassandra or ("", 0)
        assert second != first
        assert await asyncio.to_thread(_cql, second, "SELECT a FROM k.t") == [(7,)]


async def test_a_directory_in_use_is_refused_with_the_process_that_uses_it(tmp_path: Path) -> None:
    async with _engines(tmp_path):
        with pytest.raises(InUse, match=f"in use by process {os.getpid()}"):
            await _engines(tmp_path).open()


async def test_missing_jars_are_an_error_that_says_what_to_do(tmp_path: Path) -> None:
    engines = LocalEngines(tmp_path / "state", tmp_path / "none", ["kafka"], standard_ports=False)
    with pytest.raises(EngineError, match="scripts/setup"):
        await engines.open()
    assert engines.pids == {}


async def test_a_server_that_hangs_up_is_not_ready() -> None:
    server = await asyncio.start_server(lambda _, writer: writer.close(), "127.0.0.1", 0)
    async with server:
        with pytest.raises(NotReady):
            await ask_socket(server.sockets[0].getsockname()[1], b"PING\r\n", 7)


def test_no_engine_outlives_its_killed_parent(tmp_path: Path) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", PARENT, str(tmp_path), str(JARS)], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    ) as parent:
        assert parent.stdout is not None
        engines = [psutil.Process(int(pid)) for pid in parent.stdout.readline().split()]
        assert len(engines) == 3
        parent.kill()
        parent.wait()
    until = time.monotonic() + 5
    while not all(is_gone(engine) for engine in engines):
        assert time.monotonic() < until
        time.sleep(0.05)
