"""One round trip to a real Redis for all that is asked at a time."""

import asyncio
from collections.abc import AsyncIterator
from uuid import uuid4

import pytest
from redis.asyncio import Redis

from notify_streams import settings
from notify_streams.gateway.pipelined import Pipelined
from notify_streams.ports import Unavailable


@pytest.fixture
async def client(redis: settings.Redis) -> AsyncIterator[Redis]:
    client = Redis.from_url(redis.url, max_connections=2)
    yield client
    await client.aclose()


def pipelined(client: Redis) -> Pipelined:
    return Pipelined(client, settings.Redis(timeout="300ms"))


async def test_each_gets_its_own_answers_in_order_over_few_connections(client: Redis) -> None:
    asking, mark = pipelined(client), uuid4().bytes
    answers = await asyncio.gather(
        *(
            asking.ask((b"SET", mark + b"%d" % n, b"%d" % n, b"EX", b"60"), (b"GET", mark + b"%d" % n))
            for n in range(500)
        )
    )
    assert [get for _, get in answers] == [b"%d" % n for n in range(500)]


async def test_after_a_refusal_or_a_silence_nobody_gets_another_ones_answer(
    client: Redis, monkeypatch: pytest.MonkeyPatch
) -> None:
    asking = pipelined(client)
    for broken in ((b"NO-SUCH-COMMAND",), (b"BLPOP", uuid4().bytes, b"1")):
        results = await asyncio.gather(asking.ask(broken), asking.ask((b"ECHO", b"late")), return_exceptions=True)
        assert all(isinstance(result, Unavailable) for result in results)
        monkeypatch.setattr(asking, "_rests_until", 0.0)
        assert await asking.ask((b"ECHO", b"mine")) == [b"mine"]


async def test_it_is_left_alone_for_a_moment_after_it_did_not_answer() -> None:
    asking = pipelined(Redis(port=1))
    for _ in range(3):
        with pytest.raises(Unavailable):
            await asking.ask((b"PING",))
