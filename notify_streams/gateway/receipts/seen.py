"""Which events were taken before: a vendor may send one for days (46 copies over 29 h were seen of SendGrid's)."""

from collections.abc import Collection, Sequence
from typing import Protocol

from notify_streams.gateway.pipelined import Command
from notify_streams.ports import Unavailable
from notify_streams.settings import Kafka

KEPT_S = 8 * 86_400  # SendGrid goes on for 72 hours, SNS for one; what is repeated by hand comes within a week


class Asks(Protocol):
    """Redis, as `Pipelined` has it."""

    async def ask(self, *commands: Command) -> list[int]:
        """The answers, in order. Raises Unavailable."""


class Seen:
    """Expendable: a copy that is taken again has the same ids, and changes nothing that is recorded."""

    def __init__(self, redis: Asks, kafka: Kafka) -> None:
        self._redis = redis
        self._place = f"{kafka.prefix}:{kafka.generation}:receipt:"

    async def among(self, ids: Sequence[str]) -> set[str]:
        """Those that were taken, as far as is known."""
        try:
            answers = await self._redis.ask(*((b"EXISTS", self._key(id_)) for id_ in ids)) if ids else []
        except Unavailable:
            return set()
        return {id_ for id_, there in zip(ids, answers, strict=True) if there}

    async def remember(self, ids: Collection[str]) -> None:
        """Once all that follows from them is on the log."""
        if not ids:
            return
        try:
            await self._redis.ask(*((b"SET", self._key(id_), b"1", b"EX", b"%d" % KEPT_S) for id_ in ids))
        except Unavailable:
            return  # Pipelined counts what goes on without Redis

    def _key(self, id_: str) -> bytes:
        return f"{self._place}{id_}".encode()
