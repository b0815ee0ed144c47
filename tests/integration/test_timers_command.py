"""`notify timers` beside a running scheduler."""

import asyncio
import json
import sys
import time
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from notify_streams.local.child import Child
from notify_streams.streaming import topics
from notify_streams.streaming.partitions import Partitions
from schemas.codec import encode
from schemas.timers import CancelTimerV1, MoveTimerV1, PutTimerV1
from tests.workers import ROOT, Kafka

NOTIFY = str(Path(sys.executable).with_name("notify"))
HOUR = 3_600_000


class Desk:
    """A scheduler on one broker, and the command line beside it."""

    def __init__(self, broker: Kafka, directory: Path) -> None:
        self.broker = broker
        kafka = msgspec.to_builtins(broker.config)
        self.environment = {f"NOTIFY_KAFKA__{key}".upper(): str(value) for key, value in kafka.items()}
        self.environment["NOTIFY_WORKER__DATA"] = str(directory / "data")
        self.scheduler = Child(
            [NOTIFY, "worker", "scheduler"], log=directory / "scheduler.log", env=self.environment, cwd=ROOT
        )

    async def ask(self, *words: str) -> tuple[int, str]:
        """Exit code and standard output."""
        asked = await asyncio.create_subprocess_exec(
            NOTIFY, "timers", *words, env={"PATH": "", **self.environment}, stdout=asyncio.subprocess.PIPE
        )
        output, _ = await asked.communicate()
        assert asked.returncode is not None
        return asked.returncode, output.decode()

    async def operate(self, user: str, *operations: msgspec.Struct) -> None:
        """Carried out when it returns."""
        home = Partitions(self.broker.config.partitions).of(user.encode())
        await self.broker.fill(topics.TIMERS, [(home, user, encode(one).decode()) for one in operations])
        await self.broker.caught_up(topics.TIMERS, "scheduler")


@pytest.fixture
async def desk(broker: Kafka, tmp_path: Path) -> AsyncIterator[Desk]:
    await topics.create(broker.config, topics.all_topics(broker.config))
    found = Desk(broker, tmp_path)
    await found.scheduler.start()
    await broker.until(lambda: "Worker ready" in found.scheduler.log.read_text())
    yield found
    await found.scheduler.kill()


def a_put(timer_id: str, due_at: int, **changes: Any) -> PutTimerV1:
    plain = PutTimerV1(
        timer_id=timer_id, due_at=due_at, revision=1, target=topics.STOPS, payload=msgspec.Raw(b'{"a":1}')
    )
    return msgspec.structs.replace(plain, **changes)


async def test_what_waits_for_a_user_is_listed_moved_cancelled_and_released_as_it_is(desk: Desk) -> None:
    now = time.time_ns() // 1_000_000
    await desk.operate(
        "ann",
        a_put("later", now + 2 * HOUR + 30_000),
        a_put("soon", now + HOUR, lane="high"),
        a_put("cancelled", now + HOUR),
        a_put("past", now - 1000),
        MoveTimerV1(timer_id="later", due_at=now + 3 * HOUR + 59_000, revision=1),
        CancelTimerV1(timer_id="cancelled", revision=1),
    )
    await desk.operate("anna", a_put("of somebody else", now + HOUR))

    async def is_back() -> bool:
        return len(await desk.broker.read(topics.STOPS)) == 1

    await desk.broker.until_true(is_back)
    await asyncio.sleep(1)

    code, words = await desk.ask("ann")
    assert (code, words.splitlines()[0]) == (0, "2 timers wait for ann")
    assert [line.split()[-1] for line in words.splitlines()[2:]] == ["soon", "later"]
    assert "in 59 minutes" in words
    assert "in 3 hours" in words
    code, found = await desk.ask("ann", "--json")
    assert [(one["timer_id"], one["due_at"], one["lane"]) for one in json.loads(found)] == [
        ("soon", now + HOUR, "high"),
        ("later", now + 3 * HOUR + 59_000, "normal"),
    ]
    assert await desk.ask("nobody") == (0, "Nothing waits for nobody.\n")
    assert await desk.ask("nobody", "--json") == (0, "[]\n")
