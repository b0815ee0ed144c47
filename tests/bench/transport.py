"""`scripts/bench transport`: what Faust with our transport does, beside bare aiokafka on the same broker."""

import sys
from collections.abc import Iterator
from pathlib import Path

import msgspec

from notify_streams import bootstrap
from notify_streams.domain import ids
from notify_streams.settings import Settings
from notify_streams.streaming import topics
from notify_streams.streaming.partitions import Partitions
from schemas.codec import encode
from schemas.content import Content
from schemas.notifications import NotificationV1
from schemas.profiles import Address, Endpoint, ProfileV1
from tests.bench import kafka
from tests.bench.counter import Counter
from tests.bench.lab import Lab
from tests.bench.report import Report, Row
from tests.bench.usage import Usage, watch

FLOORS = {"noop": 35_000, "send": 22_000, "state": 20_000, "orchestrator": 12_000}
WORDS = {
    "bare": "bare aiokafka, consume and produce",
    "noop": "no-op agent",
    "send": "batch send",
    "state": "batched state write, changelog awaited",
    "orchestrator": "orchestrator, two channels delivered",
}
USERS, TYPE, BROKER = 20_000, "order.confirmed", "broker"
_CORE = 0.9
_ACCEPTED_AT = 1_796_000_000_000


async def run(lab: Lab, *, quick: bool) -> Report:
    """Each stage after the other over the same notifications; `quick` takes a third of them."""
    config = lab.settings("bench.")
    await lab.provision(config)
    count = 120_000 if quick else 360_000
    await kafka.fill(config.kafka.bootstrap, "bench." + topics.notifications("low"), notifications(config, count))
    await kafka.fill(config.kafka.bootstrap, "bench." + topics.PROFILES, profiles(config))
    used = {name: await _stage(lab, config, name, count) for name in ("bare", "noop", "send", "state")}
    used["orchestrator"] = await _orchestrator(lab, config, count)
    return _report(used)


def notifications(config: Settings, count: int) -> Iterator[kafka.Record]:
    """About 300 bytes each, for 20,000 users in turn."""
    catalogue = bootstrap.catalogue(config)
    type_, of = catalogue.types[TYPE], Partitions(config.kafka.partitions).of
    for number in range(count):
        user = f"u{number % USERS:06d}"
        payload = b'{"order":"%d","total":"19.90 EUR","items":[],"url":"https://shop.example/%d"}' % (number, number)
        notification = NotificationV1(
            notification_id=ids.notification_id("bench", str(number), None, user),
            user_id=user,
            type=TYPE,
            source="bench",
            event_id=str(number),
            accepted_at=_ACCEPTED_AT + number,
            expires_at=_ACCEPTED_AT + 10**12,
            origin=f"events.low/0/{number}",
            lane="low",
            channels=type_.channels,
            content=Content(payload=msgspec.Raw(payload)),
        )
        yield of(user.encode()), user.encode(), encode(notification)


def profiles(config: Settings) -> Iterator[kafka.Record]:
    """Everybody has a mailbox."""
    of = Partitions(config.kafka.partitions).of
    for number in range(USERS):
        user = f"u{number:06d}"
        mailbox = Endpoint(channel="email", endpoint_id="e1", verified=True, content=Address(f"{user}@example.org"))
        yield of(user.encode()), user.encode(), encode(ProfileV1(version=1, endpoints=(mailbox,)))


async def _stage(lab: Lab, config: Settings, name: str, count: int) -> Usage:
    path = lab.directory / f"{name}.count"
    counter = Counter(path)

    async def done() -> int:
        return counter.value

    pid = await lab.start(name, ["-m", "tests.bench.stages", name, str(path)], config)
    used = await watch(count, done, {name: pid, BROKER: lab.engines.pids["kafka"]})
    await lab.stop_workers()
    return used


async def _orchestrator(lab: Lab, config: Settings, count: int) -> Usage:
    address = config.kafka.bootstrap
    async with kafka.ends(address, "bench." + topics.deliveries("email", "low"), config.kafka.partitions) as mails:
        argv = [str(Path(sys.executable).with_name("notify")), "worker", "orchestrator"]
        pid = await lab.start("orchestrator", argv, config)
        used = await watch(count, mails.total, {"orchestrator": pid, BROKER: lab.engines.pids["kafka"]})
        await lab.stop_workers()
    return used


def _report(used: dict[str, Usage]) -> Report:
    rows = tuple(
        Row(
            WORDS[name],
            (
                f"{usage.rate:,.0f}",
                f"{FLOORS[name]:,}" if name in FLOORS else "",
                f"{usage.micros(name):.1f}",
                f"{usage.micros(BROKER):.1f}",
                f"{usage.core(name):.0%}",
                f"{usage.peak_bytes[name] / 2**20:.0f}",
            ),
        )
        for name, usage in used.items()
    )
    figures = {f"{name}_per_s": usage.rate for name, usage in used.items()}
    figures |= {f"{name}_cpu_us": usage.micros(name) for name, usage in used.items()}
    figures |= {f"{name}_broker_us": usage.micros(BROKER) for name, usage in used.items()}
    figures |= {f"{name}_core": usage.core(name) for name, usage in used.items()}
    return Report(
        bench="transport",
        columns=("records/s", "floor", "worker µs", "broker µs", "of a core", "MiB"),
        rows=rows,
        figures=figures,
        floors={f"{name}_per_s": float(floor) for name, floor in FLOORS.items()} | {"orchestrator_core": _CORE},
        notes=(
            "One process each; the middle 80 % of the run; µs is CPU time per record of that process.",
            "The first stages cost so little that the broker on the other core is the limit, not their own.",
        ),
    )
