"""What every store of users' keys promises, in memory and on Cassandra."""

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from notify_streams.domain.sealing import SECRET_BYTES
from notify_streams.ports import Unavailable, UserKeys
from notify_streams.privacy.cassandra import CassandraUserKeys
from notify_streams.privacy.masters import Masters
from notify_streams.privacy.memory import MemoryUserKeys
from notify_streams.stores.cassandra import Session
from tests.facts import an_id

OLD, NEW = b"o" * SECRET_BYTES, b"n" * SECRET_BYTES
FIRST = Masters("m1", {"m1": OLD})

Opening = Callable[[Masters], Awaitable[UserKeys]]


@pytest.fixture
def opening(backing: Session | None) -> Opening:
    """Processes on one store, each with master keys of its own."""
    kept: dict[str, bytes] = {}

    async def opened(masters: Masters) -> UserKeys:
        return MemoryUserKeys(masters, kept) if backing is None else await CassandraUserKeys.open(backing, masters)

    return opened


async def test_a_key_is_made_once_and_found_by_every_process(opening: Opening) -> None:
    one, other, users = await opening(FIRST), await opening(FIRST), [an_id() for _ in range(45)]
    assert await one.get_many(users) == {}
    made = {user: key.key_id for user, key in (await one.create(users)).items()}
    assert set(made) == set(users)
    assert len(set(made.values())) == len(users)
    assert {user: key.key_id for user, key in (await other.create([*users, users[0]])).items()} == made
    assert {user: key.key_id for user, key in (await other.get_many([*users, an_id()])).items()} == made


async def test_of_nobody_there_are_no_keys(opening: Opening) -> None:
    keys = await opening(FIRST)
    assert (await keys.get_many([]), await keys.create([]), await keys.destroy([])) == ({}, {}, 0)


async def test_whoever_makes_a_first_key_at_the_same_time_gets_the_same(opening: Opening) -> None:
    stores, user = [await opening(FIRST) for _ in range(4)], an_id()
    made = await asyncio.gather(*(store.create([user]) for store in stores))
    assert len({keys[user].key_id for keys in made}) == 1


async def test_a_destroyed_key_is_gone_for_all_and_the_next_one_is_another(opening: Opening) -> None:
    one, other, ann, bob = await opening(FIRST), await opening(FIRST), an_id(), an_id()
    before = await one.create([ann, bob])
    assert await other.destroy([ann, an_id()]) == 1
    assert set(await one.get_many([ann, bob])) == {bob}
    assert await other.destroy([ann]) == 0
    assert (await one.create([ann]))[ann].key_id != before[ann].key_id


async def test_keys_outlive_a_rotation_of_the_master_key(opening: Opening) -> None:
    before, user = await opening(FIRST), an_id()
    made = (await before.create([user]))[user].key_id
    after = await opening(Masters("m2", {"m1": OLD, "m2": NEW}))
    assert (await after.get_many([user]))[user].key_id == made


async def test_without_its_master_key_a_key_is_not_taken_for_destroyed(opening: Opening) -> None:
    before, user = await opening(FIRST), an_id()
    await before.create([user])
    after = await opening(Masters("m2", {"m2": NEW}))
    for asked in (after.get_many, after.create):
        with pytest.raises(Unavailable, match="'m1' that wrapped one of them is not given"):
            await asked([user])
