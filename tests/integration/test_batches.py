"""What an agent has taken, may have taken, and may not be said to have done."""

import asyncio
import time
from collections import defaultdict

from notify_streams.streaming import topics
from tests.workers import Kafka, Worker, handled, numbered


def names(count: int) -> set[str]:
    return {str(number) for number in range(count)}


async def test_what_was_buffered_before_a_rebalance_comes_again_after_it(broker: Kafka) -> None:
    """A member joins while 1,500 records wait behind one that takes long; then all of them are killed."""
    await broker.make("in")
    await broker.fill("in", [*numbered(1500), *((1, "v", f"b{number}") for number in range(1500))])
    first = await broker.start("echo", instance=0, limit=5, pause_s=0.05)
    await broker.until(lambda: first.values.total() > 20)

    second = await broker.start("echo", instance=1, limit=5, pause_s=0.05)
    await broker.until(lambda: second.is_ready and second.values.total() > 5)
    await asyncio.sleep(1)
    await asyncio.gather(first.child.kill(), second.child.kill())

    last = await asyncio.gather(*(broker.start("echo", instance=number) for number in (0, 1)))
    await broker.caught_up()
    assert set(handled(first, second, *last)) == names(1500) | {f"b{number}" for number in range(1500)}


async def test_stock_loses_the_event_whose_agent_raises_and_what_it_took_with_it(broker: Kafka) -> None:
    """Ours acknowledges neither that list nor anything after it: a restart without the fault does all nine."""
    await broker.make("in")
    await broker.fill("in", numbered(9))
    ours = await broker.start("echo", role="ours", instance=0, limit=3, raise_at="4")
    stock = await broker.start("echo", role="stock", instance=0, limit=3, raise_at="4", stock=True, style="take")
    await broker.until(lambda: "8" in ours.values and "3" in stock.values)
    await asyncio.sleep(1)
    await asyncio.gather(ours.child.kill(), stock.child.kill())

    again = await broker.start("echo", role="ours", instance=0)
    stock_again = await broker.start("echo", role="stock", instance=0, stock=True, style="take")
    await broker.fill("in", [(0, "u", "end")])
    await broker.until(lambda: "end" in again.values and "end" in stock_again.values)

    assert set(handled(ours, again)) == {*names(9), "end"}
    assert "4" not in handled(stock, stock_again)


async def test_a_crash_does_not_commit(broker: Kafka) -> None:
    """KAF-10: the process ends inside record 5 of 9."""
    await broker.make("in", "out", topics.DEAD_LETTERS)
    await broker.fill("in", numbered(9))
    first = await broker.start("forward", instance=0, limit=2, exit_at="5")
    await broker.until(lambda: first.child.exit_code == 9)

    second = await broker.start("forward", instance=0, limit=2)
    await broker.caught_up()
    assert set(handled(first, second)) == names(9)
    assert {(record.value or b"").decode() for record in await broker.read("out")} == names(9)


async def test_a_stop_in_the_middle_of_a_batch_finishes_it_first(broker: Kafka) -> None:
    await broker.make("in")
    await broker.fill("in", numbered(200))
    first = await broker.start("echo", instance=0, limit=10, pause_s=0.1)
    await broker.until(lambda: first.values.total() > 20)
    await first.child.stop(20)

    second = await broker.start("echo", instance=0)
    await broker.caught_up()
    assert first.child.exit_code == 0
    assert handled(first, second) == dict.fromkeys(names(200), 1)


async def test_poison_in_the_middle_of_a_partition_is_kept_and_the_rest_goes_on(broker: Kafka) -> None:
    """RTY-10: 100 good, one that always raises, 100 good."""
    await broker.make("in", "out", topics.DEAD_LETTERS)
    records = [*numbered(100), (0, "u", "poison"), *((0, "u", str(number)) for number in range(100, 200))]
    await broker.fill("in", records)

    first = await broker.start("forward", instance=0, raise_at="poison")
    await broker.caught_up()
    await first.child.kill()
    second = await broker.start("forward", instance=0, raise_at="poison")
    await broker.until(lambda: second.is_ready)
    await asyncio.sleep(1)

    (grave,) = await broker.read(topics.DEAD_LETTERS)
    headers = dict(grave.headers)
    assert grave.value == b"poison"
    assert (headers["notify-original-offset"], headers["notify-error"]) == (b"100", b"poison")
    assert [record.value for record in await broker.read("out")] == [b"%d" % number for number in range(200)]
    assert second.journal == []


async def test_members_come_and_go_under_flow_and_nobody_is_missed(broker: Kafka) -> None:
    """KAF-12, small: join, orderly leave and SIGKILL. Each user's records come in order, but for repeats."""
    await broker.make("in", "out", topics.DEAD_LETTERS)
    users, rounds = 20, 150

    async def produce() -> None:
        for number in range(rounds):
            await broker.fill("in", ((user % 2, f"u{user}", f"{user}.{number}") for user in range(users)))
            await asyncio.sleep(0.03)

    flow = asyncio.ensure_future(produce())
    workers = [await broker.start("forward", instance=0, limit=20)]
    for number in (1, 2):
        workers.append(await broker.start("forward", instance=number, limit=20))
        await broker.until(lambda: workers[-1].is_ready)
    await workers[1].child.stop(20)
    await workers[0].child.kill()
    workers.append(await broker.start("forward", instance=3, limit=20))
    await flow
    await broker.caught_up(within=40)

    assert set(handled(*workers)) == {f"{user}.{number}" for user in range(users) for number in range(rounds)}
    assert all(_in_order(worker) for worker in workers)


def _in_order(worker: Worker) -> bool:
    """Whether each user's first sight of each record came in order; what comes again after a rebalance is a repeat."""
    seen: defaultdict[str, int] = defaultdict(lambda: -1)
    known: set[str] = set()
    for line in worker.journal:
        number = int(line.value.partition(".")[2])
        if line.value in known:
            continue
        known.add(line.value)
        if number < seen[line.key]:
            return False
        seen[line.key] = number
    return True


async def test_high_is_not_held_up_by_a_backlog_on_low(broker: Kafka) -> None:
    await broker.make("high", "low")
    await broker.fill("low", ((number % 2, "u", f"{number}") for number in range(6000)))
    worker = await broker.start("lanes", limit=100, pause_s=0.02)
    await broker.until(lambda: worker.is_ready)

    sent = {}
    for number in range(40):
        sent[str(number)] = time.time()
        await broker.fill("high", [(number % 2, "u", str(number))])
    await broker.until(lambda: worker.values.total() == 40)

    took = sorted(line.at - sent[line.value] for line in worker.journal)
    assert took[-2] < 2.0


async def test_a_batch_is_acknowledged_only_when_the_broker_has_what_follows_from_it(broker: Kafka) -> None:
    """The broker refuses what is sent (there is no such topic): the process ends, and nothing was committed."""
    await broker.make("in", topics.DEAD_LETTERS)
    await broker.fill("in", numbered(5))

    worker = await broker.start("forward", options={"producer_request_timeout": 3.0})
    await broker.until(lambda: worker.child.exit_code is not None)

    assert worker.child.exit_code == 75
    assert await broker.lag("in") == 5
