"""The Cassandra driver answers on its own threads; here that becomes one awaitable per call, and our errors."""

import asyncio
import contextlib
from collections.abc import Sequence
from functools import partial
from threading import Lock
from typing import Any

from cassandra import DriverException, RequestValidationException
from cassandra.cluster import NoHostAvailable
from cassandra.connection import ConnectionException
from cassandra.pool import NoConnectionsAvailable
from cassandra.protocol import ErrorMessage

from notify_streams.ports import Unavailable

_OUTAGES = (NoHostAvailable, NoConnectionsAvailable, DriverException, ConnectionException, ErrorMessage, OSError)


async def answered(session: Any, statements: Sequence[Any]) -> list[Any]:
    """Send all at once; the rows of each (None for writes), in their order.

    Raises Unavailable when one of them was not answered or not done, the driver's RequestValidationException when
    the statement itself is wrong. The loop is woken once, by the last answer.
    """
    if not statements:
        return []
    answers = _Answers(len(statements))
    for at, statement in enumerate(statements):
        session.execute_async(statement).add_callbacks(partial(answers.keep, at), answers.fail)
    await answers.complete
    if answers.error is not None:
        raise translated(answers.error) from answers.error
    return answers.rows


def translated(error: BaseException) -> BaseException:
    """Unavailable for whatever an outage can cause; anything else as it is."""
    if isinstance(error, RequestValidationException) or not isinstance(error, _OUTAGES):
        return error
    return Unavailable(f"cassandra: {type(error).__name__}: {str(error)[:300]}")


class _Answers:
    """What has come so far. `keep` and `fail` are called on the driver's threads."""

    def __init__(self, count: int) -> None:
        self.rows: list[Any] = [None] * count
        self.error: BaseException | None = None
        self._left, self._lock = count, Lock()
        self._loop = asyncio.get_running_loop()
        self.complete: asyncio.Future[None] = self._loop.create_future()

    def keep(self, at: int, rows: Any) -> None:
        self.rows[at] = rows
        self._one_less()

    def fail(self, error: BaseException) -> None:
        self.error = error
        self._one_less()

    def _one_less(self) -> None:
        with self._lock:
            self._left -= 1
            last = self._left == 0
        if last:
            with contextlib.suppress(RuntimeError):  # the loop is closed: nobody waits any more
                self._loop.call_soon_threadsafe(self._finish)

    def _finish(self) -> None:
        if not self.complete.done():
            self.complete.set_result(None)
