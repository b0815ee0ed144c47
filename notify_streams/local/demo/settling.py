"""Waits until every notification of a run is final, or waits for something that a run does not stay for."""

import asyncio
from collections.abc import Callable, Iterable
from time import time

from notify_streams.domain.status import NotificationStatus, fold, is_settled
from notify_streams.ports import Records
from schemas.words import Reason, State

_LOOK_S = 1.0


class Settling:
    """Remembers who is settled, so that each look asks for the others only."""

    def __init__(self, records: Records, wanted: Iterable[str]) -> None:
        self._records = records
        self.open: dict[str, NotificationStatus | None] = dict.fromkeys(wanted)
        self.settled = 0

    async def wait(self, seconds: float, told: Callable[["Settling"], None]) -> bool:
        """True as soon as all are settled, False after so many seconds. What is due later is not waited for."""
        until = time() + seconds
        while True:
            await self.look(round(until * 1000))
            told(self)
            if not self.open or time() >= until:
                return not self.open
            await asyncio.sleep(_LOOK_S)

    async def look(self, overdue_before: int) -> None:
        """Once. Raises Unavailable."""
        for id_, facts in (await self._records.facts_of(list(self.open))).items():
            status = fold(id_, facts)
            if status is not None and is_settled(status, overdue_before=overdue_before):
                del self.open[id_]
                self.settled += 1
            else:
                self.open[id_] = status

    def sentence(self) -> str:
        """What is still to come, in words."""
        if not self.open:
            return ""
        waits: dict[str, int] = {}
        for status in self.open.values():
            for word in _why_open(status):
                waits[word] = waits.get(word, 0) + 1
        return ", ".join(f"{number} {word}" for word, number in sorted(waits.items(), key=lambda pair: -pair[1]))


def _word(reason: Reason) -> str:
    return reason.value.replace("_", " ")


def _why_open(status: NotificationStatus | None) -> set[str]:
    if status is None:
        return {"not decided yet"}
    open_ = [c for c in status.channels if c.due_at or c.state is State.QUEUED]
    return {f"{c.channel} {c.state}{f' ({_word(c.reason)})' if c.reason else ''}" for c in open_} or {"undecided"}
