"""Which profile a reader sees: out of the cache, never older than what was answered."""

import asyncio
from typing import Literal, cast

import pytest

from notify_streams.gateway import known as known_module
from notify_streams.gateway.known import Floors, Known
from notify_streams.gateway.profiles import Profiles
from notify_streams.ports import RecordStore, Unavailable
from schemas.commands import CommandResultV1
from schemas.profiles import NOBODY, ProfileV1
from tests.wire.gateway_stores import MemoryLedger, Store


class Gateways:
    """Any number of gateways on one cache and one store."""

    def __init__(self) -> None:
        self.shared, self.store = MemoryLedger(), Store()
        self.listening = True

    def another(self) -> Profiles:
        return Profiles(cast(RecordStore, self.store), self.shared, lambda: self.listening)


def a_profile(version: int) -> ProfileV1:
    return ProfileV1(version=version, locale=f"v-{version}")


def an_answer(
    version: int, *, whole: bool = True, status: Literal["applied", "conflict"] = "applied"
) -> CommandResultV1:
    profile = a_profile(version) if whole else None
    return CommandResultV1(command_id="c", user_id="ann", status=status, version=version, profile=profile)


async def test_the_second_read_asks_the_records_no_more_anywhere() -> None:
    around = Gateways()
    around.store.recorded["ann"] = a_profile(3)
    one, other = around.another(), around.another()
    assert [await reader.read("ann") for reader in (one, other, one)] == [a_profile(3)] * 3
    assert [await reader.read("nobody") for reader in (one, other)] == [NOBODY] * 2
    assert around.store.asked == 2


async def test_a_change_that_any_gateway_heard_replaces_what_is_cached() -> None:
    around = Gateways()
    around.store.recorded["ann"] = a_profile(3)
    one, other = around.another(), around.another()
    await other.read("ann")
    one.heard(an_answer(4))
    await asyncio.sleep(0)
    assert await other.read("ann") == a_profile(4)
    assert around.store.asked == 1


async def test_a_reader_that_was_slow_does_not_put_an_older_profile_back() -> None:
    around = Gateways()
    one, other = around.another(), around.another()
    await one.answered(an_answer(4))
    await around.shared.tell({"ann": Known(3, a_profile(3))})
    assert await other.read("ann") == a_profile(4)


async def test_without_redis_it_goes_by_what_it_heard_and_else_by_the_records() -> None:
    around = Gateways()
    around.store.recorded.update(ann=a_profile(3), ben=a_profile(1))
    reader = around.another()
    await reader.read("ben")
    around.shared.away = True
    await reader.answered(an_answer(4))
    assert await reader.read("ann") == a_profile(4)
    assert await reader.read("ben") == a_profile(1)
    assert around.store.asked == 2


async def test_redis_that_comes_back_with_an_older_profile_is_not_believed() -> None:
    around = Gateways()
    around.store.recorded["ann"] = a_profile(3)
    reader = around.another()
    await reader.read("ann")
    around.shared.away = True
    await reader.answered(an_answer(4))
    around.shared.away = False
    assert await reader.read("ann") == a_profile(4)


async def test_a_version_without_a_profile_waits_for_the_recorder() -> None:
    around = Gateways()
    around.store.recorded["ann"] = a_profile(3)
    reader = around.another()
    await reader.read("ann")
    reader.heard(an_answer(4, whole=False))
    asyncio.get_running_loop().call_later(0.12, around.store.recorded.update, {"ann": a_profile(4)})
    assert await reader.read("ann") == a_profile(4)
    reader.heard(an_answer(9, whole=False))
    with pytest.raises(Unavailable, match="not caught up"):
        await reader.read("ann")


async def test_the_version_of_a_conflict_is_one_that_the_next_read_shows() -> None:
    around = Gateways()
    around.store.recorded["ann"] = a_profile(3)
    reader = around.another()
    await reader.read("ann")
    reader.heard(an_answer(4, whole=False, status="conflict"))
    around.store.recorded["ann"] = a_profile(4)
    assert await reader.read("ann") == a_profile(4)


async def test_a_gateway_that_hears_nothing_asks_the_records_too() -> None:
    around = Gateways()
    around.store.recorded["ann"] = a_profile(3)
    reader = around.another()
    await reader.read("ann")
    around.listening = False
    around.store.recorded["ann"] = a_profile(5)
    assert await reader.read("ann") == a_profile(5)
    await reader.answered(an_answer(6))
    assert await reader.read("ann") == a_profile(6)


async def test_what_a_read_has_shown_it_does_not_take_back() -> None:
    around = Gateways()
    one, other = around.another(), around.another()
    await one.answered(an_answer(4))
    assert await other.read("ann") == a_profile(4)
    around.shared.away = True
    around.store.recorded["ann"] = a_profile(3)
    with pytest.raises(Unavailable):
        await other.read("ann")


async def test_many_changes_are_told_in_few_calls() -> None:
    around = Gateways()
    reader = around.another()
    for version in range(1, 50):
        reader.heard(an_answer(version))
    await asyncio.sleep(0)
    assert around.shared.told == {"ann": Known(49, a_profile(49))}
    assert around.shared.tellings == 1


def test_versions_are_kept_for_more_users_than_profiles() -> None:
    floors, most = Floors(), known_module.MOST_WHOLE
    for number in range(most + 1):
        floors.raise_to(f"user-{number}", Known(1, a_profile(1)))
    assert floors.of("user-0") == Known(1)
    assert floors.of("user-1") == Known(1, a_profile(1))
    assert floors.of("nobody") == Known(0)


def test_a_higher_version_without_a_profile_forgets_the_older_profile() -> None:
    floors = Floors()
    floors.raise_to("ann", Known(1, a_profile(1)))
    floors.raise_to("ann", Known(1))
    assert floors.of("ann") == Known(1, a_profile(1))
    floors.raise_to("ann", Known(2))
    assert floors.of("ann") == Known(2)
    floors.raise_to("ann", Known(1, a_profile(1)))
    assert floors.of("ann") == Known(2)
