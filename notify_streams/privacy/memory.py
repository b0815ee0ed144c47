"""Users' keys in memory: for tests, and as the contract's plainest reading."""

from collections.abc import Mapping, Sequence
from secrets import token_bytes

from notify_streams.domain.sealing import SECRET_BYTES, UserKey

from .masters import Masters


class MemoryUserKeys:
    """Wrapped here as well, so that a lost master key shows."""

    def __init__(self, masters: Masters, kept: dict[str, bytes] | None = None) -> None:
        self._masters, self._kept = masters, {} if kept is None else kept

    async def get_many(self, user_ids: Sequence[str]) -> Mapping[str, UserKey]:
        """See ports.UserKeys."""
        return {user: self._masters.unwrap(self._kept[user], user) for user in user_ids if user in self._kept}

    async def create(self, user_ids: Sequence[str]) -> Mapping[str, UserKey]:
        """See ports.UserKeys."""
        for user in user_ids:
            if user not in self._kept:
                self._kept[user] = self._masters.wrap(UserKey(token_bytes(SECRET_BYTES)), user)
        return await self.get_many(user_ids)

    async def destroy(self, user_ids: Sequence[str]) -> int:
        """See ports.UserKeys."""
        return sum(self._kept.pop(user, None) is not None for user in user_ids)
