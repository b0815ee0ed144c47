"""Whose turn it is: batches of several agents that touch one user's inbox are shown in the order of their state."""

import asyncio
from collections.abc import Iterable


class Turn:
    """The place of one batch behind others that had its users before."""

    def __init__(self, waits: dict[str, "asyncio.Future[None]"]) -> None:
        self.over: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waits = waits

    def waiting(self) -> set[str]:
        """The users whose turn it is not yet."""
        return {user for user, wait in self._waits.items() if not wait.done()}

    async def come(self) -> None:
        """Wait until all before it are over."""
        if waits := {wait for wait in self._waits.values() if not wait.done()}:
            await asyncio.wait(waits)

    def end(self) -> None:
        """Let the next ones come."""
        self.over.set_result(None)


class Turns:
    """Whoever reads a header finds the rows of all that it counts: those of another lane too."""

    def __init__(self) -> None:
        self._last: dict[str, Turn] = {}

    def take(self, users: Iterable[str]) -> Turn:
        """A turn for these users; no await may lie between this and the writing of their state."""
        mine = dict.fromkeys(users)
        turn = Turn({user: before.over for user in mine if (before := self._last.get(user)) is not None})
        for user in mine:
            self._last[user] = turn
        turn.over.add_done_callback(lambda _: self._forget(turn, mine))
        return turn

    def _forget(self, turn: Turn, users: Iterable[str]) -> None:
        for user in users:
            if self._last.get(user) is turn:
                del self._last[user]
