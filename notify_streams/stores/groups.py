"""Which rows travel together: one unlogged batch costs a third of its rows one by one, if one replica set owns them."""

from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import TypeVar

ROWS = 100
BYTES = 45 * 1024  # Cassandra refuses batches over 50 KiB unless told otherwise
T = TypeVar("T")


def grouped(rows: Iterable[T], *, owner: Callable[[T], Hashable], size: Callable[[T], int]) -> Sequence[Sequence[T]]:
    """Groups of rows of one owner, within ROWS and BYTES; a row that is larger than that goes alone."""
    done: list[list[T]] = []
    open_: dict[Hashable, tuple[list[T], int]] = {}
    for row in rows:
        whose, bytes_ = owner(row), size(row)
        group, filled = open_.get(whose, ([], 0))
        if group and (len(group) >= ROWS or filled + bytes_ > BYTES):
            done.append(group)
            group, filled = [], 0
        group.append(row)
        open_[whose] = group, filled + bytes_
    return [*done, *(group for group, _ in open_.values())]
