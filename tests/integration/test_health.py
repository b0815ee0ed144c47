"""The probes of a real worker."""

import asyncio

import aiohttp

from tests.workers import Kafka, Worker, numbered


async def probe(worker: Worker, path: str) -> tuple[int, dict[str, object]]:
    url = f"http://127.0.0.1:{worker.port}{path}"
    async with aiohttp.ClientSession() as session, session.get(url) as answer:
        return answer.status, await answer.json()


async def until_status(broker: Kafka, worker: Worker, path: str, status: int) -> dict[str, object]:
    found: dict[str, object] = {}

    async def asked() -> bool:
        nonlocal found
        got, found = await probe(worker, path)
        return got == status

    await broker.until_true(asked)
    return found


async def test_a_worker_is_ready_once_it_has_partitions_and_stalled_when_nothing_is_committed(broker: Kafka) -> None:
    await broker.make("in")
    worker = await broker.start("echo", hold=["7"], limit=5)
    await broker.until(lambda: worker.is_ready)
    await until_status(broker, worker, "/readyz", 200)

    await broker.fill("in", numbered(20))
    said = await until_status(broker, worker, "/healthz", 503)
    assert said["state"] == "stalled"
    assert "15 behind and nothing committed" in str(said["reasons"])

    broker.release()
    await until_status(broker, worker, "/healthz", 200)


async def test_a_worker_without_a_partition_is_not_alive(broker: Kafka) -> None:
    await broker.make("in")
    workers = [await broker.start("echo", instance=number) for number in range(3)]
    await broker.until(lambda: all(worker.is_ready for worker in workers))

    async def one_is_idle() -> bool:
        return sorted([(await probe(worker, "/healthz"))[0] for worker in workers]) == [200, 200, 503]

    await broker.until_true(one_is_idle)


async def test_a_marker_at_the_end_of_a_partition_is_no_lag(broker: Kafka) -> None:
    """A transaction's last place holds no record: what cannot be committed past is not behind."""
    await broker.make("in")
    await broker.mark("in")
    worker = await broker.start("echo")
    await broker.until(lambda: worker.values.total() == 2)
    for _ in range(40):
        assert (await probe(worker, "/healthz"))[0] == 200
        await asyncio.sleep(0.1)
