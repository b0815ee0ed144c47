"""Counts and first pages on a real Redis: what is kept is never of an older inbox than the counts are."""

from collections.abc import AsyncIterator

import pytest

from notify_streams.gateway.inbox_cache import NOTHING, InboxCache, Kept
from notify_streams.gateway.pipelined import Pipelined
from notify_streams.ports import InboxCounts
from notify_streams.settings import Kafka, Redis
from notify_streams.stores.inbox_keys import InboxKeys
from notify_streams.stores.redis import Expendable
from notify_streams.stores.unread import RedisUnread
from schemas.codec import encode
from tests.builders import an_id

KEYS = InboxKeys.of(Kafka())
PAGE = b'{"items":[],"next":null}'


@pytest.fixture
async def redis_client(redis: Redis) -> AsyncIterator[Expendable]:
    opened = Expendable(redis)
    yield opened
    await opened.close()


@pytest.fixture
def cache(redis_client: Expendable) -> InboxCache:
    return InboxCache(Pipelined(redis_client), KEYS)


async def test_nothing_is_kept_of_somebody_new(cache: InboxCache) -> None:
    assert await cache.first_page(an_id()) == await cache.counts(an_id()) == NOTHING


async def test_a_page_is_good_for_as_long_as_the_counts_are_of_its_sequence(
    cache: InboxCache, redis_client: Expendable
) -> None:
    user, before, after = an_id(), InboxCounts(7, 2, 1), InboxCounts(8, 3, 2)
    await cache.keep_counts(user, before)
    await cache.keep_page(user, 7, PAGE)
    assert await cache.first_page(user) == Kept(before, PAGE)
    await redis_client.client.set(KEYS.counts(user), encode(after))  # as the inbox role does
    assert await cache.first_page(user) == Kept(after, None)
    await cache.keep_page(user, 8, PAGE)
    assert await cache.first_page(user) == Kept(after, PAGE)


async def test_a_page_that_was_read_before_a_change_and_kept_after_it_is_not_shown(
    cache: InboxCache, redis_client: Expendable
) -> None:
    user = an_id()
    await redis_client.client.set(KEYS.counts(user), encode(InboxCounts(8, 3, 2)))
    await cache.keep_page(user, 7, PAGE)
    assert (await cache.first_page(user)).page is None


async def test_older_counts_never_replace_newer_ones(cache: InboxCache) -> None:
    user, newer = an_id(), InboxCounts(10, 1, 0)
    await cache.keep_counts(user, newer)
    for older in (InboxCounts(9, 5, 5), InboxCounts(10, 7, 7)):
        await cache.keep_counts(user, older)
        assert (await cache.counts(user)).counts == newer
    newest = InboxCounts(11, 0, 0)
    await cache.keep_counts(user, newest)
    assert (await cache.counts(user)).counts == newest


async def test_what_is_kept_is_forgotten_after_five_minutes(cache: InboxCache, redis_client: Expendable) -> None:
    user = an_id()
    await cache.keep_counts(user, InboxCounts(1, 1, 1))
    await cache.keep_page(user, 1, PAGE)
    for key in (KEYS.counts(user), KEYS.page(user)):
        assert 290 < await redis_client.client.ttl(key) <= 300


async def test_two_installations_on_one_redis_share_nothing(cache: InboxCache, redis_client: Expendable) -> None:
    user = an_id()
    await cache.keep_counts(user, InboxCounts(3, 2, 1))
    other = InboxCache(Pipelined(redis_client), InboxKeys.of(Kafka(prefix="other.")))
    assert await other.counts(user) == NOTHING


async def test_without_redis_there_is_nothing_and_nobody_waits() -> None:
    away = Expendable(Redis(url="redis://127.0.0.1:1/0"))
    cache = InboxCache(Pipelined(away), KEYS)
    assert await cache.first_page("ann") == NOTHING
    await cache.keep_counts("ann", InboxCounts(1, 1, 1))
    await cache.keep_page("ann", 1, PAGE)
    assert await cache.counts("ann") == NOTHING
    await away.close()


async def test_what_is_unread_is_known_for_whom_counts_are_kept(cache: InboxCache, redis_client: Expendable) -> None:
    known, unknown, odd = an_id(), an_id(), an_id()
    await cache.keep_counts(known, InboxCounts(9, 4, 2))
    await redis_client.client.set(KEYS.counts(odd), b"no counts", ex=60)
    assert await RedisUnread(redis_client, KEYS).unread([known, unknown, odd]) == {known: 4}
