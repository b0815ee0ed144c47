"""Profiles as callers may see them: never older than what they were told."""

import asyncio
from collections.abc import Callable
from time import monotonic

from notify_streams.gateway.known import Floors, Known, Shared
from notify_streams.ports import RecordStore, Unavailable
from schemas.commands import CommandResultV1
from schemas.profiles import NOBODY, ProfileV1

_WAIT_S, _PAUSE_S = 1.0, 0.05
_AT_ONCE = 200


class Profiles:
    """The newest of what was heard here, told by others, and recorded.

    What is told is a cache too: the records are asked where it has nothing for ten minutes, or where answers are not
    heard (`listening`), so that nobody here would know of a newer version.
    """

    def __init__(
        self,
        records: RecordStore,
        shared: Shared,
        listening: Callable[[], bool],
        *,
        floors: Floors | None = None,
        wait_s: float = _WAIT_S,
    ) -> None:
        """`wait_s`: how long a read waits for the recorder to catch up with a change that was answered."""
        self._records, self._shared, self._listening = records, shared, listening
        self._floors = Floors() if floors is None else floors
        self._wait_s = wait_s
        self._untold: dict[str, Known] = {}
        self._telling: asyncio.Task[None] | None = None

    async def read(self, user_id: str) -> ProfileV1:
        """Defaults for somebody unknown. Raises Unavailable when only older versions than the answered are there."""
        known = await self._known(user_id)
        if known.profile is not None and self._listening():
            return known.profile
        return await self._recorded(user_id, known)

    def heard(self, result: CommandResultV1) -> None:
        """Take an answer off the topic into account: its version is one that there is, whatever was answered."""
        known = Known(result.version, result.profile if result.status == "applied" else None)
        self._floors.raise_to(result.user_id, known)
        self._untold[result.user_id] = self._floors.of(result.user_id)
        if self._telling is None or self._telling.done():
            self._telling = asyncio.create_task(self._tell_all(), name="profiles.tell")

    async def answered(self, result: CommandResultV1) -> None:
        """Make sure that whoever reads next, here or elsewhere, sees the change."""
        known = Known(result.version, result.profile)
        self._floors.raise_to(result.user_id, known)
        await self._tell({result.user_id: known})

    async def _known(self, user_id: str) -> Known:
        try:
            told = await self._shared.read(user_id)
        except Unavailable:
            told = None
        heard = self._floors.of(user_id)
        if told is None or told.version < heard.version:
            return heard
        if told.version > heard.version:
            self._floors.raise_to(user_id, Known(told.version))
        return heard if told.profile is None and heard.version == told.version else told

    async def _recorded(self, user_id: str, known: Known) -> ProfileV1:
        until = monotonic() + self._wait_s
        while True:
            profile = await self._records.profile(user_id) or NOBODY
            if profile.version >= known.version:
                await self._tell({user_id: Known(profile.version, profile)})
                return profile
            if known.profile is not None:
                return known.profile
            if monotonic() >= until:
                raise Unavailable("the recorder has not caught up with an answered change")
            await asyncio.sleep(_PAUSE_S)

    async def _tell_all(self) -> None:
        while self._untold:
            users = list(self._untold)[:_AT_ONCE]
            await self._tell({user: self._untold.pop(user) for user in users})

    async def _tell(self, known: dict[str, Known]) -> None:
        """Redis may be away: then every gateway goes by what it has heard itself."""
        try:
            await self._shared.tell(known)
        except Unavailable:
            return
