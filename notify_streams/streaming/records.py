"""A record as agents see it."""

from typing import Any

from faust.types import TP


class Record:
    """Faust's event and message in one light object: made for every record, it has to cost little.

    `timestamp` in seconds; `message` is the record itself, so that it reads like Faust's events.
    """

    __slots__ = ("headers", "key", "offset", "partition", "timestamp", "topic", "tp", "value")

    def __init__(self, tp: TP, fetched: Any) -> None:
        self.tp = tp
        self.topic: str = tp.topic
        self.partition: int = tp.partition
        self.offset: int = fetched.offset
        self.timestamp: float = fetched.timestamp / 1000
        self.headers = fetched.headers
        self.key: bytes | None = fetched.key
        self.value: bytes | None = fetched.value

    @property
    def message(self) -> "Record":
        """Itself."""
        return self
