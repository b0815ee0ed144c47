"""One round trip to a real Redis for all that is asked at a time."""

import asyncio
from collections.abc import AsyncIterator
from uuid import uuid4

import pytest

from notify_streams import settings
from notify_streams.gateway.pipelined import Pipelined
from notify_streams.ports import Unavailable
from notify_streams.stores.redis import Expendable


@pytest.fixture
async def client(redis: settings.Redis) -> AsyncIterator[Expendable]:
    client = Expendable(settings.Redis(url=redis.url, timeout="300ms"))
    yield client
    await client.close()


async def test_each_gets_its_own_answers_in_order_over_few_connections(client: Expendable) -> None:
    asking, mark = Pipelined(client), uuid4().bytes
    answers = await asyncio.gather(
        *(
            asking.ask((b"SET", mark + b"%d" % n, b"%d" % n, b"EX", b"60"), (b"GET", mark + b"%d" % n))
            for n in range(500)
        )
    )
    assert [get for _, get in answers] == [b"%d" % n for n in range(500)]


async def test_after_a_refusal_or_a_silence_nobody_gets_another_ones_answer(
    client: Expendable, monkeypatch: pytest.MonkeyPatch
) -> None:
    asking = Pipelined(client)
    for broken in ((b"NO-SUCH-COMMAND",), (b"BLPOP", uuid4().bytes, b"5")):
        results = await asyncio.gather(asking.ask(broken), asking.ask((b"ECHO", b"late")), return_exceptions=True)
        assert all(isinstance(result, Unavailable) for result in results)
        monkeypatch.setattr(client, "_away_until", 0.0)
        assert await asking.ask((b"ECHO", b"mine")) == [b"mine"]


async def test_it_is_left_alone_for_a_moment_after_it_did_not_answer() -> None:
    asking = Pipelined(Expendable(settings.Redis(url="redis://127.0.0.1:1/0")))
    for _ in range(3):
        with pytest.raises(Unavailable):
            await asking.ask((b"PING",))
