"""The live tail on a real Redis: one frame per sequence, with the counts of that moment."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import orjson
import pytest

from notify_streams.domain.ids import time_uuid
from notify_streams.inbox.tail import KEPT, KEPT_S, LiveTail
from notify_streams.ports import InboxCounts, InboxItem
from notify_streams.settings import Kafka, Redis
from notify_streams.stores.inbox_keys import InboxKeys
from notify_streams.stores.redis import Expendable
from tests.builders import NOW, an_id

KEYS = InboxKeys.of(Kafka())


@pytest.fixture
async def expendable(redis: Redis) -> AsyncIterator[Expendable]:
    opened = Expendable(redis)
    yield opened
    await opened.close()


def items(user: str, *sequences: int) -> list[InboxItem]:
    return [
        InboxItem(
            user_id=user,
            item_id=time_uuid(NOW, f"{user}/{sequence}"),
            notification_id=f"n-{sequence}",
            type="order.confirmed",
            category="orders",
            accepted_at=NOW,
            sequence=sequence,
            title=f"item {sequence}",
        )
        for sequence in sequences
    ]


async def frames(expendable: Expendable, user: str) -> list[dict[str, Any]]:
    kept: list[Any] = await expendable.call(lambda client: client.zrange(KEYS.tail(user), 0, -1))
    return [orjson.loads(frame) for frame in kept]


def counted(frames: list[dict[str, Any]]) -> list[tuple[int, int, int]]:
    return [(frame["sequence"], frame["unread"], frame["unseen"]) for frame in frames]


async def test_each_frame_has_the_counts_as_of_its_sequence(expendable: Expendable) -> None:
    user = an_id()
    await LiveTail(expendable, KEYS).publish(items(user, 4, 5, 6), {user: InboxCounts(6, 5, 4)})
    assert counted(await frames(expendable, user)) == [(4, 3, 2), (5, 4, 3), (6, 5, 4)]


@pytest.mark.parametrize("order", [(2, 4), (4, 2)])
async def test_a_repeat_among_new_items_changes_no_count_and_adds_no_frame(
    expendable: Expendable, order: tuple[int, int]
) -> None:
    user, tail = an_id(), LiveTail(expendable, KEYS)
    await tail.publish(items(user, 1, 2, 3), {user: InboxCounts(3, 3, 3)})
    before = await frames(expendable, user)
    await tail.publish(items(user, *order), {user: InboxCounts(4, 4, 4)})
    after = await frames(expendable, user)
    assert after[:3] == before
    assert counted(after) == [(1, 1, 1), (2, 2, 2), (3, 3, 3), (4, 4, 4)]


async def test_only_the_newest_are_kept_and_not_for_ever(expendable: Expendable) -> None:
    user = an_id()
    await LiveTail(expendable, KEYS).publish(items(user, *range(1, KEPT + 31)), {user: InboxCounts(KEPT + 30, 1, 1)})
    kept = await frames(expendable, user)
    assert [frame["sequence"] for frame in kept] == list(range(31, KEPT + 31))
    left = await expendable.call(lambda client: client.ttl(KEYS.tail(user)))
    assert KEPT_S - 10 < left <= KEPT_S


async def test_who_listens_hears_every_frame(expendable: Expendable) -> None:
    user, heard = an_id(), list[dict[str, Any]]()
    listener: Any = expendable.client.pubsub()
    await listener.ssubscribe(KEYS.channel(user))
    await LiveTail(expendable, KEYS).publish(items(user, 1, 2), {user: InboxCounts(2, 2, 2)})
    async with asyncio.timeout(5):
        while len(heard) < 2:
            message = await listener.get_message(ignore_subscribe_messages=True, timeout=0.1)
            if message is not None:
                heard.append(orjson.loads(message["data"]))
    await listener.aclose()
    assert heard == await frames(expendable, user)


async def test_without_redis_nothing_is_raised() -> None:
    away = Expendable(Redis(url="redis://127.0.0.1:1/0"))
    await LiveTail(away, KEYS).publish(items("ann", 1), {"ann": InboxCounts(1, 1, 1)})
    await away.close()


async def test_nothing_is_asked_about_nothing(expendable: Expendable) -> None:
    await LiveTail(expendable, KEYS).publish([], {})
