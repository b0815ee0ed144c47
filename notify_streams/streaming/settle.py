"""How an agent ends a batch: everything sent and acknowledged, or the process gone and the input unacknowledged."""

import asyncio
import logging
import os
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from typing import NoReturn, Protocol, TypeVar, cast

from notify_streams.ports import Unavailable
from notify_streams.streaming.app import App
from notify_streams.streaming.intake import Batch
from notify_streams.streaming.lease import EX_TEMPFAIL
from notify_streams.streaming.outgoing import Offsets, Outgoing, Sent

log = logging.getLogger(__name__)
PATIENCE_S = 15.0
T = TypeVar("T")


class Table(Protocol):
    """Whatever keeps a changelog."""

    def acknowledged(self, offsets: Offsets) -> None:
        """Told once the broker has the records."""


class Pipeline:
    """Settles one agent's batches while the agent already works on the next ones, at most `ahead` of them.

    A batch counts as done once the broker has all that follows from it, whatever becomes of later ones. For agents
    whose body has no await: what they send keeps the order of their batches.
    """

    def __init__(self, app: App, *tables: Table, ahead: int = 2) -> None:
        self._app, self._tables, self._ahead = app, tables, ahead
        self._under_way: deque[asyncio.Task[None]] = deque()

    @asynccontextmanager
    async def settled(self, batch: object) -> AsyncIterator[Outgoing]:
        """As the function `settled`, for a list that `batches` yielded; returns before the broker has it."""
        outgoing = Outgoing(self._app.raw_producer, self._app.topic_prefix)
        taken = cast(Batch, batch)
        self._app.unsettled += len(self._tables)
        try:
            yield outgoing
            sent = outgoing.send()
        except Exception:  # noqa: BLE001  an outage or a bug: either way nothing of this batch may count as done
            leave("batch.unsettled")
        except BaseException:
            _cancelled(self._app, self._tables)
            raise
        taken.held = True
        self._under_way.append(asyncio.ensure_future(self._finish(taken, sent)))
        while len(self._under_way) > self._ahead:
            await asyncio.wait([self._under_way.popleft()])

    async def drained(self) -> None:
        """Wait until the broker has all that follows from the batches so far."""
        while self._under_way:
            await asyncio.wait([self._under_way.popleft()])

    async def _finish(self, batch: Batch, sent: Sent) -> None:
        try:
            offsets = await sent.acknowledged()
            for table in self._tables:
                table.acknowledged(offsets)
        except Exception:  # noqa: BLE001  the same
            leave("batch.unsettled")
        self._app.unsettled -= len(self._tables)
        batch.done()


@asynccontextmanager
async def settled(app: App, *tables: Table) -> AsyncIterator[Outgoing]:
    """Send what the body queued, wait for it, then note how far the tables' changelogs are.

    An exception must not leave an agent: Faust would restart it and lose what it had in hand. So whatever goes
    wrong here ends the process; the input comes again to the next one. Data errors are the body's business: it
    turns them into dead letters. Until the tables' rows are acknowledged, `app.unsettled` counts them.
    """
    outgoing = Outgoing(app.raw_producer, app.topic_prefix)
    app.unsettled += len(tables)
    try:
        yield outgoing
        offsets = await outgoing.flush()
        for table in tables:
            table.acknowledged(offsets)
    except Exception:  # noqa: BLE001  an outage or a bug: either way nothing of this batch may count as done
        leave("batch.unsettled")
    except BaseException:
        _cancelled(app, tables)
        raise
    app.unsettled -= len(tables)


def _cancelled(app: App, tables: Sequence[Table]) -> None:
    """The tables may hold rows that their changelogs will never have: only a worker that ends may go on from here,
    and it stays counted in `unsettled`, so that the next one restores them.
    """
    if tables and not app.should_stop:
        leave("batch.cancelled")


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
