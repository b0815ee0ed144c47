"""How far the groups are: committed offsets against the ends of their topics, asked of the broker."""

import asyncio
import time
from collections.abc import Iterable, Mapping
from typing import Any

from aiokafka import AIOKafkaConsumer, TopicPartition
from aiokafka.admin import AIOKafkaAdminClient
from aiokafka.errors import KafkaError

from notify_streams.settings import Kafka
from notify_streams.streaming import topics

_LOOK_S, _ANSWER_S = 0.25, 5.0
Offsets = dict[TopicPartition, int]

INPUTS: Mapping[str, tuple[str, ...]] = {
    "ingest": tuple(topics.events(lane) for lane in ("high", "normal", "low")),
    "orchestrator": (*(topics.notifications(lane) for lane in ("high", "normal", "low")), topics.USER_COMMANDS),
    "inbox": tuple(topics.deliveries("inapp", lane) for lane in ("high", "normal", "low")),
    "sender-email": tuple(topics.deliveries("email", lane) for lane in ("high", "normal", "low")),
    "scheduler": (topics.TIMERS,),
    "recorder": (topics.DECISIONS, topics.OUTCOMES, topics.PROFILES),
    "registry": (topics.ADDRESS_CHANGES,),
}


class Progress:
    """Asks again over a new connection after every failure."""

    def __init__(self, kafka: Kafka) -> None:
        self._kafka = kafka
        self._clients: tuple[Any, Any] | None = None

    async def ends(self, names: Iterable[str]) -> Offsets:
        """The ends of these topics. Raises KafkaError, OSError or TimeoutError."""
        partitions = [
            TopicPartition(self._kafka.prefix + name, n) for name in names for n in range(self._kafka.partitions)
        ]
        found: Offsets = await self._ask(lambda consumer, _: consumer.end_offsets(partitions))
        return found

    async def committed(self, role: str) -> Offsets:
        """What the role's group has committed. Raises the same."""
        group = self._kafka.prefix + role
        found = await self._ask(lambda _, admin: admin.list_consumer_group_offsets(group))
        return {tp: entry.offset for tp, entry in found.items()}

    async def behind(self, role: str, ends: Offsets) -> int:
        """Records of the role before these ends that are not committed."""
        done = await self.committed(role)
        return sum(max(0, end - done.get(tp, 0)) for tp, end in ends.items())

    async def caught_up(self, *roles: str, limit_s: float) -> float | None:
        """Seconds until each role has committed all that is there now; None when `limit_s` was not enough."""
        began = time.monotonic()
        marks: dict[str, Offsets] = {}
        while time.monotonic() - began < limit_s:
            try:
                for role in [role for role in roles if role not in marks]:
                    marks[role] = await self.ends(INPUTS[role])
                for role in [role for role in roles if marks.get(role)]:
                    if await self.behind(role, marks[role]) == 0:
                        marks[role] = {}
                if not any(marks.values()):
                    return time.monotonic() - began
            except (KafkaError, OSError, TimeoutError):
                await self.close()
            await asyncio.sleep(_LOOK_S)
        return None

    async def close(self) -> None:
        """Let go of the connections."""
        clients, self._clients = self._clients, None
        if clients is not None:
            await asyncio.gather(clients[0].stop(), clients[1].close(), return_exceptions=True)

    async def _ask(self, question: Any) -> Any:
        async with asyncio.timeout(_ANSWER_S):
            if self._clients is None:
                consumer = AIOKafkaConsumer(bootstrap_servers=self._kafka.bootstrap, enable_auto_commit=False)
                admin = AIOKafkaAdminClient(bootstrap_servers=self._kafka.bootstrap, request_timeout_ms=4000)
                self._clients = consumer, admin
                await consumer.start()
                await admin.start()
            return await question(*self._clients)
