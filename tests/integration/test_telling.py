"""`notify worker sender-webhook` on real engines: producers hear of their notifications, once, and nobody else does."""

import asyncio
import sys
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest
from standardwebhooks.webhooks import Webhook

from agents.clock import wall_clock
from notify_streams.gateway import keys as ring
from notify_streams.gateway.keys import Key
from notify_streams.local.child import Child
from notify_streams.providers.webhook.signing import new_secret
from notify_streams.settings import Redis
from notify_streams.streaming import topics
from notify_streams.streaming.partitions import Partitions
from schemas.codec import encode
from schemas.outcomes import OutcomeV1
from schemas.receipts import ReceiptV1
from schemas.words import Reason
from tests.builders import a_delivery, an_id
from tests.http_servers import RawHttp, raw_http
from tests.producers import a_receipt, an_outcome_of
from tests.workers import ROOT, Kafka

TAKEN, GONE = b"HTTP/1.1 204 X\r\n\r\n", b"HTTP/1.1 410 X\r\nContent-Length: 0\r\n\r\n"
CATALOGUE = """
channels = ["webhook", "email"]
[categories.orders]
[types."order.confirmed"]
category = "orders"
channels = ["email"]
"""


class Shop:
    """A producer with a webhook, its server, and the sender that tells it."""

    def __init__(self, broker: Kafka, redis: Redis, server: RawHttp, folder: Path) -> None:
        self.broker, self.redis, self.server, self.folder = broker, redis, server, folder
        self.secret, self._children = new_secret(), list[Child]()
        (folder / "catalogue.toml").write_text(CATALOGUE)
        webhook = {"webhook": f"{server.url}/shop", "webhook_secret": self.secret}
        key = Key(name="shop", role="producer", hash="", sources=("/shop/*",), **webhook)  # type: ignore[arg-type]
        ring.create(folder / "keys.json", key, ring.new_secret())

    async def start(self) -> Child:
        """Returns when it is ready. It commits once a minute: what is killed comes again."""
        kafka = msgspec.to_builtins(msgspec.structs.replace(self.broker.config, commit_interval="60s"))
        child = Child(
            [str(Path(sys.executable).with_name("notify")), "worker", "sender-webhook"],
            log=self.folder / f"worker{len(self._children)}.log",
            env={
                **{f"NOTIFY_KAFKA__{key}".upper(): str(value) for key, value in kafka.items()},
                "NOTIFY_REDIS__URL": self.redis.url,
                "NOTIFY_CATALOGUE__PATH": str(self.folder / "catalogue.toml"),
                "NOTIFY_WORKER__DATA": str(self.folder / "data"),
                "NOTIFY_LOCAL__STATE": str(self.folder),
                "NOTIFY_AUTH__KEYS_FILE": str(self.folder / "keys.json"),
                "NOTIFY_CHANNELS__WEBHOOK__PROVIDERS": '["webhook"]',
                "NOTIFY_PROVIDERS__WEBHOOK__SIGNING_KEY": new_secret(),
                "NOTIFY_PROVIDERS__WEBHOOK__ALLOW_PRIVATE": "true",
            },
            cwd=ROOT,
        )
        await child.start()
        self._children.append(child)
        await self.broker.until(lambda: "Worker ready" in child.log.read_text() or child.exit_code is not None)
        assert child.exit_code is None, child.tail(30)
        return child

    async def close(self) -> None:
        await asyncio.gather(*(child.kill() for child in self._children if child.pid))

    async def happens(self, *facts: OutcomeV1 | ReceiptV1) -> None:
        """On the log, on the user's partition."""
        home = Partitions(self.broker.config.partitions).of(b"ann")
        for fact in facts:
            name = topics.OUTCOMES if isinstance(fact, OutcomeV1) else topics.RECEIPTS
            await self.broker.fill(name, [(home, "ann", encode(fact).decode())])

    def told(self) -> list[tuple[str, str]]:
        """Type and notification of each webhook, whose signature is that of the producer's own secret."""
        said = []
        for request in self.server.requests:
            head, _, body = request.partition(b"\r\n\r\n")
            fields = dict(line.split(": ", 1) for line in head.decode().split("\r\n")[1:])
            plain = Webhook(self.secret).verify(body, fields)
            said.append((plain["type"], plain["data"]["notification_id"]))
        return said

    async def until(self, done: Callable[[], bool]) -> None:
        await self.broker.until(done)

    async def on(self, name: str) -> int:
        return len(await self.broker.read(name))


@pytest.fixture(params=[TAKEN])
async def shop(broker: Kafka, redis: Redis, tmp_path: Path, request: pytest.FixtureRequest) -> AsyncIterator[Shop]:
    await topics.create(broker.config, topics.all_topics(broker.config))
    async with raw_http(request.param) as server:
        found = Shop(broker, redis, server, tmp_path)
        yield found
        await found.close()


def an_outcome_now(**changes: Any) -> OutcomeV1:
    of = a_delivery(an_id())
    plain = {"at": wall_clock(), "delivery_id": of.delivery_id, "notification_id": of.notification_id, **changes}
    made: OutcomeV1 = an_outcome_of(**plain)
    return made


def delivered(outcome: OutcomeV1) -> ReceiptV1:
    ids = {"delivery_id": outcome.delivery_id, "notification_id": outcome.notification_id}
    return msgspec.structs.replace(a_receipt(), **ids, at=wall_clock(), channel=outcome.channel)


async def test_a_producer_hears_of_its_own_once_also_when_its_sender_is_killed(shop: Shop) -> None:
    own, early, other = an_outcome_now(), an_outcome_now(), an_outcome_now(source="/bank/accounts")
    first = await shop.start()
    await shop.happens(delivered(early), own, other, delivered(own), delivered(other))
    await shop.until(lambda: len(shop.server.requests) >= 2)
    await first.kill()
    await shop.start()
    await shop.happens(early)
    await shop.until(lambda: len(shop.server.requests) >= 4)
    await asyncio.sleep(2)
    expected = [(f"notification.{s}", o.notification_id) for o in (own, early) for s in ("sent", "delivered")]
    assert sorted(shop.told()) == sorted(expected)
    assert await shop.on(topics.OUTCOMES) == 3
    assert await shop.on(topics.DEAD_LETTERS) == 0


@pytest.mark.parametrize("shop", [GONE], indirect=True)
async def test_a_producers_server_that_is_gone_changes_nothing_of_anybody(shop: Shop) -> None:
    failed = an_outcome_now(state="failed", reason=Reason.ENDPOINT_GONE)
    await shop.start()
    await shop.happens(failed)
    await shop.until(lambda: len(shop.server.requests) >= 1)
    await asyncio.sleep(1)
    assert shop.told() == [("notification.failed", failed.notification_id)]
    assert await shop.on(topics.OUTCOMES) == 1
    for name in (topics.ADDRESS_CHANGES, topics.TIMERS, topics.DEAD_LETTERS, topics.notifications("low")):
        assert await shop.on(name) == 0
