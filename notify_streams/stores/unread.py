"""Unread counts as the inbox role keeps them in Redis: for the number on an app's icon."""

from collections.abc import Mapping, Sequence

import msgspec

from notify_streams.ports import InboxCounts
from notify_streams.stores.inbox_keys import InboxKeys
from notify_streams.stores.redis import Expendable

_decode = msgspec.json.Decoder(InboxCounts).decode


class RedisUnread:
    """Implements `ports.Unread`: one round trip for all, and nobody is asked who would have to look them up."""

    def __init__(self, redis: Expendable, keys: InboxKeys) -> None:
        self._redis, self._keys = redis, keys

    async def unread(self, user_ids: Sequence[str]) -> Mapping[str, int]:
        """See ports.Unread."""
        names = [self._keys.counts(user_id) for user_id in user_ids]
        found = await self._redis.call(lambda client: client.mget(names))
        counts = {user: _read(value) for user, value in zip(user_ids, found, strict=True) if value is not None}
        return {user: count for user, count in counts.items() if count is not None}


def _read(value: bytes | str) -> int | None:
    try:
        return _decode(value).unread
    except msgspec.DecodeError:  # of another version: a message is not held up for a number on an icon
        return None
