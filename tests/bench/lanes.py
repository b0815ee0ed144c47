"""`scripts/bench lanes`: how soon a HIGH event is in the inbox, alone and beside a LOW backlog that is worked off."""

import asyncio
import time
from collections.abc import Iterator

import msgspec
from aiokafka import AIOKafkaProducer

from notify_streams.settings import Kafka
from notify_streams.streaming import topics
from notify_streams.streaming.partitions import Partitions
from tests.bench import kafka
from tests.bench.lab import Lab
from tests.bench.latencies import Took, percentile, took
from tests.bench.processes import Looks, looking
from tests.bench.report import Figures, Report, Row
from tests.bench.usage import Stalled
from tests.system.progress import Progress
from tests.system.traffic import HEADERS, SOURCE, event
from tests.system.whole import Whole

BACKLOG, QUICK_BACKLOG, USERS = 500_000, 50_000, 20_000
HIGH_RATE, ALONE_S, QUICK_ALONE_S = 20.0, 30.0, 10.0
WARM_S, _WORKED_OFF_S, _TICK_S = 5.0, 1800.0, 0.02
WAY = ("ingest", "orchestrator", "inbox")
_MESSAGE: dict[str, object] = {"text": "Are you coming tonight?", "url": "https://app.example/messages/7"}
_CAMPAIGN = (
    '{{"specversion":"1.0","id":"low-{number}","source":"{source}","type":"marketing.campaign","data":{{"recipients":'
    '["{user}"],"payload":{{"title":"A sale","text":"All of it.","ends":"2030-01-06","url":"https://x.y/"}},'
    '"channels":["inapp"]}}}}'
)


class Measured(msgspec.Struct, frozen=True):
    """HIGH ones before the backlog and from when all of it was there, LOW ones, and how many of each never came."""

    alone: list[Took]
    beside: list[Took]
    low: list[Took]
    high_lost: int
    low_lost: int
    looks: Looks


async def run(lab: Lab, *, quick: bool) -> Report:
    """HIGH events at 20/s all the time; after a while half a million LOW ones at once."""
    backlog, alone_s = (QUICK_BACKLOG, QUICK_ALONE_S) if quick else (BACKLOG, ALONE_S)
    whole = Whole(lab.directory / "whole", lab.engines)
    progress, stop = Progress(whole.settings.kafka), asyncio.Event()
    try:
        await whole.start()
        high = asyncio.create_task(_steadily(whole.settings.kafka, stop))
        await asyncio.sleep(WARM_S)
        since = round(time.time() * 1000)
        await asyncio.sleep(alone_s)
        until = round(time.time() * 1000)
        async with looking(lambda: {**whole.engines.pids, **whole.fleet.pids}) as looks:
            name = whole.settings.kafka.prefix + topics.events("low")
            await kafka.fill(whole.settings.kafka.bootstrap, name, campaigns(whole.settings.kafka, backlog))
            began = round(time.time() * 1000)
            for role in WAY:
                if await progress.caught_up(role, limit_s=_WORKED_OFF_S) is None:
                    raise Stalled(f"{role} has not worked off {backlog:,} events after {_WORKED_OFF_S:.0f} s")
        stop.set()
        sent = await high
        await asyncio.sleep(3.0)
        done = await took(whole.settings.kafka, whole.mails)
        return _report(_measured(done, (since, until), began, sent, backlog, looks))
    finally:
        stop.set()
        await progress.close()
        await whole.stop()


def campaigns(config: Kafka, count: int) -> Iterator[kafka.Record]:
    """LOW events for the inbox alone, of 20,000 users in turn."""
    of = Partitions(config.partitions).of
    for number in range(count):
        user = f"user-{number % USERS:06d}"
        value = _CAMPAIGN.format(number=number, source=SOURCE, user=user)
        yield of(user.encode()), user.encode(), value.encode()


async def _steadily(config: Kafka, stop: asyncio.Event) -> int:
    """HIGH events for the inbox until told; how many."""
    of, count, started = Partitions(config.partitions).of, 0, time.monotonic()
    async with AIOKafkaProducer(bootstrap_servers=config.bootstrap, acks="all") as producer:
        while not stop.is_set():
            while count < int((time.monotonic() - started) * HIGH_RATE):
                user = f"user-{count % USERS:06d}"
                one = event(f"high-{count}", user, "message.direct", "high", _MESSAGE, mail=False)
                partition, topic = of(user.encode()), config.prefix + topics.events("high")
                await producer.send(topic, one.value, user.encode(), partition=partition, headers=HEADERS)
                count += 1
            await asyncio.sleep(_TICK_S)
        await producer.flush()
    return count


def _measured(done: list[Took], alone: tuple[int, int], began: int, sent: int, backlog: int, looks: Looks) -> Measured:
    low = [one for one in done if one.lane == "low"]
    high = [one for one in done if one.lane == "high"]
    ended = max((one.ended_at for one in low), default=began)
    return Measured(
        alone=[one for one in high if alone[0] <= one.accepted_at < alone[1]],
        beside=[one for one in high if began <= one.accepted_at <= ended],
        low=low,
        high_lost=sent - len(high),
        low_lost=backlog - len(low),
        looks=looks,
    )


def _report(run: Measured) -> Report:
    figures: Figures = {"high_lost": run.high_lost, "low_lost": run.low_lost}
    rows = []
    for name, group in (("alone", run.alone), ("beside", run.beside)):
        hops = {
            "": [one.ended_at - one.accepted_at for one in group],
            "_decided": [one.decided_at - one.accepted_at for one in group],
            "_inbox": [one.ended_at - one.decided_at for one in group],
        }
        for hop, times in hops.items():
            figures |= {f"{name}{hop}_p{p}_s": percentile(times, p / 100) / 1000 for p in (50, 99)}
        cells = [f"{figures[f'{name}{hop}_p{p}_s']:.3f}" for hop in hops for p in (50, 99)]
        rows.append(Row(f"HIGH {name} ({len(group):,})", tuple(cells)))
    seconds = (max(one.ended_at for one in run.low) - min(one.accepted_at for one in run.low)) / 1000
    figures |= {"low_s": seconds, "low_per_s": len(run.low) / seconds}
    figures |= {f"{name}_core": run.looks.cpu(name) / run.looks.seconds for name in run.looks.names()}
    shares = sorted(((figures[f"{name}_core"], name) for name in run.looks.names()), reverse=True)
    return Report(
        bench="lanes",
        columns=("p50 s", "p99 s", "to decision p50", "p99", "to inbox p50", "p99"),
        rows=tuple(rows),
        figures=figures,
        ceilings={"beside_p99_s": 1.0, "high_lost": 0, "low_lost": 0},
        notes=(
            f"{len(run.low):,} LOW events for the inbox worked off in {seconds:.0f} s, {figures['low_per_s']:,.0f}/s; "
            f"HIGH ones all the time at {HIGH_RATE:.0f}/s. From the broker's append to the row in Cassandra.",
            "Of a core meanwhile: " + ", ".join(f"{name} {share:.0%}" for share, name in shares if share >= 0.01) + ".",
        ),
    )
