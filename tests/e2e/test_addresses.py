"""An address from its registration to its suppression, through the whole system on real engines."""

import asyncio
import json
import os
import subprocess
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any
from uuid import uuid4

import aiohttp
import msgspec
import pytest
from aiokafka import AIOKafkaConsumer, TopicPartition

from notify_streams.domain.ids import delivery_id
from notify_streams.gateway import keys
from notify_streams.local.engines import LocalEngines
from notify_streams.local.programs import NOTIFY
from notify_streams.settings import Cassandra, Kafka, Redis
from notify_streams.streaming import topics
from schemas.deliveries import DeliveryV1, decode_delivery
from tests.e2e.test_decisions import ORDER, System, within
from tests.system.prometheus import a_prometheus
from tests.system.whole import Whole


@pytest.fixture
async def whole(
    kafka: Kafka, cassandra: Cassandra, redis: Redis, engines: LocalEngines, tmp_path: Path
) -> AsyncIterator[Whole]:
    mark = uuid4().hex[:8]
    extra = {"NOTIFY_KAFKA__PREFIX": f"addresses-{mark}.", "NOTIFY_CASSANDRA__KEYSPACE": f"addresses_{mark}"}
    whole = Whole(tmp_path / "system", engines, extra=extra)
    try:
        await whole.start()
        yield whole
    finally:
        await whole.stop()


async def codes_to(kafka: Kafka, user: str) -> list[DeliveryV1]:
    """What the sender of mails was given for a user on lane high."""
    consumer = AIOKafkaConsumer(bootstrap_servers=kafka.bootstrap)
    async with consumer:
        name = kafka.prefix + topics.deliveries("email", "high")
        partitions = [TopicPartition(name, number) for number in range(kafka.partitions)]
        consumer.assign(partitions)
        await consumer.seek_to_beginning(*partitions)
        ends, found = await consumer.end_offsets(partitions), []
        while [tp for tp in partitions if await consumer.position(tp) < ends[tp]]:
            for records in (await consumer.getmany(timeout_ms=200)).values():
                found += [decode_delivery(record.value) for record in records if record.key == user.encode()]
        return found


@pytest.mark.e2e
@pytest.mark.timeout(240)
async def test_an_address_is_verified_by_its_code_used_suppressed_and_used_again(whole: Whole) -> None:
    """And then a probe arrives there, and a real Prometheus finds every process and every rule in order."""
    user = f"user-{uuid4().hex[:8]}"
    mailbox, list_ = f"/v1/users/{user}/endpoints/email/home", f"/v1/suppressions/email/{user}@example.com"
    async with aiohttp.ClientSession(whole.urls["gateway"]) as session:
        system = System(session, whole.mails)
        view = await system.ask("PUT", mailbox, {"address": f"{user}@example.com"})
        assert view["verified"] is False
        unread = await system.publish("order.confirmed", user, ORDER)
        assert (await system.until(unread, "suppressed"))["reason"] == "endpoint_unverified"

        await system.ask("POST", f"{mailbox}/verify", {}, expect=202)
        await within(lambda: _sent(system, user), lambda sent: len(sent) == 1)
        [delivery] = await codes_to(whole.settings.kafka, user)
        assert (delivery.type, system.sent(user)) == ("endpoint.verification", [delivery.delivery_id])
        assert delivery.content is not None
        code = msgspec.json.decode(delivery.content.payload)["code"]
        await system.ask("POST", f"{mailbox}/verify", {"code": "000000"}, expect=422)
        assert (await system.ask("POST", f"{mailbox}/verify", {"code": code}))["verified"] is True

        await _ordered(system, user, "sent")
        await system.ask("PUT", list_, {"reason": "complaint"})
        await within(lambda: system.ask("GET", mailbox), lambda seen: seen["suppressed"] == "complaint")
        assert (await _ordered(system, user, "suppressed"))["reason"] == "endpoint_suppressed"
        await system.ask("DELETE", mailbox, expect=204)
        again = await system.ask("PUT", mailbox, {"address": f"{user.upper()}@EXAMPLE.com", "verified": True})
        assert again["suppressed"] == "complaint"
        await system.ask("DELETE", list_)
        await within(lambda: system.ask("GET", mailbox), lambda seen: seen["suppressed"] is None)
        await _ordered(system, user, "sent")
    await _a_probe_arrives(whole, user)
    await _prometheus_sees_every_process(whole)


async def _a_probe_arrives(whole: Whole, user: str) -> None:
    """`notify probe` finds inbox and mailbox in order, and says 1 where a channel that was named has no endpoint."""
    command = [*NOTIFY, "probe", "--user", user, "--url", whole.urls["gateway"], "--json"]
    for options, code, expected in (
        ([], 0, {"inapp": "sent", "email": "sent"}),
        (["--channel", "sms"], 1, {"sms": "suppressed"}),
    ):
        found = await asyncio.to_thread(
            subprocess.run,
            [*command, *options],
            capture_output=True,
            text=True,
            env={**os.environ, **whole.environment},
        )
        assert found.returncode == code, found.stderr
        assert {one["channel"]: one["state"] for one in json.loads(found.stdout)["seen"]} == expected


async def _prometheus_sees_every_process(whole: Whole) -> None:
    key = keys.new_secret()
    ring = whole.directory / whole.settings.auth.keys_file
    keys.create(ring, keys.Key(name="prometheus", role="operator", hash=""), key)
    async with a_prometheus(whole.directory / "prometheus", whole.urls, key=key) as prometheus:
        targets = len(whole.urls) - ("simulator" in whole.urls)
        await within(prometheus.states, lambda states: [*states.values()] == [""] * targets)
        assert await prometheus.value('sum(notify_deliveries_total{channel="email",state="sent"})')
        assert await prometheus.value('sum(notify_http_request_seconds_count{route="/v1/events",status="2xx"})')
        assert await prometheus.value("count(notify_consumer_lag)")
        await within(lambda: prometheus.ask("rules"), _all_evaluated)
        firing = (await prometheus.ask("alerts"))["alerts"]
        assert [one["labels"]["alertname"] for one in firing if one["state"] == "firing"] == []


def _all_evaluated(found: Any) -> bool:
    rules = [rule for group in found["groups"] for rule in group["rules"]]
    assert [rule["lastError"] for rule in rules if rule.get("lastError")] == []
    return bool(rules) and all(rule["health"] == "ok" for rule in rules)


async def _sent(system: System, user: str) -> list[str]:
    await asyncio.sleep(0)
    return system.sent(user)


async def _ordered(system: System, user: str, state: str) -> dict[str, Any]:
    """An order's mail, once it stands so."""
    id_ = await system.publish("order.confirmed", user, ORDER)
    stands = await system.until(id_, state)
    for delivery in stands.get("deliveries", ()):
        assert delivery["delivery_id"] == delivery_id(id_, "email", "home")
    return stands
