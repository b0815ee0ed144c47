"""Whose notification a delivery was of, over processes that share nothing but Redis; and a webhook's whole way."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest
from standardwebhooks.webhooks import Webhook

from agents.clock import wall_clock
from agents.hooks import Hooks
from notify_streams.content.hooks import WithHooks
from notify_streams.domain.answers import Refused, Sent
from notify_streams.domain.hooks import Hook
from notify_streams.gateway import keys as ring
from notify_streams.gateway.keys import Key, KeyRing
from notify_streams.ports import Message
from notify_streams.providers.webhook.adapter import WebhookProvider
from notify_streams.providers.webhook.signing import new_secret
from notify_streams.settings import Channel, Provider, Redis
from notify_streams.stores.hooked import Hooked
from notify_streams.stores.redis import Expendable
from notify_streams.streaming.deadletters import DeadLetters
from schemas.codec import encode
from schemas.deliveries import DeliveryV1, decode_delivery
from tests.builders import an_id
from tests.fakes import Clock, Recording, Renderer, an_app, arrived
from tests.http_servers import raw_http
from tests.producers import a_receipt, an_outcome_of


@pytest.fixture
async def processes(redis: Redis) -> AsyncIterator[tuple[Hooked, Hooked]]:
    clients = Expendable(redis), Expendable(redis)
    yield Hooked(clients[0]), Hooked(clients[1])
    for client in clients:
        await client.close()


async def test_what_one_process_met_another_one_knows(processes: tuple[Hooked, Hooked]) -> None:
    one, other = processes
    ids = [an_id() for _ in range(3)]
    assert await one.met(dict.fromkeys(ids[:2], "/shop/orders")) == []
    assert await other.sources([(id_, b"receipt") for id_ in ids]) == dict.fromkeys(ids[:2], "/shop/orders")


async def test_what_one_process_heard_early_another_one_tells(processes: tuple[Hooked, Hooked]) -> None:
    one, other = processes
    id_ = an_id()
    for _ in range(2):
        assert await one.sources([(id_, b"delivered"), (id_, b"failed")]) == {}
    assert await other.met({id_: "/shop/orders"}) == [(id_, b"delivered"), (id_, b"failed")]


async def test_of_two_that_come_at_once_none_is_lost(processes: tuple[Hooked, Hooked]) -> None:
    one, other = processes
    for _ in range(50):
        id_ = an_id()
        early, known = await asyncio.gather(one.met({id_: "/shop"}), other.sources([(id_, b"delivered")]))
        assert early == [(id_, b"delivered")] or known == {id_: "/shop"}


@pytest.fixture
def secret(tmp_path: Path) -> str:
    made = new_secret()
    key = Key(
        name="shop",
        role="producer",
        hash="",
        sources=("/shop/*",),
        webhook="https://to.be.named",
        webhook_secret=made,
    )
    ring.create(tmp_path / "keys.json", key, ring.new_secret())
    return made


async def test_a_state_reaches_its_producer_signed_with_its_own_secret(
    processes: tuple[Hooked, Hooked], secret: str, tmp_path: Path
) -> None:
    keys, now = KeyRing(tmp_path / "keys.json"), wall_clock()
    settings = Provider(signing_key=new_secret(), allow_private=True)
    provider = replace(WebhookProvider.of(settings, Channel(attempt_timeout="2s")), hooks=keys.webhook_secret)
    async with raw_http(b"HTTP/1.1 204 X\r\n\r\n") as server:
        hook = Hook("shop", f"{server.url}/hooks", ("/shop/*",))
        role = Hooks(an_app(), processes[0], lambda: [hook], DeadLetters("hooks", 20), clock=Clock(now))
        outgoing = Recording()
        outcome = encode(an_outcome_of(at=now, delivery_id=a_receipt().delivery_id))
        told, _ = await role.take([arrived(outcome, topic="notify.outcomes")], [hook])
        role.publish(told, [hook], outgoing)
        [record] = outgoing.of("deliveries.webhook.low")
        message = rendered(decode_delivery(record))
        assert provider.takes(message)
        assert await provider.send(message, now=now) == Sent()
        head, _, body = server.requests[0].partition(b"\r\n\r\n")
        fields = dict(line.split(": ", 1) for line in head.decode().split("\r\n")[1:])
        said = Webhook(secret).verify(body, fields)
        assert (said["type"], said["data"]["state"]) == ("notification.sent", "sent")
        ring.revoke(tmp_path / "keys.json", "shop")
        await asyncio.sleep(0.3)
        answer = await provider.send(message, now=now)
        assert answer == Refused("its key is revoked or has no webhook any more")
        assert len(server.requests) == 1
    await provider.close()


def rendered(delivery: DeliveryV1) -> Message:
    """As the sender makes it."""
    assert delivery.content is not None
    shown, locale = WithHooks(Renderer()).message(delivery)
    return Message(
        delivery_id=delivery.delivery_id,
        address=delivery.content.address or "",
        rendered=shown,
        locale=locale,
        type=delivery.type,
        accepted_at=delivery.accepted_at,
        hook=delivery.hook,
    )
