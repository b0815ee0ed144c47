"""What limits do under load: two processes under one rate, LOW alone, HIGH beside LOW, and a provider that hangs."""

import asyncio
import time

import msgspec

from notify_streams.settings import Settings
from notify_streams.streaming import topics
from schemas.deliveries import decode_delivery
from schemas.words import Lane
from tests.bench import kafka
from tests.bench.lab import Lab
from tests.bench.latencies import entries_of
from tests.bench.report import Figures
from tests.bench.sender_load import records
from tests.bench.sender_sums import limit_error, summary
from tests.bench.sending_roles import LATENCY_S, UNLIMITED, backlog, sender
from tests.bench.usage import Stalled
from tests.bench.vendors import Vendors

RATE, LOW_SHARE = 500.0, 0.6
_WINDOW_S, _LOW_S, _HIGH_S, _HIGH_RATE = 60.0, 20.0, 20.0, 50
_HUNG_COUNT, _LIMIT_S = 6_000, 180.0


class Found(msgspec.Struct, frozen=True):
    """For the report."""

    figures: Figures = {}
    floors: Figures = {}
    ceilings: Figures = {}
    notes: tuple[str, ...] = ()


async def measure(lab: Lab, vendors: Vendors) -> Found:
    """All of it, one after the other."""
    shared = await _steady(lab, vendors, "normal", _WINDOW_S, processes=2)
    low = await _steady(lab, vendors, "low", _LOW_S, processes=1)
    p50, p95, p99 = await _high_beside_low(lab, vendors)
    alone, beside = await _hung(lab, vendors, hang=False), await _hung(lab, vendors, hang=True)
    figures: Figures = {
        "limited_per_s": shared,
        "limiter_error": limit_error(shared, RATE),
        "low_limited_per_s": low,
        "high_beside_low_p50_s": p50,
        "high_beside_low_p95_s": p95,
        "high_beside_low_p99_s": p99,
        "beside_idle_per_s": alone,
        "beside_hung_per_s": beside,
        "beside_hung_share": beside / alone,
    }
    return Found(
        figures=figures,
        floors={"beside_hung_share": 0.9, "low_limited_per_s": RATE * LOW_SHARE * 0.95},
        ceilings={"limiter_error": 0.01, "low_limited_per_s": RATE * LOW_SHARE * 1.01, "high_beside_low_p99_s": 2.0},
        notes=(
            f"Two processes under {RATE:.0f}/s for {_WINDOW_S:.0f} s: {shared:.1f}/s, {figures['limiter_error']:.2%} "
            f"off. LOW alone {low:.1f}/s. HIGH at {_HIGH_RATE}/s beside a LOW backlog: p50 {p50:.3f}, p95 {p95:.3f}, "
            f"p99 {p99:.3f} s to the provider's answer. Web Push beside FCM that hangs: {beside:,.0f}/s, "
            f"{alone:,.0f}/s where it does not.",
        ),
    )


async def _steady(lab: Lab, vendors: Vendors, lane: Lane, seconds: float, *, processes: int) -> float:
    """Calls a second under the limit, with more than enough to do."""
    await vendors.forget()
    await vendors.weather("fcm", latency_s=LATENCY_S)
    count = round(RATE * (seconds + 40))
    config = await backlog(lab, vendors, ["fcm"], {lane: count}, run=f"limited-{lane}")
    for instance in range(processes):
        await sender(lab, vendors, config, ["fcm"], rate=RATE, instance=instance)
    await _flows(vendors, "fcm", round(RATE * 6))
    before, began = await vendors.taken("fcm"), time.monotonic()
    await asyncio.sleep(seconds)
    after, ended = await vendors.taken("fcm"), time.monotonic()
    await _stop(lab, processes)
    return (after - before) / (ended - began)


async def _high_beside_low(lab: Lab, vendors: Vendors) -> tuple[float, float, float]:
    """Seconds from Kafka to the provider's answer of HIGH ones while a LOW backlog uses all it may: p50, p95, p99."""
    await vendors.forget()
    await vendors.weather("fcm", latency_s=LATENCY_S)
    config = await backlog(lab, vendors, ["fcm"], {"low": round(RATE * 60)}, run="beside")
    await sender(lab, vendors, config, ["fcm"], rate=RATE)
    await _flows(vendors, "fcm", round(RATE * 2))
    put = await _steadily(vendors, config)
    await asyncio.sleep(5.0)
    ended: dict[str, int] = dict(reversed(entries_of(vendors.log)))
    await _stop(lab, 1)
    missing = [delivery_id for delivery_id in put if delivery_id not in ended]
    if missing:
        raise Stalled(f"{len(missing)} of {len(put)} HIGH deliveries were not sent within 5 s")
    took = [(ended[delivery_id] - at) / 1000 for delivery_id, at in put.items()]
    return summary(took)


async def _steadily(vendors: Vendors, config: Settings) -> dict[str, int]:
    """HIGH deliveries at a fixed rate; when each was put (ms), by id."""
    topic, put = config.kafka.prefix + topics.deliveries("push", "high"), dict[str, int]()
    made = list(records(vendors, ["fcm"], round(_HIGH_S * _HIGH_RATE), "high", config.kafka, run="beside-high"))
    async with kafka.producing(config.kafka.bootstrap) as producer:
        started = time.monotonic()
        for number, (partition, key, value) in enumerate(made):
            await asyncio.sleep(max(0.0, started + number / _HIGH_RATE - time.monotonic()))
            put[decode_delivery(value).delivery_id] = round(time.time() * 1000)
            await producer.send(topic, value, key, partition=partition)
    return put


async def _hung(lab: Lab, vendors: Vendors, *, hang: bool) -> float:
    """Web Push deliveries a second while every other one is for FCM, which hangs or does not."""
    await vendors.forget()
    await vendors.weather("webpush", latency_s=LATENCY_S)
    await vendors.weather("fcm", latency_s=LATENCY_S, hung=1.0 if hang else 0.0)
    run = "hung" if hang else "idle"
    config = await backlog(lab, vendors, ["fcm", "webpush"], {"normal": 2 * _HUNG_COUNT}, run=run)
    await sender(lab, vendors, config, ["fcm", "webpush"], rate=UNLIMITED)
    await _flows(vendors, "webpush", _HUNG_COUNT // 10)
    before, began = await vendors.taken("webpush"), time.monotonic()
    await _flows(vendors, "webpush", _HUNG_COUNT * 9 // 10)
    after, ended = await vendors.taken("webpush"), time.monotonic()
    await _stop(lab, 1)
    return (after - before) / (ended - began)


async def _flows(vendors: Vendors, provider: str, count: int) -> None:
    """Wait until so many were taken."""
    started = time.monotonic()
    while await vendors.taken(provider) < count:
        if time.monotonic() - started > _LIMIT_S:
            raise Stalled(f"{provider} has taken {await vendors.taken(provider)} of {count} after {_LIMIT_S:.0f} s")
        await asyncio.sleep(0.05)


async def _stop(lab: Lab, processes: int) -> None:
    for instance in range(processes):
        await lab.stop_only(f"sender-push-{instance}")
