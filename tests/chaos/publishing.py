"""Events into the system, by Kafka and by HTTP, each repeated under the same id until somebody confirms it."""

import asyncio
import time
from collections import Counter
from collections.abc import Iterator

import aiohttp
from aiokafka import AIOKafkaProducer
from aiokafka.errors import KafkaError, KafkaTimeoutError

from notify_streams.settings import Kafka
from notify_streams.streaming import topics
from tests.system.traffic import HEADERS, Event

_STEP_S, _AGAIN_S, _MOST_UNDER_WAY = 0.02, 0.5, 5000
_CONFIRMED_S = 20.0
_ANSWER = aiohttp.ClientTimeout(total=15)


class Publisher:
    """Takes events one after the other at `rate` a second; what is confirmed is in `accepted`, by event id."""

    def __init__(self, kafka: Kafka, gateway: str, events: Iterator[Event]) -> None:
        self.rate = 0.0
        self.taken = 0
        self.accepted: dict[str, Event] = {}
        self.answers: Counter[str] = Counter()
        self.by_http = self.replaced = 0
        self._kafka, self._gateway, self._events = kafka, gateway, events
        self._producer: AIOKafkaProducer | None = None
        self._connecting = asyncio.Lock()
        self._under_way: set[asyncio.Task[None]] = set()

    async def run(self) -> None:
        """Until every event is confirmed."""
        budget, last = 0.0, time.monotonic()
        while True:
            await asyncio.sleep(_STEP_S)
            now = time.monotonic()
            budget, last = min(budget + (now - last) * self.rate, self.rate), now
            while budget >= 1 and len(self._under_way) < _MOST_UNDER_WAY:
                budget -= 1
                event = self._next()
                if event is None:
                    await asyncio.gather(*self._under_way)
                    await self._let_go()
                    return
                self._start(event, http=False)

    def post(self, count: int) -> None:
        """Give the next `count` events to the gateway instead."""
        for _ in range(count):
            event = self._next()
            if event is not None:
                self._start(event, http=True)

    def _next(self) -> Event | None:
        self.taken += 1
        return next(self._events, None)

    def _start(self, event: Event, *, http: bool) -> None:
        task = asyncio.create_task(self._by_http(event) if http else self._by_kafka(event))
        self._under_way.add(task)
        task.add_done_callback(self._under_way.discard)

    async def _by_kafka(self, event: Event) -> None:
        topic = self._kafka.prefix + topics.events(event.lane)
        while True:
            try:
                async with asyncio.timeout(_CONFIRMED_S):
                    producer = await self._connected()
                    await (await producer.send(topic, event.value, event.user_id.encode(), headers=HEADERS))
            except (KafkaError, OSError, TimeoutError) as error:
                self.answers[type(error).__name__] += 1
                if isinstance(error, KafkaError) and not (error.retriable or isinstance(error, KafkaTimeoutError)):
                    await self._let_go()
                await asyncio.sleep(_AGAIN_S)
            else:
                self.accepted[event.id] = event
                return

    async def _by_http(self, event: Event) -> None:
        headers = {"Content-Type": "application/cloudevents+json", "Idempotency-Key": event.id}
        async with aiohttp.ClientSession(timeout=_ANSWER) as http:
            while True:
                try:
                    async with http.post(f"{self._gateway}/v1/events", data=event.value, headers=headers) as response:
                        status = response.status
                except (aiohttp.ClientError, TimeoutError) as error:
                    self.answers[type(error).__name__] += 1
                else:
                    self.answers[f"HTTP {status}"] += 1
                    if status == 202:
                        self.accepted[event.id] = event
                        self.by_http += 1
                        return
                await asyncio.sleep(_AGAIN_S)

    async def _connected(self) -> AIOKafkaProducer:
        async with self._connecting:
            if self._producer is None:
                producer = AIOKafkaProducer(
                    bootstrap_servers=self._kafka.bootstrap,
                    acks="all",
                    enable_idempotence=True,
                    request_timeout_ms=5000,
                )
                await producer.start()
                self._producer = producer
            return self._producer

    async def _let_go(self) -> None:
        producer, self._producer = self._producer, None
        if producer is not None:
            self.replaced += 1
            await asyncio.gather(asyncio.wait_for(producer.stop(), 5), return_exceptions=True)
