"""No writes from the dead: a worker that stood still while another took over says nothing more."""

import asyncio
import signal
from collections import defaultdict
from functools import partial
from pathlib import Path

import msgspec
from aiokafka import ConsumerRecord

from tests.workers import Kafka

STOPPED_S = 30


async def test_a_worker_that_was_replaced_while_it_stood_still_writes_nothing_more(
    broker: Kafka, tmp_path: Path
) -> None:
    """Stopped with a batch in hand, woken when its successor is far ahead. Without the fence it writes that batch."""
    config = msgspec.structs.replace(broker.config, prefix=f"unfenced.{broker.config.prefix}")
    (tmp_path / "unfenced").mkdir()
    unfenced = Kafka(config, tmp_path / "unfenced")
    try:
        async with asyncio.TaskGroup() as both:  # where one fails, the other ends before the test does
            fenced = both.create_task(stop_and_wake(broker, fence=True))
            without = both.create_task(stop_and_wake(unfenced, fence=False))
    finally:
        await unfenced.close()

    (found, code), (found_unfenced, _) = fenced.result(), without.result()
    assert code == 75
    assert found == []
    assert found_unfenced != []


async def stop_and_wake(broker: Kafka, *, fence: bool) -> tuple[list[str], int | None]:
    """What the changelog then holds that is older than what stands before it; how the woken worker ended."""
    await broker.make("in", "log", cleanup_policy="compact")
    ended = asyncio.Event()
    async with asyncio.TaskGroup() as meanwhile:
        meanwhile.create_task(flow(broker, ended))
        woken, successor = await asyncio.gather(
            *(broker.start("state", instance=number, pause_s=0.2, fence=fence, sign=True) for number in (0, 1))
        )
        await broker.until(lambda: woken.values.total() > 300 and successor.values.total() > 300)
        woken.child.send(signal.SIGSTOP)
        before = successor.journal[-1].at
        await broker.until(
            lambda: {line.partition for line in successor.journal if line.at > before} == {0, 1}, within=60
        )
        await asyncio.sleep(STOPPED_S - (successor.journal[-1].at - before))

        written = len(await broker.read("log"))
        woken.child.send(signal.SIGCONT)
        await woken.child.wait(10)
        # The fence may end the woken one before the successor's next write.
        await broker.until_true(partial(is_written_on, broker, written))
        ended.set()
    return stale(await broker.read("log")), woken.child.exit_code


async def is_written_on(broker: Kafka, beyond: int) -> bool:
    """Whether the changelog has more records than these."""
    return len(await broker.read("log")) > beyond


async def flow(broker: Kafka, ended: asyncio.Event) -> None:
    """Every user's records carry ever greater numbers."""
    number = 0
    while not ended.is_set():
        await broker.fill("in", ((user % 2, f"u{user:02d}", f"{number:06d}") for user in range(20)))
        number += 1
        await asyncio.sleep(0.05)


def stale(log: list[ConsumerRecord[bytes, bytes]]) -> list[str]:
    """What the first worker wrote behind a newer value of the second one for the same key."""
    newest: defaultdict[bytes, bytes] = defaultdict(bytes)
    found = []
    for record in log:
        number, _, writer = (record.value or b"").partition(b" by ")
        key = record.key or b""
        if writer == b"0" and number < newest[key]:
            found.append(f"{key.decode()}: {number.decode()} after {newest[key].decode()}")
        if writer == b"1":
            newest[key] = max(number, newest[key])
    return found
