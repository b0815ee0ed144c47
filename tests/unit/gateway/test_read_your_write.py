"""Whoever was answered sees the change at the gateway that answered, whatever the cache between gateways does."""

import asyncio
from collections.abc import Mapping
from random import Random
from typing import cast

import pytest

from notify_streams.gateway.known import Floors, Known
from notify_streams.gateway.profiles import Profiles
from notify_streams.ports import RecordStore, Unavailable
from schemas.commands import CommandResultV1
from schemas.profiles import NOBODY, ProfileV1
from tests.wire.gateway_stores import MemoryLedger, Store

USERS = tuple(f"user-{number}" for number in range(6))


class Faulty(MemoryLedger):
    """Redis as it may be: answers late, answers what held a moment ago, fails before or after it did it, forgets."""

    def __init__(self, chance: Random) -> None:
        super().__init__()
        self.chance, self.late = chance, set[asyncio.Task[None]]()

    async def read(self, user_id: str) -> Known | None:
        if self.chance.random() < 0.2:
            await self._pause()
            raise Unavailable("redis: TimeoutError")
        found = self.told.get(user_id)
        await self._pause()
        return found

    async def tell(self, known: Mapping[str, Known]) -> None:
        match self.chance.randrange(6):
            case 0:
                raise Unavailable("redis: ConnectionError")
            case 1:
                task = asyncio.ensure_future(self._later(known))
                self.late.add(task)
                task.add_done_callback(self.late.discard)
                raise Unavailable("redis: TimeoutError")
            case 2:
                self.told.clear()
        await self._later(known)

    async def _later(self, known: Mapping[str, Known]) -> None:
        await self._pause()
        await super().tell(known)

    async def _pause(self) -> None:
        for _ in range(self.chance.randrange(8)):
            await asyncio.sleep(0)


class System:
    """One log of answers, read by several gateways at their own pace, and a recorder that is behind."""

    def __init__(self, chance: Random) -> None:
        self.chance, self.shared, self.records = chance, Faulty(chance), Store()
        self.log: list[CommandResultV1] = []
        self.gateways = [self._gateway() for _ in range(3)]
        self.heard = [0, 0, 0]

    def _gateway(self) -> Profiles:
        """Whole profiles of two users at a time are kept, so that versions alone have to do."""
        return Profiles(
            cast(RecordStore, self.records),
            self.shared,
            lambda: self.chance.random() < 0.9,
            floors=Floors(most_whole=2),
            wait_s=0,
        )

    def append(self, user: str) -> CommandResultV1:
        """A change is answered; now and then the answer comes twice, or an older one once more."""
        version = 1 + max((r.version for r in self.log if r.user_id == user), default=0)
        result = an_answer(user, version)
        self.log.append(result)
        if self.chance.random() < 0.2:
            before = self.chance.choice([r for r in self.log if r.user_id == user])
            whole = before if before.version == version else an_answer(user, before.version, whole=False)
            self.log.append(whole)
        return result

    def hear(self, at: int, until: int) -> None:
        while self.heard[at] < until:
            self.gateways[at].heard(self.log[self.heard[at]])
            self.heard[at] += 1

    def record(self) -> None:
        for result in self.log[: len(self.log) - self.chance.randrange(12)]:
            if (
                result.profile is not None
                and self.records.recorded.get(result.user_id, NOBODY).version < result.version
            ):
                self.records.recorded[result.user_id] = result.profile


def an_answer(user: str, version: int, *, whole: bool = True) -> CommandResultV1:
    profile = ProfileV1(version=version, locale=f"{user}-{version}") if whole else None
    return CommandResultV1(command_id="c", user_id=user, status="applied", version=version, profile=profile)


async def client(system: System, at: int, user: str, faults: list[str]) -> None:
    """Changes and reads at one gateway."""
    chance, shown = system.chance, 0
    for _ in range(40):
        if chance.random() < 0.5:
            answer = system.append(user)
            system.hear(at, len(system.log))
            await system.gateways[at].answered(answer)
            shown = max(shown, answer.version)
        if chance.random() < 0.3:
            other = chance.randrange(3)
            system.hear(other, chance.randint(system.heard[other], len(system.log)))
        if chance.random() < 0.3:
            system.record()
        try:
            found = await system.gateways[at].read(user)
        except Unavailable:
            continue
        if found.version < shown or (found.version and found.locale != f"{user}-{found.version}"):
            faults.append(f"{user} at {at}: answered {shown}, then shown {found.version} {found.locale}")
        shown = max(shown, found.version)


@pytest.mark.parametrize("seed", range(100))
async def test_what_was_answered_or_shown_is_never_taken_back(seed: int) -> None:
    system, faults = System(Random(seed)), list[str]()
    async with asyncio.TaskGroup() as group:
        for number, user in enumerate(USERS):
            group.create_task(client(system, number % 3, user, faults))
    assert faults == []
