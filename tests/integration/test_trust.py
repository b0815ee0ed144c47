"""What the disk knows and the changelog does not: gone after an unclean end, and done again by the repeat."""

import signal

import pytest

from notify_streams.streaming.trust import MARK
from tests.workers import Kafka, Worker


async def ahead(broker: Kafka, **fields: object) -> Worker:
    """A worker with one row in its changelog, and one more on its disk alone, whose record is not acknowledged."""
    await broker.make("in")
    await broker.make("log", cleanup_policy="compact")
    worker = await broker.start("once", instance=0, mute_at="lost", **fields)
    await broker.fill("in", [(0, "a", "kept")])
    await broker.caught_up()
    await broker.fill("in", [(0, "b", "lost")])
    await broker.until(lambda: worker.is_muted)
    return worker


async def again(broker: Kafka, before: Worker, **fields: object) -> Worker:
    """The next process on its data, which does not yet work on what comes again."""
    worker = await broker.start("once", instance=0, data=before.spec.data, hold=("lost",), **fields)
    await broker.until(lambda: worker.table is not None)
    return worker


async def logged(broker: Kafka) -> dict[bytes | None, bytes | None]:
    broker.release()
    await broker.caught_up()
    return {record.key: record.value for record in await broker.read("log")}


async def test_a_row_that_only_the_disk_has_is_gone_after_a_kill_and_written_again_by_the_repeat(
    broker: Kafka,
) -> None:
    first = await ahead(broker)
    await first.child.kill()

    second = await again(broker, first)
    assert second.table == {"a": "kept"}
    assert "tables.distrusted" in second.log
    assert await logged(broker) == {b"a": b"kept", b"b": b"lost"}


async def test_without_distrust_the_repeat_finds_it_known_and_the_changelog_never_gets_it(broker: Kafka) -> None:
    """The fault that all this is about."""
    first = await ahead(broker)
    await first.child.kill()

    second = await again(broker, first, distrust=False)
    assert second.table == {"a": "kept", "b": "lost"}
    assert await logged(broker) == {b"a": b"kept"}


@pytest.mark.parametrize("style", ["settled", "pipeline"])
async def test_a_stop_that_is_not_acknowledged_leaves_no_mark(broker: Kafka, style: str) -> None:
    first = await ahead(broker, stop_s=2.0, pipelined=style == "pipeline")
    first.child.send(signal.SIGTERM)
    assert await first.child.wait(20)
    assert first.child.exit_code == 75
    assert not (first.directory / MARK).exists()

    second = await again(broker, first)
    assert second.table == {"a": "kept"}
    assert await logged(broker) == {b"a": b"kept", b"b": b"lost"}


async def test_an_orderly_stop_leaves_a_mark_that_the_next_start_takes_away(broker: Kafka) -> None:
    await broker.make("in")
    await broker.make("log", cleanup_policy="compact")
    first = await broker.start("once", instance=0)
    await broker.fill("in", [(0, "a", "kept"), (1, "b", "too")])
    await broker.caught_up()
    await first.child.stop(20)
    assert (first.directory / MARK).exists()

    second = await again(broker, first)
    assert second.table == {"a": "kept", "b": "too"}
    assert "tables.restored records=0" in second.log
    assert not (first.directory / MARK).exists()


async def test_what_is_another_workers_now_does_not_stay_on_the_disk_and_comes_back_whole(broker: Kafka) -> None:
    await broker.make("in")
    await broker.make("log", cleanup_policy="compact")
    first = await broker.start("once", instance=0)
    await broker.fill("in", [(0, "a", "1"), (1, "b", "2")])
    await broker.caught_up()
    tables = first.directory / "v1" / "tables"
    assert {path.name for path in tables.glob("*.db")} == {"kept-0.db", "kept-1.db"}

    second = await broker.start("once", instance=1)
    await broker.until(lambda: second.table is not None)
    await broker.until(lambda: len(list(tables.glob("*.db"))) == 1)
    await broker.fill("in", [(0, "c", "3"), (1, "d", "4")])
    await broker.caught_up()
    await second.child.kill()
    await broker.until(lambda: len(list(tables.glob("*.db"))) == 2, within=40)
    await broker.until(lambda: first.log.count("Worker ready") >= 3)
    await first.child.stop(20)

    last = await again(broker, first)
    assert last.table == {"a": "1", "b": "2", "c": "3", "d": "4"}
    assert "tables.restored records=0" in last.log
