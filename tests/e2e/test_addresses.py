"""An address from its registration to its suppression, through the whole system on real engines."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any
from uuid import uuid4

import aiohttp
import msgspec
import pytest
from aiokafka import AIOKafkaConsumer, TopicPartition

from notify_streams.domain.ids import delivery_id
from notify_streams.local.engines import LocalEngines
from notify_streams.settings import Cassandra, Kafka, Redis
from notify_streams.streaming import topics
from schemas.deliveries import DeliveryV1, decode_delivery
from tests.e2e.test_decisions import ORDER, System, within
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
