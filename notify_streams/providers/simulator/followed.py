"""What followed an entry of the log: how long its answer took, and what was posted about it later.

Which entry it is, is known by the running task: whoever adds an entry and whoever posts later belong to one request.
"""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

import msgspec


class Posted(msgspec.Struct, frozen=True):
    """One post of a receipt. `answer` is a status, or "no answer"."""

    at: str
    url: str
    body: bytes
    answer: str


class Followed(msgspec.Struct):
    """Of one entry. `took_s` is None as long as no answer was given."""

    began: float
    took_s: float | None = None
    posts: list[Posted] = []


_current: ContextVar[Followed | None] = ContextVar("followed", default=None)


@contextmanager
def answering() -> Iterator[None]:
    """From the request's last byte until its answer is made; what is added to the log meanwhile is its entry."""
    followed = Followed(time.monotonic())
    token = _current.set(followed)
    try:
        yield
    finally:
        followed.took_s = time.monotonic() - followed.began
        _current.reset(token)


def followed() -> Followed | None:
    """That of the running task, and of the tasks that it starts; None outside of `answering`."""
    return _current.get()
