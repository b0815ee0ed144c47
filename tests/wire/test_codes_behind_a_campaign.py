"""A one-time code does not wait for a campaign: two lanes of a sender over SMTP, under one limit in Redis."""

import asyncio
import time
from pathlib import Path
from typing import Any
from uuid import uuid4

from notify_streams.providers.limiter import RedisLimiter
from notify_streams.providers.simulator.log import Log
from notify_streams.providers.simulator.script import Script
from notify_streams.providers.simulator.smtp import Listener
from notify_streams.settings import Redis
from notify_streams.stores.redis import Expendable
from tests.builders import HOUR
from tests.sending import a_sender, mail, until, work
from tests.smtp_servers import provider_at

RATE, CAMPAIGN, CODES = 100.0, 1_500, 20


def now() -> int:
    return time.time_ns() // 1_000_000


async def test_codes_go_out_within_seconds_while_the_campaign_goes_on(tmp_path: Path, redis: Redis) -> None:
    """FAIR-01: `scripts/bench senders` does it on Kafka with the rates of the defaults."""
    log, client = Log(tmp_path / "mails.jsonl"), Expendable(redis)
    listener = Listener(Script(), log)
    await listener.start("127.0.0.1", 0)
    limiter = RedisLimiter(client, {"smtp": RATE}, prefix=f"{uuid4()}:")
    fresh: dict[str, Any] = {"accepted_at": now(), "decided_at": now(), "expires_at": now() + HOUR}
    terms: dict[str, Any] = {"limiter": limiter, "concurrency": 8, "clock": now}
    async with provider_at(listener.port, concurrency=8) as low, provider_at(listener.port, concurrency=8) as high:
        campaign = a_sender(low, lane="low", **terms)
        codes = a_sender(high, lane="high", **terms)
        mails = [mail(f"reader{n}", lane="low", **fresh) for n in range(CAMPAIGN)]
        under_way = asyncio.ensure_future(work(campaign, *mails))
        await until(lambda: log.counts["accepted"] >= 100)
        took = []
        for number in range(CODES):
            began = time.monotonic()
            results = await work(codes, mail(f"user{number}", lane="high", **fresh))
            assert [outcome.state for _, outcome in results.outcomes] == ["sent"]
            took.append(time.monotonic() - began)
        assert not under_way.done()
        assert log.counts["accepted"] < CAMPAIGN
        assert max(took) < 5.0
        under_way.cancel()
        await asyncio.gather(under_way, return_exceptions=True)
    await listener.close()
    log.close()
    await client.close()
