"""Acknowledging a batch only when what it wrote is beyond the reach of a kill of its database.

A single Cassandra node that syncs its commit log periodically answers before the log can be replayed: its markers
are written ten times a second, and a SIGKILL loses what was answered since the last one (tried: 80 to 160 of 12,000
rows a kill). Syncing each write costs a third of the rate. So the answer is believed, but the input is acknowledged
a little later, and only if the node is still the same process; otherwise the batch is done again.
"""

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable
from typing import cast

from notify_streams.streaming.intake import Batch
from notify_streams.streaming.settle import leave, persistently

REST_S = 0.25


class Rest:
    """Holds batches back. `incarnation` names the database process; None where replicas make this needless."""

    def __init__(self, incarnation: Callable[[], Awaitable[object]], known: object, *, rest_s: float = REST_S) -> None:
        self._incarnation, self._known, self._rest_s = incarnation, known, rest_s
        self._held: deque[tuple[float, Batch]] = deque()
        self._task: asyncio.Task[None] | None = None

    def hold(self, batch: object) -> None:
        """The list that `batches` yielded counts as done later. Call it when all its writes are answered."""
        if self._known is None:
            return
        taken = cast(Batch, batch)
        taken.held = True
        self._held.append((asyncio.get_running_loop().time(), taken))
        if self._task is None or self._task.done():
            self._task = asyncio.ensure_future(self._release())

    async def _release(self) -> None:
        loop = asyncio.get_running_loop()
        while self._held:
            await asyncio.sleep(max(0.0, self._held[0][0] + self._rest_s - loop.time()))
            asked_at = loop.time()
            try:
                incarnation = await persistently(self._incarnation)
            except Exception:  # noqa: BLE001  whatever it is: what is held may not be held for ever
                leave("rest.unavailable")
            if incarnation != self._known:
                leave("rest.restarted")
            while self._held and self._held[0][0] <= asked_at - self._rest_s:
                self._held.popleft()[1].done()
