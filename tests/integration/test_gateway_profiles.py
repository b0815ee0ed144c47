"""What gateways know of profiles, on a real Redis and a real broker."""

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from uuid import uuid4

import msgspec
import pytest
from aiokafka import AIOKafkaProducer

from notify_streams import settings
from notify_streams.gateway.known import KEPT_S, Known, RedisShared
from notify_streams.gateway.pipelined import Pipelined
from notify_streams.gateway.results import KafkaResults
from notify_streams.stores.redis import Expendable
from notify_streams.streaming import topics
from schemas.codec import encode
from schemas.commands import CommandResultV1
from schemas.profiles import Address, Endpoint, ProfileV1

AWKWARD = ProfileV1(
    version=5,
    locale="fr",
    endpoints=(Endpoint(channel="webhook", endpoint_id="x", content=Address('https://a.example/?q={"version":9}')),),
)


@pytest.fixture
async def redis_client(redis: settings.Redis) -> AsyncIterator[Expendable]:
    client = Expendable(redis)
    yield client
    await client.close()


async def test_redis_keeps_the_newest_whoever_tells_last(redis_client: Expendable) -> None:
    shared, user = RedisShared(Pipelined(redis_client), settings.Kafka(prefix="a.", generation=2)), f"ann-{uuid4()}"
    assert await shared.read(user) is None
    steps = [
        (Known(5), Known(5)),
        (Known(5, AWKWARD), Known(5, AWKWARD)),
        (Known(5), Known(5, AWKWARD)),
        (Known(4, ProfileV1(version=4)), Known(5, AWKWARD)),
        (Known(10), Known(10)),
        (Known(9, ProfileV1(version=9)), Known(10)),
        (Known(10, ProfileV1(version=10)), Known(10, ProfileV1(version=10))),
    ]
    for told, expected in steps:
        await shared.tell({user: told, f"{user}-other": told})
        assert await shared.read(user) == expected
    left = await redis_client.client.ttl(f"a.:2:profile:{user}")
    assert KEPT_S - 5 <= left <= KEPT_S


async def test_systems_on_one_redis_and_generations_of_topics_do_not_see_each_other(redis_client: Expendable) -> None:
    """A higher version of the same user elsewhere would hide each change here, answered or not."""
    user, pipelined = f"ann-{uuid4()}", Pipelined(redis_client)
    places = [settings.Kafka(prefix=prefix, generation=n) for prefix in ("a.", "b.") for n in (1, 2)]
    for version, place in enumerate(places, 1):
        await RedisShared(pipelined, place).tell({user: Known(10 - version, ProfileV1(version=10 - version))})
    found = [await RedisShared(pipelined, place).read(user) for place in places]
    assert [one and one.version for one in found] == [9, 8, 7, 6]


async def test_nobody_has_a_profile_too(redis_client: Expendable) -> None:
    shared, user = RedisShared(Pipelined(redis_client), settings.Kafka()), f"nobody-{uuid4()}"
    await shared.tell({user: Known(0, ProfileV1())})
    assert await shared.read(user) == Known(0, ProfileV1())


async def test_a_gateway_hears_what_was_answered_before_it_began_and_while_it_was_away(kafka: settings.Kafka) -> None:
    own = msgspec.structs.replace(kafka, prefix=f"res-{uuid4().hex[:8]}.", partitions=2)
    await topics.create(own, [t for t in topics.all_topics(own) if t.name == topics.COMMAND_RESULTS])
    heard: list[str] = []
    results = KafkaResults(own, lambda result: heard.append(result.command_id))
    await _answer(own, "long-ago", age_s=KEPT_S + 60)
    await _answer(own, "before")
    results.start()
    await _until(lambda: results.listening)
    assert heard == ["before"]
    await _answer(own, "meanwhile")
    await _until(lambda: "meanwhile" in heard)
    await results.close()
    assert not results.listening
    await _answer(own, "away")
    results.start()
    await _until(lambda: results.listening)
    await results.close()
    assert heard == ["before", "meanwhile", "away"]


async def _answer(kafka: settings.Kafka, command_id: str, *, age_s: float = 0) -> None:
    result = CommandResultV1(command_id=command_id, user_id="ann", status="applied", version=1)
    async with AIOKafkaProducer(bootstrap_servers=kafka.bootstrap, acks="all") as producer:
        at = round((time.time() - age_s) * 1000)
        await producer.send_and_wait(kafka.prefix + topics.COMMAND_RESULTS, encode(result), b"ann", timestamp_ms=at)


async def _until(holds: Callable[[], bool]) -> None:
    until = time.monotonic() + 15
    while not holds():
        assert time.monotonic() < until
        await asyncio.sleep(0.02)
