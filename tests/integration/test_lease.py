"""No writes from the dead: a worker that stood still while another took over says nothing more."""

import asyncio
import signal
from collections import defaultdict

from tests.workers import Kafka

STOPPED_S = 30


async def test_a_worker_that_was_replaced_while_it_stood_still_writes_nothing_more(broker: Kafka) -> None:
    await broker.make("in", "log", cleanup_policy="compact")

    async def flow(total: int) -> None:
        for number in range(total):
            await broker.fill("in", ((user % 2, f"u{user:02d}", f"{number:06d}") for user in range(60)))
            await asyncio.sleep(0.02)

    producing = asyncio.ensure_future(flow(2000))
    woken = await broker.start("state", instance=0)
    successor = await broker.start("state", instance=1)
    await broker.until(lambda: woken.values.total() > 300 and successor.values.total() > 300)
    woken.child.send(signal.SIGSTOP)
    before = successor.journal[-1].at
    await broker.until(lambda: {line.partition for line in successor.journal if line.at > before} == {0, 1}, within=60)
    await asyncio.sleep(STOPPED_S - (successor.journal[-1].at - before))
    woken.child.send(signal.SIGCONT)
    await broker.until(lambda: woken.child.exit_code is not None, within=20)
    producing.cancel()
    await broker.caught_up()

    assert woken.child.exit_code == 75
    assert await older_than_what_stands_before(broker) == []
    assert successor.child.pid is not None


async def older_than_what_stands_before(broker: Kafka) -> list[tuple[str, str, str]]:
    """Records of the changelog that are older than the one of their key before them: key, older, newer."""
    newest: defaultdict[bytes, bytes] = defaultdict(bytes)
    found = []
    for record in await broker.read("log"):
        key, value = record.key or b"", record.value or b""
        if value < newest[key]:
            found.append((key.decode(), value.decode(), newest[key].decode()))
        newest[key] = max(value, newest[key])
    return found
