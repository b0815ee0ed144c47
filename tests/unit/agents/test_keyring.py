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
