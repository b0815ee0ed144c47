"""The live tail of an inbox in Redis: the last changes of a user by sequence, and a message to who listens."""

from collections.abc import Mapping, Sequence
from typing import Any

import orjson
from redis.asyncio import Redis

from notify_streams.metrics import BYPASSED
from notify_streams.ports import InboxCounts, InboxItem, Unavailable
from notify_streams.stores.inbox_keys import InboxKeys
from notify_streams.stores.redis import Expendable

KEPT, KEPT_S = 100, 7 * 86400
TRIMMED_EVERY = 16  # sequences: a tail holds up to that many more; each command costs as much as a row in Cassandra


class LiveTail:
    """Expendable: without Redis a stream says `reset` and its reader lists again."""

    def __init__(self, redis: Expendable, keys: InboxKeys) -> None:
        self._redis, self._keys = redis, keys

    async def publish(self, items: Sequence[InboxItem], headers: Mapping[str, InboxCounts]) -> None:
        """Add the frames of these items; one round trip. Never raises for an absent Redis."""
        if not items:
            return
        try:
            await self._redis.call(lambda client: _write(client, self._keys, items, headers))
        except Unavailable:
            BYPASSED.labels(engine="redis").inc()


async def _write(
    client: Redis, keys: InboxKeys, items: Sequence[InboxItem], headers: Mapping[str, InboxCounts]
) -> None:
    pipe: Any = client.pipeline(transaction=False)
    for item in items:
        frame = _frame(item, headers[item.user_id])
        pipe.zadd(keys.tail(item.user_id), {frame: item.sequence})
        pipe.spublish(keys.channel(item.user_id), frame)
    for user in {item.user_id for item in items if item.sequence % TRIMMED_EVERY == 1}:
        pipe.zremrangebyrank(keys.tail(user), 0, -KEPT - 1)
        pipe.expire(keys.tail(user), KEPT_S)
    await pipe.execute()


def _frame(item: InboxItem, after: InboxCounts) -> bytes:
    """The `item` frame with the counts as of its sequence: every later change up to `after` added one item.

    So a repeat, whatever came since, gives the same bytes, which the sorted set keeps once.
    """
    later = after.sequence - item.sequence
    return orjson.dumps(
        {
            "type": "item",
            "sequence": item.sequence,
            "unread": after.unread - later,
            "unseen": after.unseen - later,
            "item": {"item_id": str(item.item_id), "type": item.type, "title": item.title, "body": item.body},
        }
    )
