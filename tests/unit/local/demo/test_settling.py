"""A run waits for what moves by itself within its time, and for nothing else."""

from time import time

from notify_streams.local.demo.settling import Settling
from notify_streams.records.memory import MemoryRecords
from schemas.decisions import Defer
from schemas.words import Reason
from tests.facts import A_NOTIFICATION, a_decision, an_inbox_fact, an_outcome


async def settled(records: MemoryRecords, *, seconds: float = 0) -> Settling:
    settling = Settling(records, [A_NOTIFICATION])
    await settling.wait(seconds, lambda _: None)
    return settling


async def test_what_is_not_decided_is_waited_for() -> None:
    assert (await settled(MemoryRecords())).sentence() == "1 not decided yet"


async def test_what_is_queued_is_waited_for() -> None:
    records = MemoryRecords()
    await records.write([a_decision(), an_inbox_fact()])
    assert (await settled(records)).sentence() == "1 email queued"


async def test_a_retry_within_the_time_is_waited_for() -> None:
    records, due = MemoryRecords(), round(time() * 1000) - 1
    await records.write([a_decision(), an_inbox_fact(), an_outcome("retrying", next_at=due)])
    assert "email pending" in (await settled(records)).sentence()


async def test_what_is_due_after_the_time_is_not_waited_for() -> None:
    records, later = MemoryRecords(), round(time() * 1000) + 3_600_000
    await records.write([a_decision(Defer(channel="email", until=later, reason=Reason.SCHEDULED))])
    assert (await settled(records)).open == {}


async def test_it_ends_when_all_is_sent() -> None:
    records = MemoryRecords()
    await records.write([a_decision(), an_inbox_fact(), an_outcome()])
    found = await settled(records, seconds=60)
    assert (found.settled, found.sentence()) == (1, "")
