"""Receipts on a real broker and a real Redis: acknowledged before the 2xx, once over all gateways."""

import asyncio
import json
import time
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any, cast
from uuid import uuid4

import msgspec
import pytest
from aiohttp.test_utils import TestClient, TestServer

from notify_streams import settings
from notify_streams.domain import references
from notify_streams.domain.addresses import address_key
from notify_streams.domain.ids import delivery_id
from notify_streams.domain.references import TAG, Reference
from notify_streams.domain.status import fold
from notify_streams.gateway.app import build
from notify_streams.ports import InboxStore, Records
from notify_streams.providers.delivery_keys import RedisDeliveryKeys
from notify_streams.settings import Auth, Gateway, Provider, Settings
from notify_streams.stores.redis import Expendable
from notify_streams.streaming import topics
from schemas.addresses import SuppressAddressV1, decode_change
from schemas.receipts import ReceiptV1, decode_receipt
from tests.builders import a_delivery
from tests.callbacks import SendGrid, a_sendgrid_event
from tests.fakes import Renderer
from tests.integration.test_gateway import records_of
from tests.wire.gateway_parts import CATALOGUE, SECRET
from tests.wire.gateway_stores import Store

Client = TestClient[Any, Any]
NAMES = [topics.RECEIPTS, topics.ADDRESS_CHANGES, topics.DEAD_LETTERS, topics.COMMAND_RESULTS]
SENDGRID = SendGrid()


@pytest.fixture
async def known(kafka: settings.Kafka, redis: settings.Redis, tmp_path: Path) -> Settings:
    own = msgspec.structs.replace(kafka, prefix=f"rc-{uuid4().hex[:8]}.", partitions=2)
    await topics.create(own, [t for t in topics.all_topics(own) if t.name in NAMES])
    return Settings(
        kafka=own,
        redis=redis,
        auth=Auth(keys_file=str(tmp_path / "keys.json"), signing_secret=SECRET),
        gateway=Gateway(delivery_timeout="2s"),
        providers={"sendgrid": Provider(verification_key=SENDGRID.key)},
    )


@asynccontextmanager
async def a_gateway(known: Settings) -> AsyncIterator[tuple[Client, RedisDeliveryKeys]]:
    store, redis = Store(), Expendable(known.redis)
    delivery_keys = RedisDeliveryKeys(redis)
    app = build(
        known,
        catalogue=CATALOGUE,
        records=cast(Records, store),
        inbox=cast(InboxStore, store),
        redis=redis,
        renderer=Renderer(),
        status=fold,
        explain=fold,
        settling=delivery_keys,
    )
    async with TestClient(TestServer(app)) as client:
        yield client, delivery_keys
    await redis.close()


async def post(client: Client, events: object) -> tuple[int, Any]:
    body = json.dumps(events).encode()
    headers = SENDGRID.headers(body, int(time.time()))
    async with client.post("/v1/receipts/sendgrid", data=body, headers=headers) as response:
        return response.status, await response.json(content_type=None)


async def accepted(client: Client, events: object) -> Any:
    """A gateway that has just started says 503 until it has found the broker, and the vendor comes again."""
    async with asyncio.timeout(15):
        while (answer := await post(client, events))[0] == 503:  # noqa: ASYNC110  as the vendor does it
            await asyncio.sleep(0.1)
    assert answer[0] == 202
    return answer[1]


def an_event(event: str, notification: str, **fields: Any) -> dict[str, Any]:
    delivery = delivery_id(notification, "email", "home")
    reference = references.sign(SECRET, Reference(delivery, notification, "email", "ann"))
    plain = {TAG: reference, "timestamp": int(time.time()) - 1, "sg_event_id": uuid4().hex}
    return a_sendgrid_event(event, **{**plain, **fields})


async def test_what_one_gateway_took_the_other_knows(known: Settings) -> None:
    """WHK-01, WHK-02: one receipt, one suppression and one dead letter, whoever gets the copies."""
    bounce = an_event("bounce", str(uuid4()), type="bounce", status="5.1.1")
    events = [bounce, "no event", an_event("delivered", str(uuid4()), **{TAG: "nobody's"})]
    async with AsyncExitStack() as stack:
        clients = [(await stack.enter_async_context(a_gateway(known)))[0] for _ in range(2)]
        assert await accepted(clients[0], events) == {"taken": 1, "quarantined": 1, "unknown": 1}
        for client in (*clients, *clients):
            assert await accepted(client, events) == {"repeated": 2, "unknown": 1}
        [receipt] = await records_of(known, topics.RECEIPTS)
        [change] = await records_of(known, topics.ADDRESS_CHANGES)
        [letter] = await records_of(known, topics.DEAD_LETTERS)
    said, held = decode_receipt(receipt.value), decode_change(change.value)
    assert isinstance(said, ReceiptV1)
    assert isinstance(held, SuppressAddressV1)
    assert (receipt.key, said.state, said.permanent) == (b"ann", "bounced", True)
    assert (change.key, held.reason) == (address_key("email", "ann@example.com").encode(), "bounce")
    assert letter.value == b'"no event"'


async def test_a_receipt_settles_what_a_sender_does_not_know(known: Settings) -> None:
    """ORD-02: the provider says "delivered" before the call has returned; nobody sends it a second time."""
    delivery = a_delivery(str(uuid4()))
    async with a_gateway(known) as (client, keys):
        await keys.claim([delivery])
        assert list(await keys.calling([delivery], int(time.time() * 1000))) == [True]
        await accepted(client, [an_event("delivered", delivery.notification_id)])
        [claim] = await keys.claim([delivery])
    assert (claim.status, claim.message_id) == ("settled", "m-1")


async def test_without_a_broker_nothing_is_confirmed(known: Settings) -> None:
    away = msgspec.structs.replace(known, kafka=msgspec.structs.replace(known.kafka, bootstrap="127.0.0.1:1"))
    event = an_event("delivered", str(uuid4()))
    async with a_gateway(away) as (client, _):
        assert (await post(client, [event]))[0] == 503
    async with a_gateway(known) as (client, _):
        assert await accepted(client, [event]) == {"taken": 1}
