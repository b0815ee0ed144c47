"""Stand-ins for what cannot be had in a unit test: ports, the clock, and Faust's side of a table and an agent."""

import asyncio
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NamedTuple, cast

from aiokafka import AIOKafkaProducer
from faust.types import TP

from notify_streams.domain.answers import Answer, Sent
from notify_streams.domain.rendered import Rendered, RenderedEmail, RenderedInbox, TemplateFailed
from notify_streams.ports import Claim, DeliveryKeys, Message, Unavailable
from notify_streams.streaming.app import App
from notify_streams.streaming.outgoing import Headers, Outgoing, TooLarge
from notify_streams.streaming.rest import Rest
from notify_streams.streaming.store import Options
from schemas.deliveries import DeliveryV1
from schemas.outcomes import OutcomeV1
from tests.builders import NOW

PARTITIONS = 4


async def _never_restarted() -> object:
    return None


NO_REST = Rest(_never_restarted, None)  # as on a cluster of several nodes


class Clock:
    """Stands still until it is told."""

    def __init__(self, now: int = NOW) -> None:
        self.now = now

    def __call__(self) -> int:
        return self.now


class Sending(NamedTuple):
    """One record that was queued."""

    topic: str
    partition: int
    key: bytes | None
    value: bytes | None
    headers: dict[str, bytes]


class Recording(Outgoing):
    """Keeps what is queued instead of sending it; refuses values longer than `limit`."""

    def __init__(self, limit: int = 1024 * 1024) -> None:
        super().__init__(cast(AIOKafkaProducer, None), "")
        self.records: list[Sending] = []
        self._limit = limit

    def add(self, topic: str, partition: int, key: bytes | None, value: bytes | None, headers: Headers = ()) -> None:
        if sum(map(len, (key or b"", value or b"", *(text or b"" for _, text in headers)))) > self._limit:
            raise TooLarge(f"for {topic}")
        self.records.append(Sending(topic, partition, key, value, dict(headers)))

    def of(self, topic: str) -> list[bytes]:
        """The values queued for a topic, in order."""
        return [r.value or b"" for r in self.records if r.topic == topic]

    def topics(self) -> list[str]:
        """Where something went, each once, in order."""
        return list(dict.fromkeys(r.topic for r in self.records))


class Arrived:
    """A record as agents meet it: Faust's event and message in one."""

    def __init__(
        self,
        value: bytes | None,
        key: bytes | None = b"ann",
        *,
        topic: str = "notify.events.normal",
        partition: int = 0,
        offset: int = 7,
        timestamp: float = NOW / 1000,
        headers: Iterable[tuple[str, bytes | None]] = (),
    ) -> None:
        self.key, self.value, self.topic, self.partition, self.offset = key, value, topic, partition, offset
        self.timestamp, self.headers = timestamp, list(headers)

    @property
    def message(self) -> "Arrived":
        return self


def arrived(value: bytes | None, key: bytes | None = b"ann", **changes: Any) -> Any:
    """An event for an agent's `take`; see Arrived."""
    return Arrived(value, key, **changes)


class Table:
    """The part of Faust's table that `tables.by_event` uses, over real RocksDB."""

    def __init__(self, folder: Path, changelog: str = "notify.changelog") -> None:
        self.folder, self._databases = folder, dict[int, Any]()
        self.data = self
        self.changelog_topic = SimpleNamespace(get_topic_name=lambda: changelog)
        self.persisted: dict[TP, int] = {}

    def _db_for_partition(self, partition: int) -> Any:
        if partition not in self._databases:
            self._databases[partition] = Options().open(self.folder / str(partition))
        return self._databases[partition]

    def set_persisted_offset(self, tp: TP, offset: int) -> None:
        self.persisted[tp] = offset

    def content(self, partition: int = 0) -> dict[bytes, bytes]:
        """Everything in one partition."""
        return dict(self._db_for_partition(partition).items())

    def fail(self) -> None:
        """From now on the database refuses."""
        for database in self._databases.values():
            database.close()


def an_app(partitions: int = PARTITIONS) -> App:
    """What agents' classes ask of their app outside of streams."""
    plain = SimpleNamespace(conf=SimpleNamespace(topic_partitions=partitions), topic_prefix="notify.")
    return cast(App, plain)


class Provider:
    """Answers as the script says, the last answer for ever; keeps every call."""

    def __init__(self, *answers: Answer | Exception, repeatable: bool = False, pause: float = 0.0) -> None:
        self.name, self.repeatable = "smtp", repeatable
        self.mails: list[Message] = []
        self.at_once = self.most_at_once = 0
        self._answers, self._pause = list(answers) or [Sent("m-1")], pause
        self.before: Callable[[], None] = lambda: None

    def takes(self, message: Message) -> bool:
        return True

    async def send(self, mail: Message, *, now: int) -> Answer:
        self.before()
        self.mails.append(mail)
        self.at_once += 1
        self.most_at_once = max(self.most_at_once, self.at_once)
        await asyncio.sleep(self._pause)
        self.at_once -= 1
        answer = self._answers[0] if len(self._answers) == 1 else self._answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer

    async def close(self) -> None:
        """Nothing is open."""


class Renderer:
    """Renders the payload as it is; fails for the types it is told to."""

    def __init__(self, failing: Iterable[str] = (), *, error: Exception | None = None) -> None:
        self._failing = frozenset(failing)
        self._error = error or TemplateFailed("template email.subject: name is undefined")
        self.before: Callable[[], None] = lambda: None

    def message(self, delivery: DeliveryV1, *, unsubscribe: str | None = None) -> tuple[Rendered, str]:
        self.before()
        return RenderedEmail(subject=self._words(delivery), text="text", html="<p>text</p>"), delivery.locale or "en"

    def inbox(self, delivery: DeliveryV1) -> RenderedInbox:
        return RenderedInbox(title=self._words(delivery))

    def _words(self, delivery: DeliveryV1) -> str:
        if delivery.type in self._failing:
            raise self._error
        return "" if delivery.content is None else bytes(delivery.content.payload).decode()


class Flaky:
    """Delivery keys that are away for the calls named in `away`, or lose a claim for the ids in `lost`.

    Those named in `late` are done, and their answer is lost.
    """

    def __init__(self, keys: DeliveryKeys, away: Iterable[str] = ()) -> None:
        self._keys, self.away = keys, set(away)
        self.asked: list[str] = []
        self.lost: set[str] = set()
        self.late: set[str] = set()

    async def claim(self, deliveries: Sequence[DeliveryV1]) -> Sequence[Claim]:
        self._ask("claim")
        return await self._keys.claim(deliveries)

    async def settle(self, delivery_id: str, at: int, message_id: str | None = None) -> bool:
        self._ask("settle")
        return await self._keys.settle(delivery_id, at, message_id)

    async def calling(self, deliveries: Sequence[DeliveryV1], now: int, by: Sequence[str] = ()) -> Sequence[bool]:
        self._ask("calling")
        allowed = await self._keys.calling([d for d in deliveries if d.delivery_id not in self.lost], now)
        if "calling" in self.late:
            raise Unavailable("redis is slow")
        answers = iter(allowed)
        return [False if d.delivery_id in self.lost else next(answers) for d in deliveries]

    async def uncalled(self, deliveries: Sequence[DeliveryV1], since: Sequence[int]) -> None:
        self._ask("uncalled")
        await self._keys.uncalled(deliveries, since)

    async def ended(self, outcomes: Sequence[OutcomeV1]) -> None:
        self._ask("ended")
        await self._keys.ended(outcomes)

    def _ask(self, name: str) -> None:
        self.asked.append(name)
        if name in self.away:
            raise Unavailable("redis is away")
