"""Users' keys as a process knows them: at most so many, none for longer than the time that erasure may take."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from itertools import islice

from notify_streams.domain.sealing import UserKey
from notify_streams.ports import UserKeys

_LOOKED_AT = 100  # expired keys that leave memory with each answer, besides as many as came


class CachedUserKeys:
    """Over another store. A key that is destroyed elsewhere is forgotten here within `for_s` seconds.

    Until then it may still seal: that is redacted from the beginning. Whoever has no key is asked for each time: the
    next moment may bring one.
    """

    def __init__(self, store: UserKeys, *, size: int, for_s: float, clock: Callable[[], float]) -> None:
        self._store, self._size, self._for_s, self._clock = store, size, for_s, clock
        self._known: dict[str, tuple[float, UserKey]] = {}  # in the order in which they were learnt
        self._destructions = 0

    async def get_many(self, user_ids: Sequence[str]) -> Mapping[str, UserKey]:
        """See ports.UserKeys."""
        return await self._through(user_ids, self._store.get_many)

    async def create(self, user_ids: Sequence[str]) -> Mapping[str, UserKey]:
        """See ports.UserKeys."""
        return await self._through(user_ids, self._store.create)

    async def destroy(self, user_ids: Sequence[str]) -> int:
        """See ports.UserKeys."""
        try:
            return await self._store.destroy(user_ids)
        finally:
            self._destructions += 1
            for user in user_ids:
                self._known.pop(user, None)

    async def _through(
        self, user_ids: Sequence[str], ask: Callable[[Sequence[str]], Awaitable[Mapping[str, UserKey]]]
    ) -> Mapping[str, UserKey]:
        now, destructions = self._clock(), self._destructions
        found = {user: known[1] for user in user_ids if (known := self._known.get(user)) and known[0] > now}
        unknown = [user for user in dict.fromkeys(user_ids) if user not in found]
        if unknown:
            fresh = await ask(unknown)
            if destructions == self._destructions:  # else this answer may be from before a key was destroyed
                self._learn(fresh, now)
            found.update(fresh)
        return found

    def _learn(self, keys: Mapping[str, UserKey], now: float) -> None:
        for user, key in keys.items():
            self._known.pop(user, None)
            self._known[user] = now + self._for_s, key
        for user, (until, _) in list(islice(self._known.items(), len(keys) + _LOOKED_AT)):
            if len(self._known) <= self._size and until > now:
                break
            del self._known[user]
