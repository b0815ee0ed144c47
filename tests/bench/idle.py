"""`scripts/bench idle`: what the whole costs when nothing happens, and how soon a mail is out then."""

import asyncio

from aiokafka import AIOKafkaProducer

from tests.bench.lab import Lab
from tests.bench.latencies import mails_of, percentile
from tests.bench.pipeline import registered
from tests.bench.processes import Looks, looking
from tests.bench.report import Figures, Report, Row
from tests.bench.usage import Stalled
from tests.system.progress import Progress
from tests.system.traffic import HEADERS, Event, event
from tests.system.whole import Whole

SECONDS, QUICK_SECONDS, SETTLED_S, EVENTS = 60.0, 15.0, 20.0, 30
_LOOKS = 40
_ORDER: dict[str, object] = {"order": "1", "total": "9 EUR", "items": [], "url": "https://shop.example/1"}


async def run(lab: Lab, *, quick: bool) -> Report:
    """A minute of nothing, then one event a second."""
    whole = Whole(lab.directory / "whole", lab.engines)
    progress = Progress(whole.settings.kafka)
    try:
        await whole.start()
        await registered(whole, progress, 1)
        await progress.close()
        await asyncio.sleep(5.0 if quick else SETTLED_S)
        async with looking(lambda: {**whole.engines.pids, **whole.fleet.pids}) as looks:
            await asyncio.sleep(QUICK_SECONDS if quick else SECONDS)
        return _report(looks, await _mailed(whole, 10 if quick else EVENTS))
    finally:
        await progress.close()
        await whole.stop()


async def _mailed(whole: Whole, count: int) -> list[float]:
    """Seconds from the broker's append to the mail server, for events one second apart."""
    kafka, accepted = whole.settings.kafka, dict[str, int]()
    producer = AIOKafkaProducer(bootstrap_servers=kafka.bootstrap, acks="all")
    await producer.start()
    try:
        for number in range(count):
            one = event(f"idle-{number}", "user-000000", "order.confirmed", "normal", _ORDER, mail=True)
            accepted[one.delivery_id] = await _send(producer, kafka.prefix, one)
            await asyncio.sleep(1.0)
    finally:
        await producer.stop()
    for _ in range(_LOOKS):
        mailed = mails_of(whole.mails)
        if accepted.keys() <= mailed.keys():
            return [(mailed[id_] - at) / 1000 for id_, at in accepted.items()]
        await asyncio.sleep(0.5)
    raise Stalled(f"{len(accepted.keys() - mailed.keys())} of {count} mails did not come")


async def _send(producer: AIOKafkaProducer, prefix: str, one: Event) -> int:
    key = one.user_id.encode()
    sent = await producer.send_and_wait(f"{prefix}events.{one.lane}", one.value, key, headers=HEADERS)
    if not isinstance(sent.timestamp, int):
        raise Stalled("the broker did not say when it appended an event")
    return sent.timestamp


def _report(looks: Looks, seconds: list[float]) -> Report:
    cores = {name: looks.cpu(name) / looks.seconds for name in looks.names()}
    figures: Figures = {f"{name}_core": share for name, share in cores.items()}
    figures |= {"core": sum(cores.values())}
    figures |= {f"mail_p{share * 100:.0f}_s": percentile(seconds, share) for share in (0.5, 0.95)}
    rows = [
        Row(name, (f"{cores[name]:.2%}", f"{looks.peak(name):.0f}"))
        for name in sorted(cores, key=lambda name: -cores[name])
    ]
    return Report(
        bench="idle",
        columns=("of one core", "MiB"),
        rows=(*rows, Row("all", (f"{figures['core']:.2%}", ""))),
        figures=figures,
        ceilings={"core": 0.15, "mail_p50_s": 0.15},
        notes=(
            f"{looks.seconds:.0f} s without traffic. Then {len(seconds)} events one second apart, from the broker's "
            f"append to the mail server: p50 {figures['mail_p50_s'] * 1000:.0f} ms, "
            f"p95 {figures['mail_p95_s'] * 1000:.0f} ms.",
        ),
    )
