"""Requests to a gateway over connections that are kept, one after the other on each; and items by hand."""

import asyncio
import random
import time
from collections.abc import Callable, Sequence

import msgspec
import orjson

from notify_streams.inbox.tail import LiveTail
from notify_streams.local.free_ports import HOST
from tests.bench.usage import Stalled
from tests.live_gateway import KEYS, Inbox, token

USERS, CONNECTIONS, BATCH = 500, 32, 500
_BATCH_S, _MOST_BATCHES_PER_S = 0.05, 60


class Answers(msgspec.Struct):
    """What was answered."""

    seconds: float
    latencies_ms: list[float]

    @property
    def rate(self) -> float:
        """A second."""
        return len(self.latencies_ms) / self.seconds


async def lists(port: int, seconds: float) -> Answers:
    """First pages of inboxes that were listed before."""
    tokens = [token(f"user-{number}", seconds=3600) for number in range(USERS)]

    def ask(chance: random.Random) -> bytes:
        number = chance.randrange(USERS)
        head = f"GET /v1/users/user-{number}/inbox HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {tokens[number]}"
        return head.encode() + b"\r\n\r\n"

    await _turn(port, 2.0, ask, b"200")
    return await _turn(port, seconds, ask, b"200")


async def events(port: int, key: str, seconds: float) -> Answers:
    """One event each, acknowledged by the broker before its answer."""

    def ask(chance: random.Random) -> bytes:
        more = f"Idempotency-Key: {chance.getrandbits(64):x}\r\n"
        return _post("/v1/events", key, orjson.dumps(_event(chance)), more)

    return await _turn(port, seconds, ask, b"202", connections=4 * CONNECTIONS)


async def batches(port: int, key: str, seconds: float) -> Answers:
    """`BATCH` events each, all of them acknowledged by the broker before the answer; made before the time counts."""
    chance = random.Random("batches")
    made = [_batch(key, chance) for _ in range(round(_MOST_BATCHES_PER_S * seconds))]

    def ask(_: random.Random) -> bytes:
        if not made:
            raise Stalled(f"more than {_MOST_BATCHES_PER_S} batches a second: none is left")
        return made.pop()

    return await _turn(port, seconds, ask, b"207", connections=4, whole=_all_taken)


def _batch(key: str, chance: random.Random) -> bytes:
    made = [_event(chance) | {"idempotency_key": f"batch-{chance.getrandbits(64):x}"} for _ in range(BATCH)]
    return _post("/v1/events/batch", key, orjson.dumps(made))


async def publish(boxes: Sequence[Inbox], rate: float, seconds: float) -> int:
    """Items at this rate, whose body says when (ns), in batches as the inbox role writes them; how many."""
    total, began, size = round(rate * seconds), time.monotonic(), round(rate * _BATCH_S)
    tail = LiveTail(boxes[0].redis, KEYS)
    for start in range(0, total, size):
        made = [boxes[number % len(boxes)].next(str(time.time_ns())) for number in range(start, start + size)]
        await tail.publish([frame for frame, _ in made], {frame.user_id: counts for frame, counts in made})
        if boxes[0].redis.away:
            raise Stalled("Redis did not take what was published")
        await asyncio.sleep(max(0.0, began + (start + size) / rate - time.monotonic()))
    return total


def _all_taken(body: bytes) -> bool:
    return body.count(b'"status":202') == BATCH


def _event(chance: random.Random) -> dict[str, object]:
    payload = {"order": "1", "total": "9 EUR", "items": [], "url": "https://shop.example/1"}
    return {"type": "order.confirmed", "recipients": [f"user-{chance.randrange(USERS)}"], "payload": payload}


def _post(path: str, key: str, body: bytes, more: str = "") -> bytes:
    head = f"POST {path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {key}\r\nContent-Type: application/json\r\n{more}"
    return f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body


async def _turn(
    port: int,
    seconds: float,
    ask: Callable[[random.Random], bytes],
    good: bytes,
    *,
    connections: int = CONNECTIONS,
    whole: Callable[[bytes], bool] = bool,
) -> Answers:
    began = time.monotonic()
    parts = await asyncio.gather(
        *(_asks(port, began + seconds, ask, good, whole, random.Random(number)) for number in range(connections))
    )
    return Answers(time.monotonic() - began, [latency for part in parts for latency in part])


async def _asks(
    port: int,
    until: float,
    ask: Callable[[random.Random], bytes],
    good: bytes,
    whole: Callable[[bytes], bool],
    chance: random.Random,
) -> list[float]:
    reader, writer = await asyncio.open_connection(HOST, port, limit=4 * 1024 * 1024)
    latencies = []
    while (began := time.monotonic()) < until:
        writer.write(ask(chance))
        head = await reader.readuntil(b"\r\n\r\n")
        length = int(head.lower().partition(b"content-length: ")[2].partition(b"\r\n")[0])
        body = await reader.readexactly(length)
        if not (head.startswith(b"HTTP/1.1 " + good) and whole(body)):
            raise Stalled(
                head.partition(b"\r\n")[0].decode() + " " + body[:300].decode() + " … " + body[-300:].decode()
            )
        latencies.append((time.monotonic() - began) * 1000)
    writer.close()
    return latencies
