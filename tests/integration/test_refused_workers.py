"""A worker that its consumer group refuses ends, and gets its partitions once the group is free."""

import asyncio
import signal
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

import aiohttp
from aiokafka import AIOKafkaConsumer
from aiokafka.coordinator.assignors.roundrobin import RoundRobinPartitionAssignor

from notify_streams.local.engines import LocalEngines
from notify_streams.local.programs import programs
from notify_streams.local.supervised import Supervised
from notify_streams.settings import load
from notify_streams.streaming import topics
from notify_streams.streaming.trust import MARK
from tests.workers import Kafka, handled, numbered

REFUSED = "worker.refused_by_group reason=InconsistentGroupProtocolError"


@asynccontextmanager
async def occupied(bootstrap: str, group: str, topic: str, *, instance: str | None = None) -> AsyncIterator[None]:
    """The group has a member that assigns partitions as no worker with tables does; a static one outlasts its end."""
    consumer = AIOKafkaConsumer(
        topic,
        bootstrap_servers=bootstrap,
        group_id=group,
        group_instance_id=instance,
        partition_assignment_strategy=(RoundRobinPartitionAssignor,),
        session_timeout_ms=10_000,
        heartbeat_interval_ms=1000,
    )
    await consumer.start()
    try:
        while not consumer.assignment():  # noqa: ASYNC110  the client sets no event
            await asyncio.sleep(0.05)
        yield
    finally:
        await consumer.stop()


async def test_a_worker_with_another_protocol_than_its_group_ends_and_the_next_one_works(broker: Kafka) -> None:
    await broker.make("in", "log", cleanup_policy="compact")
    prefix = broker.config.prefix
    async with occupied(broker.config.bootstrap, f"{prefix}tested", f"{prefix}in"):
        refused = await broker.start("state")
        assert await refused.child.wait(30), broker.tails()
        assert refused.child.exit_code == 75
        assert REFUSED in refused.log
        assert (refused.directory / MARK).exists()  # stopped in order: the next one trusts the tables on the disk

    again = await broker.start("state", instance=0, data=refused.spec.data)
    await broker.fill("in", [*numbered(5), *numbered(5, 1)])
    await broker.until(lambda: again.values.total() == 10)


async def test_a_worker_that_was_replaced_by_a_stranger_while_it_stood_still_ends(broker: Kafka) -> None:
    """It had partitions, is thrown out, and may not come back."""
    await broker.make("in", "log", cleanup_policy="compact")
    prefix = broker.config.prefix
    worker = await broker.start("state")
    await broker.fill("in", numbered(3))
    await broker.until(lambda: worker.values.total() == 3)
    worker.child.send(signal.SIGSTOP)
    await asyncio.sleep(8)  # its session is 6 s
    async with occupied(broker.config.bootstrap, f"{prefix}tested", f"{prefix}in"):
        worker.child.send(signal.SIGCONT)
        assert await worker.child.wait(30), broker.tails()
    assert worker.child.exit_code == 75
    assert REFUSED in worker.log


async def test_a_worker_for_which_there_is_no_partition_stays_and_takes_over(broker: Kafka) -> None:
    await broker.make("in")
    workers = [await broker.start("echo", instance=number) for number in range(3)]
    await broker.until(lambda: all(worker.is_ready for worker in workers))
    await asyncio.sleep(8)
    assert [worker.child.exit_code for worker in workers] == [None, None, None]
    await broker.fill("in", [*numbered(20), *numbered(20, 1)])
    await broker.until(lambda: handled(*workers).total() == 40)
    standby = next(worker for worker in workers if not worker.values)
    for worker in workers:
        if worker is not standby:
            await worker.child.kill()
    await broker.fill("in", [*numbered(5), *numbered(5, 1)])
    await broker.until(lambda: standby.values.total() >= 10, within=60)


async def test_a_broker_that_is_away_longer_than_a_session_refuses_nobody(broker: Kafka, engines: LocalEngines) -> None:
    """An idle worker waits for it, and goes on. (One that has something to say first meets its lease.)"""
    await broker.make("in")
    worker = await broker.start("echo")
    await broker.fill("in", numbered(3))
    await broker.caught_up()
    await engines.kill("kafka")
    await asyncio.sleep(10)  # its session is 6 s
    await engines.start("kafka")
    await broker.fill("in", numbered(4, 1))
    await broker.until(lambda: worker.values.total() >= 7, within=60)
    assert worker.child.exit_code is None
    assert "worker.refused_by_group" not in worker.log


async def test_a_role_that_met_its_own_older_membership_becomes_ready_by_itself(
    engines: LocalEngines, tmp_path: Path
) -> None:
    """As after an upgrade that changes what a role tells its group: the static member outlives the older process.

    The role is kept running as `notify up` keeps it.
    """
    await engines.start("kafka")
    own = {"NOTIFY_KAFKA__PREFIX": f"refused{time.time_ns()}.", "NOTIFY_KAFKA__SESSION_TIMEOUT": "10s"}
    config = load({**engines.addresses.environment(), **own}, cwd=tmp_path).kafka
    await topics.create(config, topics.all_topics(config))
    [role] = programs(replace(engines.addresses, gateway=None), tmp_path, roles=("scheduler",), simulator=False)
    role = replace(role, env={**role.env, **own})
    async with occupied(
        config.bootstrap, f"{config.prefix}scheduler", f"{config.prefix}timers", instance="scheduler-0"
    ):
        pass
    said: list[str] = []
    async with aiohttp.ClientSession() as http:
        kept = Supervised(role, logs=tmp_path / "logs", http=http, say=said.append)
        running = asyncio.ensure_future(kept.run())
        try:
            async with asyncio.timeout(90):
                while kept.state != "ready":  # noqa: ASYNC110  nor does another process
                    await asyncio.sleep(0.1)
        finally:
            running.cancel()
            await asyncio.wait([running])
            await kept.stop()
    assert "ended with exit code 75" in said[0]
    assert "is ready" in said[-1]
