"""Which keys a process still knows, and for how long after they were destroyed elsewhere."""

import asyncio
import weakref
from collections.abc import Mapping, Sequence

from notify_streams.domain.sealing import SECRET_BYTES, UserKey
from notify_streams.privacy.cache import CachedUserKeys
from notify_streams.privacy.masters import Masters
from notify_streams.privacy.memory import MemoryUserKeys

FOR_S = 30.0


class Counted(MemoryUserKeys):
    """Counts the round trips; a gate can hold answers back that were already read."""

    def __init__(self) -> None:
        super().__init__(Masters("m", {"m": b"m" * SECRET_BYTES}))
        self.asked: list[list[str]] = []
        self.read, self.gate = asyncio.Event(), asyncio.Event()
        self.gate.set()

    async def get_many(self, user_ids: Sequence[str]) -> Mapping[str, UserKey]:
        self.asked.append(list(user_ids))
        found = await super().get_many(user_ids)
        self.read.set()
        await self.gate.wait()
        return found


class Clock:
    now = 1000.0

    def __call__(self) -> float:
        return self.now


def a_cache(store: Counted, clock: Clock | None = None, size: int = 100) -> CachedUserKeys:
    return CachedUserKeys(store, size=size, for_s=FOR_S, clock=clock or Clock())


async def test_a_batch_asks_once_for_those_it_does_not_know_and_then_not_at_all() -> None:
    store = Counted()
    await MemoryUserKeys.create(store, ["ann", "bob", "cy"])
    cache = a_cache(store)
    await cache.get_many(["ann"])
    store.asked.clear()
    assert set(await cache.get_many(["ann", "bob", "cy", "bob"])) == {"ann", "bob", "cy"}
    assert set(await cache.get_many(["ann", "bob", "cy"])) == {"ann", "bob", "cy"}
    assert store.asked == [["bob", "cy"]]


async def test_a_key_destroyed_elsewhere_is_forgotten_in_time_and_not_before() -> None:
    store, clock = Counted(), Clock()
    cache = a_cache(store, clock)
    await cache.create(["ann"])
    await store.destroy(["ann"])
    clock.now += FOR_S - 1
    assert set(await cache.get_many(["ann"])) == {"ann"}
    clock.now += 1
    assert await cache.get_many(["ann"]) == {}


async def test_a_key_destroyed_here_is_forgotten_at_once() -> None:
    cache = a_cache(Counted())
    before = await cache.create(["ann"])
    assert await cache.destroy(["ann"]) == 1
    assert await cache.get_many(["ann"]) == {}
    assert (await cache.create(["ann"]))["ann"].key_id != before["ann"].key_id


async def test_an_answer_from_before_a_destruction_is_not_kept() -> None:
    store = Counted()
    await MemoryUserKeys.create(store, ["ann"])
    cache = a_cache(store)
    store.read.clear()
    store.gate.clear()
    slow = asyncio.ensure_future(cache.get_many(["ann"]))
    await store.read.wait()
    await cache.destroy(["ann"])
    store.gate.set()
    assert set(await slow) == {"ann"}
    assert await cache.get_many(["ann"]) == {}


async def test_the_longest_known_go_first_when_there_are_too_many() -> None:
    store = Counted()
    await MemoryUserKeys.create(store, users := [f"user-{n}" for n in range(5)])
    cache = a_cache(store, size=3)
    for user in users:
        await cache.get_many([user])
    store.asked.clear()
    await cache.get_many(users)
    assert store.asked == [["user-0", "user-1"]]


async def test_who_has_no_key_yet_is_asked_for_again() -> None:
    store = Counted()
    cache = a_cache(store)
    assert await cache.get_many(["ann"]) == {}
    await MemoryUserKeys.create(store, ["ann"])
    assert set(await cache.get_many(["ann"])) == {"ann"}


async def test_keys_that_nobody_asks_for_any_more_leave_memory_with_later_answers() -> None:
    store, clock = Counted(), Clock()
    cache = a_cache(store, clock)
    ann = weakref.ref((await cache.create(["ann"]))["ann"])
    clock.now += FOR_S
    await cache.create(["bob"])
    assert ann() is None
