"""How a call ended is kept in Redis sooner or later, so that nobody makes it again."""

import pytest

from agents.sending.jobs import Job
from agents.sending.keyring import Keyring
from agents.sending.waits import Waits
from notify_streams.providers.memory_keys import MemoryDeliveryKeys
from tests.builders import NOW, a_delivery, an_outcome
from tests.fakes import Flaky, arrived


@pytest.mark.parametrize("told", ["claims", "ended"])
async def test_an_end_that_redis_did_not_take_goes_with_what_it_is_told_next(told: str) -> None:
    job, redis = Job(arrived(b""), a_delivery()), MemoryDeliveryKeys()
    flaky = Flaky(redis, away=["ended"])
    keyring = Keyring(flaky, MemoryDeliveryKeys(), Waits(lambda: False))
    await keyring.claims([job], hold_s=None)
    assert await keyring.calling(job.delivery, NOW, "fcm", holds=False)
    await keyring.ended(an_outcome(job.delivery, state="sent"))
    assert (await redis.claim([job.delivery]))[0].status == "unknown"
    flaky.away.clear()
    if told == "claims":
        await keyring.claims([job], hold_s=None)
    else:
        other = a_delivery(delivery_id="01234567-89ab-5def-8123-456789abcdef")
        await keyring.ended(an_outcome(other, state="sent"))
    assert (await redis.claim([job.delivery]))[0].status == "done"
    assert (asked := flaky.asked.count("ended")) == 2, asked


async def test_a_call_that_was_not_made_for_a_lost_answer_is_nobodys_unknown_outcome() -> None:
    """Redis marks it as called and is slow to say so: a lane that holds does not call, and may do so later."""
    job, redis = Job(arrived(b""), a_delivery()), MemoryDeliveryKeys()
    flaky = Flaky(redis)
    keyring = Keyring(flaky, MemoryDeliveryKeys(), Waits(lambda: False))
    await keyring.claims([job], hold_s=None)
    flaky.late.add("calling")
    assert await keyring.calling(job.delivery, NOW, "ses", holds=True) is None
    assert (await redis.claim([job.delivery]))[0].status == "unknown"
    flaky.late.clear()
    flaky.away.add("uncalled")
    assert await keyring.claims([job], hold_s=0.01) is None
    flaky.away.clear()
    [claim] = await keyring.claims([job], hold_s=None) or ()
    assert claim.status == "mine"
    assert await keyring.calling(job.delivery, NOW + 1, "ses", holds=True)


async def test_a_lane_that_goes_on_without_redis_takes_no_call_back() -> None:
    job, redis = Job(arrived(b""), a_delivery()), MemoryDeliveryKeys()
    flaky = Flaky(redis)
    keyring = Keyring(flaky, MemoryDeliveryKeys(), Waits(lambda: False))
    await keyring.claims([job], hold_s=None)
    flaky.late.add("calling")
    assert await keyring.calling(job.delivery, NOW, "ses", holds=False)
    [claim] = await keyring.claims([job], hold_s=None) or ()
    assert claim.status == "unknown"
