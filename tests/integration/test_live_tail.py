"""The live tail on a real Redis: one frame per sequence, with the counts of that moment."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import msgspec
import orjson
import pytest

from notify_streams.inbox.tail import KEPT, KEPT_S, Frame, LiveTail
from notify_streams.ports import InboxCounts
from notify_streams.settings import Kafka, Redis
from notify_streams.stores.inbox_keys import InboxKeys
from notify_streams.stores.redis import Expendable
from schemas.codec import encode
from tests.builders import an_id

KEYS = InboxKeys.of(Kafka())


@pytest.fixture
async def expendable(redis: Redis) -> AsyncIterator[Expendable]:
    opened = Expendable(redis)
    yield opened
    await opened.close()


def told(user: str, *sequences: int, again: bool = False, unread: int = 1) -> list[Frame]:
    return [
        Frame(user, sequence, encode({"type": "item", "sequence": sequence, "unread": unread}), again)
        for sequence in sequences
    ]


async def frames(expendable: Expendable, user: str) -> list[dict[str, Any]]:
    kept: list[Any] = await expendable.call(lambda client: client.zrange(KEYS.tail(user), 0, -1))
    return [orjson.loads(frame) for frame in kept]


def sequences(frames: list[dict[str, Any]]) -> list[int]:
    return [frame["sequence"] for frame in frames]


async def test_frames_are_kept_in_order_and_counts_beside_them_for_a_while(expendable: Expendable) -> None:
    user = an_id()
    await LiveTail(expendable, KEYS).publish(told(user, 5, 4, 6), {user: InboxCounts(6, 5, 4)})
    assert sequences(await frames(expendable, user)) == [4, 5, 6]
    counts: Any = await expendable.client.get(KEYS.counts(user))
    assert msgspec.json.decode(counts, type=InboxCounts) == InboxCounts(6, 5, 4)
    assert 290 < await expendable.client.ttl(KEYS.counts(user)) <= 300


async def test_what_is_said_again_takes_the_place_of_what_was_said(expendable: Expendable) -> None:
    user, tail = an_id(), LiveTail(expendable, KEYS)
    await tail.publish(told(user, 1, 2, 3), {user: InboxCounts(3, 3, 3)})
    await tail.publish(told(user, 2, again=True, unread=7), {user: InboxCounts(3, 3, 3)})
    kept = await frames(expendable, user)
    assert [(frame["sequence"], frame["unread"]) for frame in kept] == [(1, 1), (2, 7), (3, 1)]


async def test_only_the_newest_are_kept_and_not_for_ever(expendable: Expendable) -> None:
    user = an_id()
    await LiveTail(expendable, KEYS).publish(told(user, *range(1, KEPT + 31)), {user: InboxCounts(KEPT + 30, 1, 1)})
    kept = await frames(expendable, user)
    assert [frame["sequence"] for frame in kept] == list(range(31, KEPT + 31))
    left = await expendable.call(lambda client: client.ttl(KEYS.tail(user)))
    assert KEPT_S - 10 < left <= KEPT_S


async def test_who_listens_hears_every_frame(expendable: Expendable) -> None:
    user, heard = an_id(), list[dict[str, Any]]()
    listener: Any = expendable.client.pubsub()
    await listener.ssubscribe(KEYS.channel(user))
    await LiveTail(expendable, KEYS).publish(told(user, 1, 2), {user: InboxCounts(2, 2, 2)})
    async with asyncio.timeout(5):
        while len(heard) < 2:
            message = await listener.get_message(ignore_subscribe_messages=True, timeout=0.1)
            if message is not None:
                heard.append(orjson.loads(message["data"]))
    await listener.aclose()
    assert heard == await frames(expendable, user)


async def test_without_redis_nothing_is_raised() -> None:
    away = Expendable(Redis(url="redis://127.0.0.1:1/0"))
    await LiveTail(away, KEYS).publish(told("ann", 1), {"ann": InboxCounts(1, 1, 1)})
    await away.close()


async def test_nothing_is_asked_about_nothing(expendable: Expendable) -> None:
    await LiveTail(expendable, KEYS).publish([], {})


@pytest.mark.parametrize("most_owed", [100, 1])
async def test_what_could_not_be_told_is_taken_away_before_the_next_is_told(
    expendable: Expendable, redis: Redis, most_owed: int
) -> None:
    users = [an_id() for _ in range(3)]
    tail = LiveTail(expendable, KEYS, most_owed=most_owed)
    for user in users:
        await tail.publish(told(user, 1), {user: InboxCounts(1, 1, 1)})
    reachable = expendable.client
    expendable.client = Expendable(Redis(url="redis://127.0.0.1:1/0")).client
    for user in users[:2]:
        await tail.publish(told(user, 2), {user: InboxCounts(2, 2, 2)})
    expendable.client = reachable
    await asyncio.sleep(1.1)  # a failure is remembered for a second
    await tail.publish(told(users[2], 2), {users[2]: InboxCounts(2, 2, 2)})
    for user in users[:2]:
        assert await frames(expendable, user) == []
        assert await expendable.client.get(KEYS.counts(user)) is None
    assert sequences(await frames(expendable, users[2]))[-1] == 2
