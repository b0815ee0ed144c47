"""What a limiter promises, in one process and on Redis."""

import asyncio
import time
from collections.abc import AsyncIterator
from uuid import uuid4

import pytest

from notify_streams.ports import Limiter, Unavailable
from notify_streams.providers.limiter import LocalLimiter, RedisLimiter
from notify_streams.settings import Redis
from notify_streams.stores.redis import Expendable
from schemas.words import LANES

RATES = {"fast": 500.0, "slow": 5.0}


@pytest.fixture
async def shared(redis: Redis) -> AsyncIterator[Expendable]:
    expendable = Expendable(redis)
    yield expendable
    await expendable.close()


@pytest.fixture
def prefix() -> str:
    return f"{uuid4()}:"


@pytest.fixture(params=["local", "redis"])
def limiter(request: pytest.FixtureRequest, shared: Expendable, prefix: str) -> Limiter:
    if request.param == "local":
        return LocalLimiter(RATES, share=1.0, clock=time.time)
    return RedisLimiter(shared, RATES, prefix=prefix)


async def test_what_is_asked_beyond_the_rate_waits(limiter: Limiter) -> None:
    grant = await limiter.take("fast", "normal", 1000)
    assert 1 <= grant.granted <= 60
    assert 1 <= grant.wait_ms <= 30
    assert (await limiter.take("slow", "normal", 1)).granted == 1


async def test_low_leaves_room_and_high_goes_first(limiter: Limiter) -> None:
    assert (await limiter.take("slow", "high", 2)).granted == 1
    behind = await limiter.take("slow", "normal", 1)
    assert behind.granted == 0
    assert behind.wait_ms > 0


async def test_a_pause_holds_for_all_and_a_shorter_one_does_not_end_it(limiter: Limiter) -> None:
    await limiter.pause("fast", 400)
    await limiter.pause("fast", 50)
    await asyncio.sleep(0.1)
    grants = [await limiter.take("fast", lane, 1) for lane in LANES]
    assert [grant.granted for grant in grants] == [0, 0, 0]
    assert all(200 <= grant.wait_ms <= 400 for grant in grants)
    await asyncio.sleep(max(grant.wait_ms for grant in grants) / 1000 + 0.02)
    assert (await limiter.take("fast", "low", 1)).granted == 1


async def test_two_processes_together_keep_the_rate(redis: Redis, prefix: str) -> None:
    both = [Expendable(redis), Expendable(redis)]
    got, until = 0, time.monotonic() + 2.0

    async def ask(limiter: RedisLimiter) -> None:
        nonlocal got
        while time.monotonic() < until:
            grant = await limiter.take("fast", "normal", 50)
            got += grant.granted
            await asyncio.sleep(grant.wait_ms / 1000)

    await asyncio.gather(*(ask(RedisLimiter(one, RATES, prefix=prefix)) for one in both))
    assert 0.9 * 1000 <= got <= 1.06 * 1000
    for one in both:
        await one.close()


async def test_whatever_is_cut_off_the_rate_comes_back_by_itself(shared: Expendable, prefix: str) -> None:
    """FAIR-07: no key outlives its window or stands without an end, however often a caller dies in between."""
    limiter = RedisLimiter(shared, {"ten": 10.0}, prefix=prefix)
    for _ in range(20):
        asking = asyncio.ensure_future(limiter.take("ten", "normal", 10))
        await asyncio.sleep(0)
        asking.cancel()
        await asyncio.gather(asking, return_exceptions=True)
    await asyncio.sleep(0.3)
    assert (await limiter.take("ten", "normal", 1)).granted == 1
    assert 0 < await shared.client.pttl(f"{prefix}limit:ten") <= 60_000


async def test_without_redis_it_says_so() -> None:
    away = Expendable(Redis(url="redis://127.0.0.1:1/0", timeout="50ms"))
    with pytest.raises(Unavailable):
        await RedisLimiter(away, RATES).take("fast", "high", 1)
    await away.close()
