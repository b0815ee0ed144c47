"""How an agent ends a batch: everything sent and acknowledged, or the process gone and the input unacknowledged."""

import asyncio
import logging
import os
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import NoReturn, Protocol, TypeVar

from notify_streams.ports import Unavailable
from notify_streams.streaming.app import App
from notify_streams.streaming.lease import EX_TEMPFAIL
from notify_streams.streaming.outgoing import Offsets, Outgoing

log = logging.getLogger(__name__)
PATIENCE_S = 15.0
T = TypeVar("T")


class Table(Protocol):
    """Whatever keeps a changelog."""

    def acknowledged(self, offsets: Offsets) -> None:
        """Told once the broker has the records."""


@asynccontextmanager
async def settled(app: App, *tables: Table) -> AsyncIterator[Outgoing]:
    """Send what the body queued, wait for it, then note how far the tables' changelogs are.

    An exception must not leave an agent: Faust would restart it and lose what it had in hand. So whatever goes
    wrong here ends the process; the input comes again to the next one. Data errors are the body's business: it
    turns them into dead letters.
    """
    outgoing = Outgoing(app.raw_producer, app.topic_prefix)
    try:
        yield outgoing
        offsets = await outgoing.flush()
    except Exception:  # noqa: BLE001  an outage or a bug: either way nothing of this batch may count as done
        leave("batch.unsettled")
    for table in tables:
        table.acknowledged(offsets)


async def persistently(call: Callable[[], Awaitable[T]], *, patience_s: float = PATIENCE_S) -> T:
    """Repeat an idempotent call while its engine is Unavailable, with growing pauses; raises when patience ends."""
    deadline, pause = asyncio.get_running_loop().time() + patience_s, 0.1
    while True:
        try:
            return await call()
        except Unavailable as error:
            if asyncio.get_running_loop().time() + pause > deadline:
                raise
            log.warning("engine.unavailable retry_s=%.1f reason=%s", pause, error)
        await asyncio.sleep(pause)
        pause = min(pause * 2, 2.0)


def leave(why: str) -> NoReturn:
    """End the process without acknowledging anything; it is started again and waits for its engines."""
    log.critical(why, exc_info=True)
    logging.shutdown()
    os._exit(EX_TEMPFAIL)
