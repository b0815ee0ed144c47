"""Waiting that ends at once when the process stops or its partitions move."""

import asyncio
from collections.abc import Callable
from typing import Any, TypeVar

T = TypeVar("T")
LOOK_S = 0.1


class Waits:
    """All waits of a sender. `interrupted` says of a stop or a rebalance; it is asked ten times a second at least."""

    def __init__(self, interrupted: Callable[[], bool]) -> None:
        self.interrupted = interrupted
        self._open: set[asyncio.Future[Any]] = set()
        self._watching: asyncio.TimerHandle | None = None

    async def wait(self, future: "asyncio.Future[T]", timeout_s: float) -> T | None:
        """What it becomes; None when the time is up or the wait was interrupted: then that is what it has become."""
        if future.done():
            return future.result()
        if timeout_s <= 0 or self.interrupted():
            _give_up(future)
            return None
        handle = asyncio.get_running_loop().call_later(timeout_s, _give_up, future)
        self._open.add(future)
        if self._watching is None:
            self._watching = asyncio.get_running_loop().call_later(LOOK_S, self._look)
        try:
            return await future
        finally:
            handle.cancel()
            self._open.discard(future)

    async def pause(self, seconds: float) -> None:
        """At most so long."""
        nothing: asyncio.Future[bool] = asyncio.get_running_loop().create_future()
        await self.wait(nothing, seconds)

    def _look(self) -> None:
        self._watching = None
        if self.interrupted():
            for future in [*self._open]:
                _give_up(future)
        elif self._open:
            self._watching = asyncio.get_running_loop().call_later(LOOK_S, self._look)


def _give_up(future: "asyncio.Future[Any]") -> None:
    if not future.done():
        future.set_result(None)
