"""Made-up people and events: who they are, what each event must lead to."""

import random
from collections.abc import Iterator
from datetime import UTC, datetime

import msgspec
from aiokafka import AIOKafkaProducer

from notify_streams.domain import ids
from notify_streams.settings import Kafka
from notify_streams.streaming import topics
from notify_streams.streaming.partitions import Partitions
from schemas.codec import encode
from schemas.commands import PutEndpointV1
from schemas.profiles import Address
from schemas.words import Lane

SOURCE, ENDPOINT = "/tests/traffic", "mailbox"
HEADERS = [("content-type", b"application/cloudevents+json")]
# (share, type, lane, payload, has mail)
_KINDS: tuple[tuple[int, str, Lane, dict[str, object], bool], ...] = (
    (10, "message.direct", "high", {"text": "Coming tonight?", "url": "https://app.example/m/7"}, True),
    (12, "order.confirmed", "normal", {"order": "1", "total": "9 EUR", "items": [], "url": "https://a.example"}, True),
    (40, "social.comment", "normal", {"text": "What a view!", "post": "Bay", "url": "https://app.example/p"}, False),
    (30, "social.follow", "low", {"url": "https://app.example/people/7"}, False),
    (8, "marketing.campaign", "low", {"title": "Sale", "text": "All.", "ends": "2030-01-01", "url": "x"}, True),
)


class Event(msgspec.Struct, frozen=True):
    """One event for one user, its lane, and the ids of what must come of it; `delivery_id` is empty without a mail."""

    id: str
    user_id: str
    lane: Lane
    value: bytes
    notification_id: str
    delivery_id: str


def events(count: int, users: list[str], *, prefix: str, seed: int = 7) -> Iterator[Event]:
    """Always the same for the same arguments, but for their time."""
    chance = random.Random(seed)
    shares = [share for share, *_ in _KINDS]
    for number in range(count):
        _, type_, lane, payload, mail = chance.choices(_KINDS, shares)[0]
        yield event(f"{prefix}-{number}", chance.choice(users), type_, lane, payload, mail=mail)


def event(id_: str, user: str, type_: str, lane: Lane, payload: dict[str, object], *, mail: bool) -> Event:
    """In-app for all; `mail` says whether the mailbox gets one too."""
    value = {
        "specversion": "1.0",
        "id": id_,
        "source": SOURCE,
        "type": type_,
        "time": datetime.now(UTC).isoformat(),
        "data": {"recipients": [user], "payload": payload, "channels": ["inapp", *(["email"] if mail else [])]},
    }
    notification = ids.notification_id(SOURCE, id_, None, user)
    delivery = ids.delivery_id(notification, "email", ENDPOINT) if mail else ""
    return Event(id_, user, lane, msgspec.json.encode(value), notification, delivery)


def people(count: int, *, kinds: tuple[str, ...] = ("",)) -> dict[str, str]:
    """User ids with their mailboxes; `kinds` are prefixes of addresses, taken in turn."""
    return {f"user-{n:06d}": f"{kinds[n % len(kinds)]}user-{n:06d}@example.org" for n in range(count)}


async def register(kafka: Kafka, mailboxes: dict[str, str]) -> None:
    """A verified mailbox each, by commands; acknowledged by the broker, not yet applied."""
    of, topic = Partitions(kafka.partitions).of, kafka.prefix + topics.USER_COMMANDS
    producer = AIOKafkaProducer(bootstrap_servers=kafka.bootstrap, acks="all", linger_ms=20, max_batch_size=1 << 19)
    await producer.start()
    try:
        for user, address in mailboxes.items():
            command = PutEndpointV1(
                command_id=f"put-{user}",
                channel="email",
                endpoint_id=ENDPOINT,
                content=Address(address),
                verified=True,
            )
            await producer.send(topic, encode(command), user.encode(), partition=of(user.encode()))
        await producer.flush()
    finally:
        await producer.stop()
