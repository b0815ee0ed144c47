"""Many questions at nearly the same time: one round trip for all of them."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Generic, TypeVar

Q = TypeVar("Q")
A = TypeVar("A")


class Together(Generic[Q, A]):
    """Asks what comes within `within_s` of the first, or as soon as there are `most`, in one call.

    Each question gets the answer in its place; what the call raises, every one of them raises.
    """

    def __init__(
        self, ask: Callable[[Sequence[Q]], Awaitable[Sequence[A]]], *, within_s: float = 0.001, most: int = 256
    ) -> None:
        self._ask, self._within_s, self._most = ask, within_s, most
        self._open: list[tuple[Q, asyncio.Future[A]]] = []
        self._timer: asyncio.TimerHandle | None = None
        self._calls: set[asyncio.Task[None]] = set()

    def __call__(self, question: Q) -> "asyncio.Future[A]":
        """The answer, later."""
        loop = asyncio.get_running_loop()
        future: asyncio.Future[A] = loop.create_future()
        self._open.append((question, future))
        if len(self._open) >= self._most:
            self._go()
        elif self._timer is None:
            self._timer = loop.call_later(self._within_s, self._go)
        return future

    def _go(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
        asked, self._open, self._timer = self._open, [], None
        call = asyncio.ensure_future(self._answer(asked))
        self._calls.add(call)
        call.add_done_callback(self._calls.discard)

    async def _answer(self, asked: "list[tuple[Q, asyncio.Future[A]]]") -> None:
        try:
            answers = await self._ask([question for question, _ in asked])
        except Exception as error:  # noqa: BLE001  raised for each of those who asked
            for _, future in asked:
                if not future.done():
                    future.set_exception(error)
            return
        for (_, future), answer in zip(asked, answers, strict=True):
            if not future.done():
                future.set_result(answer)
