"""Tables come back exactly, in bulk; after an orderly stop from where the local database stands."""

import asyncio
import re

from aiokafka import AIOKafkaProducer

from tests.workers import Kafka, Worker

KEYS = 3000


def restored(worker: Worker) -> int:
    """How many records its restore read, from its log; -1 when it said nothing."""
    found = re.findall(r"tables\.restored records=(\d+)", worker.log)
    return int(found[-1]) if found else -1


async def filled(broker: Kafka) -> tuple[Worker, dict[str, str]]:
    """A worker whose table has 3,000 keys, of which a third was deleted again; and what must be in it."""
    await broker.make("in")
    await broker.make("log", cleanup_policy="compact")
    keys = [f"k{number:05d}" for number in range(KEYS)]
    await broker.fill("in", ((number % 2, key, f"v{number}") for number, key in enumerate(keys)))
    await broker.fill("in", ((number % 2, key, None) for number, key in enumerate(keys) if not number % 3))
    await broker.fill("in", ((number % 2, key, f"w{number}") for number, key in enumerate(keys) if number % 3 == 1))
    worker = await broker.start("state", instance=0)
    await broker.caught_up()
    await worker.child.stop(20)
    words = {0: "", 1: "w", 2: "v"}
    return worker, {key: f"{words[n % 3]}{n}" for n, key in enumerate(keys) if n % 3}


async def test_an_empty_data_directory_is_filled_from_the_changelog(broker: Kafka) -> None:
    """By ours and by Faust's own recovery: the same content."""
    _, expected = await filled(broker)

    ours = await broker.start("state", instance=0)
    await broker.until(lambda: ours.table is not None)
    await ours.child.stop(20)
    stock = await broker.start("state", instance=0, stock_restore=True)
    await broker.until(lambda: stock.table is not None)

    assert ours.table == stock.table == expected
    assert restored(ours) == KEYS * 5 // 3


async def test_a_restart_with_its_data_reads_nothing_again(broker: Kafka) -> None:
    first, expected = await filled(broker)

    again = await broker.start("state", instance=0, data=first.spec.data)
    await broker.until(lambda: again.table is not None)

    assert again.table == expected
    assert restored(again) == 0


async def test_a_restart_after_sigkill_reads_everything_and_has_what_the_changelog_has(broker: Kafka) -> None:
    first, expected = await filled(broker)
    second = await broker.start("state", instance=0, data=first.spec.data)
    await broker.fill("in", ((0, "k00002", f"x{number}") for number in range(50)))
    await broker.until(lambda: second.values.total() == 50)
    await broker.caught_up()
    await second.child.kill()

    third = await broker.start("state", instance=0, data=first.spec.data)
    await broker.until(lambda: third.table is not None)
    assert third.table == {**expected, "k00002": "x49"}
    assert restored(third) == KEYS * 5 // 3 + 50
    assert "tables.distrusted" in third.log


async def test_a_second_instance_takes_over_what_the_first_had(broker: Kafka) -> None:
    """It has the rows of both partitions afterwards, and reads nothing again when it starts anew with its data."""
    _, expected = await filled(broker)
    first, second = await asyncio.gather(*(broker.start("state", instance=number) for number in (0, 1)))
    await broker.until(lambda: first.is_ready and second.is_ready)
    await first.child.kill()
    await broker.until(lambda: second.log.count("tables.restored records=2") >= 2, within=40)
    await broker.until(lambda: second.log.count("Worker ready") >= second.log.count("tables.restored"))
    await second.child.stop(20)

    last = await broker.start("state", instance=1, data=second.spec.data)
    await broker.until(lambda: last.table is not None)
    assert last.table == expected
    assert restored(last) == 0


async def test_a_changelog_that_ends_in_a_marker_is_restored_to_its_end(broker: Kafka) -> None:
    """The last offset holds no record: compaction and transactions leave such places."""
    await broker.make("in")
    await broker.make("log", cleanup_policy="compact")
    name = broker.config.prefix + "log"
    producer = AIOKafkaProducer(bootstrap_servers=broker.config.bootstrap, transactional_id=name)
    async with producer, producer.transaction():
        for partition in (0, 1):
            await producer.send(name, b"v", key=b"k%d" % partition, partition=partition)

    worker = await broker.start("state")
    await broker.until(lambda: worker.table is not None)
    assert worker.table == {"k0": "v", "k1": "v"}
    assert worker.is_ready
