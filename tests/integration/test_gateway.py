"""The gateway on a real broker and a real Redis."""

import asyncio
import io
import json
import socket
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any, cast
from uuid import uuid4

import aiohttp
import msgspec
import pytest
from aiohttp.test_utils import TestClient, TestServer
from aiokafka import AIOKafkaConsumer

from notify_streams import settings
from notify_streams.domain.status import fold
from notify_streams.gateway import keys
from notify_streams.gateway.app import build, serve
from notify_streams.gateway.keys import Key
from notify_streams.ports import InboxStore, Records
from notify_streams.settings import Auth, Gateway, Settings
from notify_streams.stores.redis import Expendable
from notify_streams.streaming import topics
from notify_streams.streaming.partitions import Partitions
from tests.fakes import Renderer
from tests.orchestrating import orchestrate, register
from tests.wire import gateway_parts
from tests.wire.gateway_parts import CATALOGUE
from tests.wire.gateway_stores import Store

Client = TestClient[Any, Any]
NAMES = [topics.events("normal"), topics.ADDRESS_CHANGES, topics.USER_COMMANDS, topics.COMMAND_RESULTS]
SECRET = keys.new_secret()
HEADERS = {"Authorization": f"Bearer {SECRET}", "Content-Type": "application/cloudevents+json"}
NOWHERE = "127.0.0.1:1"


@pytest.fixture
async def known(kafka: settings.Kafka, redis: settings.Redis, tmp_path: Path) -> Settings:
    """Settings with topics of their own and an operator's key."""
    own = msgspec.structs.replace(kafka, prefix=f"gw-{uuid4().hex[:8]}.", partitions=2)
    await topics.create(own, [t for t in topics.all_topics(own) if t.name in NAMES])
    path = tmp_path / "keys.json"
    keys.create(path, Key(name="shop", role="operator", hash=""), SECRET)
    gateway = Gateway(delivery_timeout="2s", port=_free_port())
    return Settings(kafka=own, redis=redis, auth=Auth(keys_file=str(path), signing_secret=SECRET), gateway=gateway)


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


@asynccontextmanager
async def an_app(known: Settings) -> AsyncIterator[aiohttp.web.Application]:
    store, client = Store(), Expendable(known.redis)
    yield build(
        known,
        catalogue=CATALOGUE,
        records=cast(Records, store),
        inbox=cast(InboxStore, store),
        redis=client,
        renderer=Renderer(),
        status=fold,
        explain=fold,
    )
    await client.close()


@asynccontextmanager
async def a_gateway(known: Settings) -> AsyncIterator[Client]:
    async with an_app(known) as app, TestClient(TestServer(app)) as client:
        yield client


def an_event(**fields: Any) -> dict[str, Any]:
    """Of a source of its own: Redis remembers those of the other tests."""
    return gateway_parts.an_event(**{"source": f"/shop/{uuid4()}", **fields})


async def ready(client: Client) -> None:
    async with asyncio.timeout(15):
        while True:
            async with client.get("/readyz") as response:
                if response.status == 200:
                    return
            await asyncio.sleep(0.05)


async def post(client: Client, event: Any) -> tuple[int, str, dict[str, str]]:
    async with client.post("/v1/events", data=json.dumps(event).encode(), headers=HEADERS) as response:
        return response.status, await response.text(), dict(response.headers)


async def records_of(known: Settings, topic: str) -> list[Any]:
    """All that is on the topic now."""
    consumer = AIOKafkaConsumer(
        known.kafka.prefix + topic, bootstrap_servers=known.kafka.bootstrap, auto_offset_reset="earliest"
    )
    async with consumer:
        found: list[Any] = []
        ends = await consumer.end_offsets(list(consumer.assignment()))
        while sum(ends.values()) > len(found):
            for batch in (await consumer.getmany(timeout_ms=1000)).values():
                found += batch
        return found


async def test_fifty_at_once_on_two_gateways_are_one_record(known: Settings) -> None:
    """IDM-01."""
    async with a_gateway(known) as one, a_gateway(known) as two:
        await asyncio.gather(ready(one), ready(two))
        event = an_event()
        answers = await asyncio.gather(*(post(client, event) for client in (one, two) for _ in range(25)))
        late = await post(two, event)
    assert {status for status, _, _ in answers} == {202}
    assert {body for _, body, _ in (*answers, late)} == {answers[0][1]}
    assert late[2]["Idempotency-Replayed"] == "true"
    (record,) = await records_of(known, "events.normal")
    assert (record.key, json.loads(record.value)) == (b"ann", event)


async def test_two_hundred_are_readable_the_moment_they_are_accepted(known: Settings) -> None:
    """ORD-05."""
    async with a_gateway(known) as client:
        await ready(client)
        for number in range(200):
            _, body, _ = await post(client, an_event(id=f"e-{number}"))
            id_ = json.loads(body)["notifications"][0]["notification_id"]
            async with client.get(f"/v1/notifications/{id_}", headers=HEADERS) as response:
                assert (response.status, (await response.json())["state"]) == (200, "accepted")
    assert len(await records_of(known, "events.normal")) == 200


async def test_without_redis_events_are_accepted_unchecked(known: Settings) -> None:
    known = msgspec.structs.replace(known, redis=settings.Redis(url=f"redis://{NOWHERE}/0"))
    async with a_gateway(known) as client:
        await ready(client)
        status, _, headers = await post(client, an_event())
        assert (status, headers["Idempotency-Checked"]) == (202, "false")
    assert len(await records_of(known, "events.normal")) == 1


async def test_without_a_broker_it_serves_and_confirms_nothing(known: Settings) -> None:
    known = msgspec.structs.replace(known, kafka=msgspec.structs.replace(known.kafka, bootstrap=NOWHERE))
    async with a_gateway(known) as client:
        status, _, headers = await post(client, an_event())
        assert (status, headers["Retry-After"]) == (503, "2")
        async with client.get("/readyz") as response:
            assert response.status == 503
        async with client.get("/healthz") as response:
            assert response.status == 200


async def test_a_topic_that_is_missing_is_an_outage_within_the_delivery_timeout(known: Settings) -> None:
    async with a_gateway(known) as client:
        await ready(client)
        async with asyncio.timeout(5):
            assert (await post(client, an_event(type="auth.otp")))[0] == 503


async def test_a_change_is_a_200_once_the_orchestrators_answer_is_heard_by_way_of_the_registry_too(
    known: Settings,
) -> None:
    async with AsyncExitStack() as stack:
        one = await stack.enter_async_context(a_gateway(known))
        other = await stack.enter_async_context(a_gateway(known))
        await asyncio.gather(ready(one), ready(other))
        for task in (orchestrate(known.kafka, CATALOGUE), register(known.kafka)):
            stack.callback(asyncio.create_task(task).cancel)
        for version, path in enumerate(("preferences", "endpoints/email/home"), 1):
            method = "PATCH" if path == "preferences" else "PUT"
            body = {"locale": "fr"} if path == "preferences" else {"address": "ann@example.com", "verified": True}
            headers = {**HEADERS, "Content-Type": "application/json"}
            status = 503
            while status in (202, 503):
                async with one.request(method, f"/v1/users/ann/{path}", json=body, headers=headers) as response:
                    status, tag = response.status, response.headers.get("ETag")
                await asyncio.sleep(0.1)
            assert (status, tag) == (200, f'"{version}"')
            async with other.get(f"/v1/users/ann/{path}", headers=HEADERS) as response:
                assert (response.status, response.headers["ETag"]) == (200, f'"{version}"')


async def test_a_stop_finishes_what_is_under_way(known: Settings) -> None:
    url, stop = f"http://127.0.0.1:{known.gateway.port}", asyncio.Event()
    async with an_app(known) as app, aiohttp.ClientSession(url) as session:
        serving = asyncio.create_task(serve(app, known, stop=stop))
        async with asyncio.timeout(15):
            while True:
                try:
                    async with session.get("/readyz") as response:
                        if response.status == 200:
                            break
                except aiohttp.ClientError:
                    await asyncio.sleep(0.05)

        async def one(number: int) -> int:
            body = json.dumps(an_event(id=f"e-{number}")).encode()
            async with session.post("/v1/events", data=body, headers=HEADERS) as response:
                if number == 5:
                    stop.set()
                return response.status

        statuses = await asyncio.gather(*(one(number) for number in range(60)))
        await asyncio.wait_for(serving, 15)
    assert len(await records_of(known, "events.normal")) == statuses.count(202) == 60


async def test_a_batch_is_in_the_log_before_its_answer(known: Settings) -> None:
    async with a_gateway(known) as client:
        await ready(client)
        made = [
            an_event(id=f"e-{n}", data={"recipients": [f"user-{n % 7}"], "payload": {"order": "x" * 2000}})
            for n in range(400)
        ]
        body, headers = json.dumps(made).encode(), HEADERS | {"Content-Type": "application/json"}
        async with client.post("/v1/events/batch", data=io.BytesIO(body), headers=headers) as response:
            assert response.status == 207
            assert {one["status"] for one in await response.json()} == {202}
        records = await records_of(known, "events.normal")
        assert sorted(json.loads(r.value or b"")["id"] for r in records) == sorted(f"e-{n}" for n in range(400))
        assert {r.key for r in records} == {f"user-{n}".encode() for n in range(7)}
        assert all(r.partition == Partitions(known.kafka.partitions).of(r.key or b"") for r in records)
        async with client.post("/v1/events/batch", data=io.BytesIO(body), headers=headers) as response:
            assert all(one["replayed"] for one in await response.json())
    assert len(await records_of(known, "events.normal")) == 400
