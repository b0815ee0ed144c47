"""What delivery keys promise, in memory and on Redis.

Where they differ: memory knows nothing of other processes, so a claim there cannot be lost to one, and what a process
that ended was calling is unknown only on Redis. Both tell the same story to one process.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from uuid import uuid4

import pytest
from redis.asyncio import Redis as Client

from notify_streams.ports import Claim, DeliveryKeys, Unavailable
from notify_streams.providers.delivery_keys import RedisDeliveryKeys, key_of
from notify_streams.providers.memory_keys import MemoryDeliveryKeys
from notify_streams.settings import Redis
from notify_streams.stores.redis import Expendable
from schemas.deliveries import DeliveryV1
from schemas.outcomes import OutcomeState
from schemas.words import Reason
from tests.builders import NOW, a_delivery, an_outcome

Another = Callable[[], RedisDeliveryKeys]


@pytest.fixture
async def another(redis: Redis) -> AsyncIterator[Another]:
    """Makes the keys of one more process on the same Redis."""
    opened: list[Expendable] = []

    def made() -> RedisDeliveryKeys:
        opened.append(Expendable(redis))
        return RedisDeliveryKeys(opened[-1])

    yield made
    for expendable in opened:
        await expendable.close()


@pytest.fixture(params=["memory", "redis"])
def backing(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def keys(backing: str, another: Another) -> DeliveryKeys:
    return MemoryDeliveryKeys() if backing == "memory" else another()


def one(attempt: int = 1) -> DeliveryV1:
    """A delivery that nobody has met."""
    return a_delivery(str(uuid4()), attempt=attempt)


def again(delivery: DeliveryV1, attempt: int) -> DeliveryV1:
    return a_delivery(delivery.notification_id, attempt=attempt)


async def claim(keys: DeliveryKeys, delivery: DeliveryV1) -> Claim:
    [answer] = await keys.claim([delivery])
    return answer


async def calling(keys: DeliveryKeys, delivery: DeliveryV1, now: int = NOW) -> bool:
    [answer] = await keys.calling([delivery], now)
    return answer


async def test_a_new_delivery_is_mine_and_may_be_called(keys: DeliveryKeys) -> None:
    delivery = one()
    assert await claim(keys, delivery) == Claim("mine")
    assert await calling(keys, delivery)


async def test_what_was_claimed_and_not_called_may_be_claimed_again(keys: DeliveryKeys) -> None:
    delivery = one()
    await claim(keys, delivery)
    assert await claim(keys, delivery) == Claim("mine")
    assert await calling(keys, delivery)


async def test_called_and_never_ended_is_unknown_since_then(keys: DeliveryKeys) -> None:
    delivery = one()
    await claim(keys, delivery)
    await calling(keys, delivery, NOW + 7)
    assert await claim(keys, delivery) == Claim("unknown", since=NOW + 7, attempt=1)
    assert not await calling(keys, delivery)


async def test_the_attempt_after_an_unknown_one_is_mine(keys: DeliveryKeys) -> None:
    delivery = one()
    await claim(keys, delivery)
    await calling(keys, delivery)
    assert await claim(keys, again(delivery, 2)) == Claim("mine")
    assert await calling(keys, again(delivery, 2))


async def test_what_has_ended_is_done_with_the_outcome_that_was_published(keys: DeliveryKeys) -> None:
    delivery = one()
    outcome = an_outcome(delivery, state="retrying", next_at=NOW + 9, detail='quotes " | and bars')
    await claim(keys, delivery)
    await calling(keys, delivery)
    await keys.ended([outcome])
    assert await claim(keys, delivery) == Claim("done", outcome)
    assert not await calling(keys, delivery)


async def test_after_it_was_sent_no_attempt_is_made_any_more(keys: DeliveryKeys) -> None:
    delivery = one()
    outcome = an_outcome(delivery)
    await keys.ended([outcome])
    for attempt in (1, 2, 9):
        assert await claim(keys, again(delivery, attempt)) == Claim("done", outcome)
        assert not await calling(keys, again(delivery, attempt))


@pytest.mark.parametrize("state", ["retrying", "unknown", "failed", "expired"])
async def test_after_an_end_that_is_not_final_the_next_attempt_is_mine(keys: DeliveryKeys, state: OutcomeState) -> None:
    delivery = one(2)
    await claim(keys, delivery)
    await calling(keys, delivery)
    await keys.ended([an_outcome(delivery, state=state)])
    assert (await claim(keys, again(delivery, 1))).status == "done"
    assert (await claim(keys, again(delivery, 2))).status == "done"
    assert (await claim(keys, again(delivery, 3))).status == "mine"


async def test_while_a_later_attempt_is_called_an_earlier_one_is_done(keys: DeliveryKeys) -> None:
    delivery = one(2)
    await claim(keys, delivery)
    await calling(keys, delivery)
    assert await claim(keys, again(delivery, 1)) == Claim("done")
    assert (await claim(keys, delivery)).status == "unknown"


@pytest.mark.parametrize("state", ["retrying", "failed"])
async def test_an_end_that_comes_late_does_not_take_a_later_attempts_place(
    keys: DeliveryKeys, state: OutcomeState
) -> None:
    delivery = one(2)
    await claim(keys, delivery)
    await calling(keys, delivery)
    await keys.ended([an_outcome(again(delivery, 1), state=state)])
    assert (await claim(keys, delivery)).status == "unknown"


async def test_a_final_end_that_comes_late_prevents_the_next_call(keys: DeliveryKeys) -> None:
    delivery = one(2)
    await claim(keys, delivery)
    await keys.ended([an_outcome(again(delivery, 1), state="sent")])
    assert not await calling(keys, delivery)


async def test_nothing_takes_the_place_of_a_final_end(keys: DeliveryKeys) -> None:
    delivery = one()
    sent = an_outcome(delivery, state="sent")
    await keys.ended([sent])
    await keys.ended([an_outcome(again(delivery, 2), state="retrying")])
    assert await claim(keys, again(delivery, 3)) == Claim("done", sent)


async def test_a_receipt_settles_a_call_of_which_nobody_knows(keys: DeliveryKeys) -> None:
    """ORD-02, IDM-03: whoever comes back for it says that it was sent, and calls nobody."""
    delivery = one()
    await claim(keys, delivery)
    await keys.calling([delivery], NOW, ["ses"])
    assert (await claim(keys, delivery)).provider == "ses"
    assert await keys.settle(delivery.delivery_id, NOW + 3, "m|1")
    said = Claim("settled", since=NOW + 3, message_id="m|1", provider="ses", attempt=1)
    assert [await claim(keys, again(delivery, attempt)) for attempt in (1, 2)] == [said, said]
    assert not await calling(keys, again(delivery, 2))
    await keys.ended([an_outcome(delivery, state="retrying", next_at=NOW + 9)])
    assert await claim(keys, delivery) == said
    await keys.ended([sent := an_outcome(delivery, state="sent")])
    assert await claim(keys, again(delivery, 2)) == Claim("done", sent)


@pytest.mark.parametrize("state", ["unknown", "retrying"])
async def test_a_receipt_settles_an_end_that_is_in_doubt(keys: DeliveryKeys, state: OutcomeState) -> None:
    """Also where the provider takes an idempotency key, and it would be resent soon."""
    delivery, doubt = one(2), Reason.UNKNOWN_OUTCOME
    await keys.calling([delivery], NOW, ["ses"])
    await keys.ended([an_outcome(delivery, state=state, reason=doubt, provider="ses", next_at=NOW + 9)])
    assert await keys.settle(delivery.delivery_id, NOW + 3)
    said = Claim("settled", since=NOW + 3, provider="ses", attempt=2)
    assert await claim(keys, again(delivery, 3)) == said


@pytest.mark.parametrize("state", ["sent", "retrying", "failed", "expired"])
async def test_a_receipt_settles_nothing_where_it_is_known_what_became_of_it(
    keys: DeliveryKeys, state: OutcomeState
) -> None:
    delivery = one()
    assert not await keys.settle(delivery.delivery_id, NOW)
    await keys.ended([before := an_outcome(delivery, state=state)])
    assert not await keys.settle(delivery.delivery_id, NOW)
    assert await claim(keys, delivery) == Claim("done", before)


async def test_without_a_claim_that_anybody_remembers_one_may_still_call(keys: DeliveryKeys) -> None:
    """After Redis lost its data."""
    delivery = one()
    assert await calling(keys, delivery)
    assert (await claim(keys, delivery)).status == "unknown"


async def test_many_are_answered_in_their_order(keys: DeliveryKeys) -> None:
    new, called, done = one(), one(), one()
    await calling(keys, called)
    await keys.ended([an_outcome(done)])
    asked = [done, new, called, done, new]
    assert [c.status for c in await keys.claim(asked)] == ["done", "mine", "unknown", "done", "mine"]
    assert list(await keys.calling(asked, NOW)) == [False, True, False, False, False]


async def test_nothing_is_asked_about_nothing(keys: DeliveryKeys) -> None:
    assert list(await keys.claim([])) == []
    assert list(await keys.calling([], NOW)) == []
    await keys.ended([])


async def test_what_was_marked_and_not_called_may_be_called_after_all(keys: DeliveryKeys) -> None:
    delivery = one()
    await claim(keys, delivery)
    await calling(keys, delivery, NOW)
    await keys.uncalled([delivery], [NOW])
    assert await claim(keys, delivery) == Claim("mine")
    assert await calling(keys, delivery, NOW + 1)


async def test_a_later_call_and_an_end_are_not_taken_back(keys: DeliveryKeys) -> None:
    called, ended, unmet = one(), one(), one()
    await keys.claim([called, ended])
    await keys.calling([called, ended], NOW + 1)
    await keys.ended([an_outcome(ended)])
    await keys.uncalled([called, again(called, 2), ended, unmet], [NOW, NOW + 1, NOW + 1, NOW])
    assert [c.status for c in await keys.claim([called, ended, unmet])] == ["unknown", "done", "mine"]
    await keys.uncalled([], [])


async def test_nobody_takes_back_what_another_process_calls(another: Another) -> None:
    a, b, delivery = another(), another(), one()
    await claim(a, delivery)
    await calling(a, delivery, NOW)
    await b.uncalled([delivery], [NOW])
    assert (await claim(b, delivery)).status == "unknown"


async def test_memory_forgets_the_oldest_beyond_fifty_thousand() -> None:
    keys = MemoryDeliveryKeys()
    first, last = one(), one()
    await keys.ended([an_outcome(first)])
    await keys.ended([an_outcome(delivery_id=f"d-{n}") for n in range(50_000)])
    await keys.ended([an_outcome(last)])
    assert ((await claim(keys, first)).status, (await claim(keys, last)).status) == ("mine", "done")


async def test_a_claim_is_taken_over_at_once_and_the_first_holder_cannot_call(another: Another) -> None:
    a, b, delivery = another(), another(), one()
    await claim(a, delivery)
    assert await claim(b, delivery) == Claim("mine")
    assert not await calling(a, delivery)
    assert await calling(b, delivery)


async def test_of_two_that_claim_and_call_at_once_only_one_calls(another: Another) -> None:
    both, deliveries = [another(), another()], [one() for _ in range(50)]

    async def race(keys: RedisDeliveryKeys) -> list[bool]:
        answers = []
        for delivery in deliveries:
            status = (await claim(keys, delivery)).status
            await asyncio.sleep(0)
            answers.append(status == "mine" and await calling(keys, delivery))
        return answers

    first, second = await asyncio.gather(*map(race, both))
    assert all(not (x and y) for x, y in zip(first, second, strict=True))
    assert any(first) or any(second)


async def test_what_a_process_was_calling_when_it_died_is_unknown_to_the_next(another: Another) -> None:
    a, b, delivery = another(), another(), one()
    await claim(a, delivery)
    await calling(a, delivery, NOW + 5)
    assert await claim(b, delivery) == Claim("unknown", since=NOW + 5, attempt=1)
    assert not await calling(b, delivery)
    assert await claim(b, again(delivery, 2)) == Claim("mine")
    assert await calling(b, again(delivery, 2))


async def test_the_outcome_of_one_process_is_the_answer_to_another(another: Another) -> None:
    a, b, delivery = another(), another(), one()
    await claim(a, delivery)
    await calling(a, delivery)
    await a.ended([outcome := an_outcome(delivery)])
    assert await claim(b, delivery) == Claim("done", outcome)


async def test_an_older_attempt_does_not_steal_the_claim_of_a_later_one(another: Another) -> None:
    a, b, delivery = another(), another(), one(2)
    await claim(b, delivery)
    assert await claim(a, again(delivery, 1)) == Claim("done")
    assert await calling(b, delivery)


async def test_a_process_woken_late_does_not_take_its_successors_claim_away(another: Another) -> None:
    a, b, delivery = another(), another(), one()
    await claim(a, delivery)
    await calling(a, delivery)
    await claim(b, again(delivery, 2))
    await a.ended([an_outcome(delivery, state="retrying")])
    assert await calling(b, again(delivery, 2))


async def test_each_key_lives_for_a_day(another: Another, redis: Redis) -> None:
    keys, delivery = another(), one()
    client = Client.from_url(redis.url)
    steps: list[Callable[[], Awaitable[object]]] = [
        lambda: claim(keys, delivery),
        lambda: calling(keys, delivery),
        lambda: keys.ended([an_outcome(delivery)]),
    ]
    for step in steps:
        await step()
        assert 86_390 < await client.ttl(key_of(delivery.delivery_id)) <= 86_400
    await client.aclose()


async def test_a_restarted_redis_still_knows_the_scripts_meaning(another: Another, redis: Redis) -> None:
    keys, delivery = another(), one()
    await claim(keys, delivery)
    client = Client.from_url(redis.url)
    await client.script_flush()
    await client.aclose()
    assert await calling(keys, delivery)
    await keys.ended([an_outcome(delivery)])
    assert (await claim(keys, delivery)).status == "done"


async def test_an_absent_redis_is_said_to_be_away_soon_and_not_asked_for_a_second() -> None:
    expendable = Expendable(Redis(url="redis://127.0.0.1:1/0"))
    keys, started = RedisDeliveryKeys(expendable), asyncio.get_running_loop().time()
    for call in (keys.claim([one()]), keys.calling([one()], NOW), keys.ended([an_outcome()])):
        with pytest.raises(Unavailable):
            await call
    assert expendable.away
    await expendable.close()
    assert asyncio.get_running_loop().time() - started < 2
