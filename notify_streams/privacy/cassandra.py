"""Users' keys in Cassandra. Every write is a lightweight transaction: two who make a first key get the same one."""

from collections.abc import Mapping, Sequence
from secrets import token_bytes
from time import time_ns
from typing import Any

from notify_streams.domain.sealing import SECRET_BYTES, UserKey
from notify_streams.stores.cassandra import Session

from .masters import Masters

_USE = "content"  # one row per user: a name of its own in the row would let two first keys stand side by side
_STATEMENTS = {
    "get": f"SELECT user_id, wrapped FROM user_keys WHERE user_id IN ? AND key_id = '{_USE}'",
    "create": f"INSERT INTO user_keys (user_id, key_id, wrapped, created_at) VALUES (?, '{_USE}', ?, ?) IF NOT EXISTS",
    # IF EXISTS because a plain delete's timestamp may lie before that of the transaction that wrote the row
    "destroy": f"DELETE FROM user_keys WHERE user_id = ? AND key_id = '{_USE}' IF EXISTS",
}
_ASKED_AT_ONCE = 20
_NS_PER_MS = 1_000_000


class CassandraUserKeys:
    """In `user_keys`, wrapped: whoever reads the table alone reads no key."""

    def __init__(self, session: Session, prepared: Mapping[str, Any], masters: Masters) -> None:
        self._session, self._prepared, self._masters = session, prepared, masters

    @classmethod
    async def open(cls, session: Session, masters: Masters) -> "CassandraUserKeys":
        """On a session with the keyspace. Raises Unavailable."""
        return cls(session, await session.prepare(_STATEMENTS), masters)

    async def get_many(self, user_ids: Sequence[str]) -> Mapping[str, UserKey]:
        """See ports.UserKeys."""
        asked = list(dict.fromkeys(user_ids))
        groups = [(asked[at : at + _ASKED_AT_ONCE],) for at in range(0, len(asked), _ASKED_AT_ONCE)]
        answers = await self._session.select(self._prepared["get"], *groups)
        return {row.user_id: self._masters.unwrap(row.wrapped, row.user_id) for rows in answers for row in rows}

    async def create(self, user_ids: Sequence[str]) -> Mapping[str, UserKey]:
        """See ports.UserKeys."""
        found = dict(await self.get_many(user_ids))
        new = {user: UserKey(token_bytes(SECRET_BYTES)) for user in user_ids if user not in found}
        now = time_ns() // _NS_PER_MS
        rows = [(user, self._masters.wrap(key, user), now) for user, key in new.items()]
        for (user, key), [row] in zip(
            new.items(), await self._session.select(self._prepared["create"], *rows), strict=True
        ):
            found[user] = key if row.applied else self._masters.unwrap(row.wrapped, user)
        return found

    async def destroy(self, user_ids: Sequence[str]) -> int:
        """See ports.UserKeys."""
        keys = [(user,) for user in dict.fromkeys(user_ids)]
        answers = await self._session.select(self._prepared["destroy"], *keys)
        return sum(row.applied for [row] in answers)
