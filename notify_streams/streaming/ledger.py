"""How far a partition is done: what may be committed, and what is still under way."""


class Ledger:
    """One partition between two rebalances. Runs are taken in order; they may end in any order.

    What may be committed never lies past the start of a run that has not ended well (faust #606): stock code
    forgets a run that failed as soon as its messages are garbage, and commits past it.
    """

    def __init__(self) -> None:
        self._under_way: dict[int, bool] = {}
        self._done: int | None = None

    def take(self, first: int) -> None:
        """A run that starts at this offset is in somebody's hands."""
        self._under_way[first] = True

    def finish(self, first: int, after: int) -> None:
        """The run from `first` to before `after` is done, with everything that follows from it."""
        self._under_way.pop(first, None)
        self._done = after if self._done is None else max(self._done, after)

    def give_up(self, first: int) -> None:
        """Nobody works on this run any more and it is not done: nothing from here on may be committed."""
        if first in self._under_way:
            self._under_way[first] = False

    @property
    def busy(self) -> bool:
        """Whether somebody still works on a run."""
        return any(self._under_way.values())

    @property
    def committable(self) -> int | None:
        """The offset to go on from after a restart; None when nothing was done yet."""
        if self._done is None or not self._under_way:
            return self._done
        return min(self._done, *self._under_way)
