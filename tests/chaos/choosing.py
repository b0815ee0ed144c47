"""Users who change their minds and get an event right after, again and again, and what is decided about them."""

import asyncio
import random
from collections import Counter
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any

import aiohttp
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, TopicPartition
from aiokafka.errors import KafkaError

from notify_streams.settings import Kafka
from notify_streams.streaming import topics
from schemas.decisions import DecisionV1, decode_decision
from tests.chaos.agreement import Chosen, Round, Switch
from tests.system import traffic

SWITCHES = (Switch("email"), Switch("email", "orders"), Switch("inapp", "orders"))
_ORDER: dict[str, object] = {"order": "1", "total": "9 EUR", "items": [], "url": "https://shop.example/1"}
_AGAIN_S, _DECIDED_S = 0.3, 90.0
_ANSWER = aiohttp.ClientTimeout(total=15)


class Decisions:
    """The topic of the decisions, from its beginning, as it grows."""

    def __init__(self, kafka: Kafka) -> None:
        self.of: dict[str, list[DecisionV1]] = {}
        self._kafka = kafka
        self._waiting: dict[str, asyncio.Event] = {}

    async def run(self) -> None:
        """Until it is cancelled."""
        topic = self._kafka.prefix + topics.DECISIONS
        consumer = AIOKafkaConsumer(bootstrap_servers=self._kafka.bootstrap, auto_offset_reset="earliest")
        consumer.assign([TopicPartition(topic, number) for number in range(self._kafka.partitions)])
        await consumer.start()
        try:
            async for record in consumer:
                decision = decode_decision(record.value)
                if isinstance(decision, DecisionV1):
                    id_ = decision.notification.notification_id
                    self.of.setdefault(id_, []).append(decision)
                    if id_ in self._waiting:
                        self._waiting[id_].set()
        finally:
            await consumer.stop()

    async def about(self, notification_id: str) -> bool:
        """Whether it was decided soon enough."""
        if notification_id in self.of:
            return True
        event = self._waiting.setdefault(notification_id, asyncio.Event())
        with suppress(TimeoutError):
            async with asyncio.timeout(_DECIDED_S):
                await event.wait()
        return notification_id in self.of


class World:
    """What all users share: the way in, the decisions, and how often each thing was answered."""

    def __init__(self, gateway: str, kafka: Kafka, http: aiohttp.ClientSession, producer: AIOKafkaProducer) -> None:
        self.decisions = Decisions(kafka)
        self.answers: Counter[str] = Counter()
        self.faults: list[str] = []
        self._gateway, self._kafka, self._http, self._producer = gateway, kafka, http, producer

    async def change(self, user: str, body: Mapping[str, object]) -> tuple[int, Any]:
        """Status and body of a PATCH; 0 for no answer."""
        return await self._ask("PATCH", f"/v1/users/{user}/preferences", json=body)

    async def look(self, user: str) -> tuple[int, Any]:
        """The same of a GET."""
        return await self._ask("GET", f"/v1/users/{user}/preferences")

    async def offer(self, event: traffic.Event, *, http: bool) -> None:
        """Until it is accepted, always the same event."""
        offered = self._by_http if http else self._by_kafka
        while True:
            if await offered(event):
                return
            await asyncio.sleep(_AGAIN_S)

    async def _by_http(self, event: traffic.Event) -> bool:
        headers = {"Content-Type": "application/cloudevents+json", "Idempotency-Key": event.id}
        return (await self._ask("POST", "/v1/events", data=event.value, headers=headers))[0] == 202

    async def _by_kafka(self, event: traffic.Event) -> bool:
        topic = self._kafka.prefix + topics.events(event.lane)
        try:
            await self._producer.send_and_wait(topic, event.value, event.user_id.encode(), headers=traffic.HEADERS)
        except KafkaError as error:
            self.answers[f"events: {type(error).__name__}"] += 1
            return False
        self.answers["events: by Kafka"] += 1
        return True

    async def _ask(self, method: str, path: str, **options: Any) -> tuple[int, Any]:
        try:
            async with self._http.request(method, self._gateway + path, timeout=_ANSWER, **options) as response:
                self.answers[f"{method} {response.status}"] += 1
                return response.status, await response.json(content_type=None)
        except (aiohttp.ClientError, TimeoutError) as error:
            self.answers[f"{method} {type(error).__name__}"] += 1
            return 0, None


class Chooser:
    """One user. The patient ones wait for a decision before they change their mind again, the others do not."""

    def __init__(self, world: World, user_id: str, number: int) -> None:
        self._world, self.user_id, self._number = world, user_id, number
        self._switch = SWITCHES[number % len(SWITCHES)]
        self._patient = number % 2 == 0
        self._answered: dict[int, bool] = {}
        self._rounds: list[Round] = []
        self._chance = random.Random(number)

    @property
    def chosen(self) -> Chosen:
        """All that was done and said."""
        return Chosen(self.user_id, self._switch, self._answered, self._rounds)

    async def run(self, rounds: int, enough: Callable[[], bool], pause_s: float) -> None:
        """At least so many rounds, and on until it is enough; about `pause_s` apart."""
        await asyncio.sleep(self._chance.random() * pause_s)
        on = settled = True
        while len(self._rounds) < rounds or not enough():
            on = not on
            settled = await self._change(on)
            await self._event(settled)
            await asyncio.sleep(self._chance.random() * 2 * pause_s)

    async def _change(self, on: bool) -> bool:
        """Whether it was answered with 200, and so shown by the next read."""
        status, body = await self._world.change(self.user_id, self._switch.patch(on))
        if status != 200:
            return False
        self._answered[body["version"]] = on
        read, shown = await self._world.look(self.user_id)
        if read == 200 and (shown["version"] < body["version"] or self._switch.shown(shown) is not on):
            self._world.faults.append(
                f"{self.user_id}: version {body['version']} was answered, {shown['version']} shown"
            )
        return True

    async def _event(self, settled: bool) -> None:
        number = len(self._rounds)
        id_ = f"{self.user_id}-{number}"
        event = traffic.event(id_, self.user_id, "order.confirmed", "normal", _ORDER, mail=True)
        floor = max(self._answered, default=0)
        await self._world.offer(event, http=number % 2 == self._number // 2 % 2)
        decided = self._patient and await self._world.decisions.about(event.notification_id)
        round_ = Round(notification_id=event.notification_id, floor=floor, certain=settled and decided)
        self._rounds.append(round_)
