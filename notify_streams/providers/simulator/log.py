"""The exact log: one JSON line per answer that decided about a message, and the last messages themselves."""

import os
from collections import Counter, deque
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal

import msgspec
import orjson

from notify_streams.providers.simulator.followed import Followed, followed

KEPT = 2000
MAIL = frozenset({"smtp", "ses", "sendgrid"})
_PAGE = 10_000
_LONGEST_TAIL = 1 << 20

Event = Literal["accepted", "refused", "dropped"]


class Entry(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """`accepted`: answered that it is taken. `refused`: with 4xx or 5xx. `dropped`: taken in, and no answer came.

    `identity` is by what a provider or device sees that two are one.
    """

    n: int
    at: str
    provider: str = "smtp"
    event: Event
    stage: str = ""
    to: str
    answer: str
    identity: str = ""
    message_id: str = ""
    delivery_id: str = ""
    size: int = 0


class Mail(msgspec.Struct, frozen=True):
    """A message as it came (what a browser decrypts: as it read it); `headers` are those that say how to deliver it."""

    entry: Entry
    content: bytes
    headers: Mapping[str, str] = {}


class Log:
    """Appends to a file that outlives the process; memory holds the last messages and the counts only."""

    def __init__(self, path: Path) -> None:
        self.path = path
        path.parent.mkdir(parents=True, exist_ok=True)
        self._file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o644)
        self.counts: Counter[str] = Counter()
        self.by_provider: Counter[tuple[str, str]] = Counter()
        self.mails: deque[Mail] = deque(maxlen=KEPT)
        self.recent: deque[Entry] = deque(maxlen=KEPT)
        self.followed: dict[int, Followed] = {}
        self._n = 0
        self._recount()

    def add(
        self,
        *,
        provider: str,
        event: Event,
        to: str,
        answer: str,
        delivery_id: str = "",
        identity: str = "",
        content: bytes | None = None,
        stage: str = "",
        headers: Mapping[str, str] = {},
    ) -> None:
        """Written before the answer goes out. Raises OSError when the disk does not take it: then nothing is said."""
        message_id = _message_id(content) if content is not None and provider in MAIL else ""
        entry = Entry(
            n=self._n + 1,
            at=datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z"),
            provider=provider,
            event=event,
            stage=stage,
            to=to,
            answer=answer,
            message_id=message_id,
            delivery_id=delivery_id or message_id.strip("<>").rpartition("@")[0],
            identity=identity or message_id,
            size=len(content or b""),
        )
        line = msgspec.json.encode(entry) + b"\n"
        if os.write(self._file, line) != len(line):
            raise OSError(f"{self.path} took only part of a line")
        self._count(entry)
        if content is not None:
            self.mails.append(Mail(entry, content, headers))
        self._follow(entry.n)

    def since(self, position: int) -> tuple[list[Any], int]:
        """Entries from a position that an earlier call gave (0: the first), at most 10,000, and where to go on."""
        entries: list[Any] = []
        with self.path.open("rb") as file:
            file.seek(position)
            for line in file:
                if len(entries) >= _PAGE or not line.endswith(b"\n"):
                    break
                entries.append(orjson.loads(line))
                position += len(line)
        return entries, position

    def mail(self, n: int) -> Mail | None:
        """One whose content is still in memory."""
        return next((m for m in reversed(self.mails) if m.entry.n == n), None)

    def entry(self, n: int) -> Entry | None:
        """One of the last ones."""
        return next((e for e in reversed(self.recent) if e.n == n), None)

    def clear(self) -> None:
        """Forget everything, the file's content too."""
        os.ftruncate(self._file, 0)
        self.counts.clear()
        self.by_provider.clear()
        self.mails.clear()
        self.recent.clear()
        self.followed.clear()
        self._n = 0

    def close(self) -> None:
        """The file is complete without it."""
        os.close(self._file)

    def _recount(self) -> None:
        """Go on where an earlier process ended; a line that it did not finish was never answered, and goes."""
        good = 0
        for entry, end in self._lines():
            self._count(entry)
            good = end
        os.ftruncate(self._file, good)

    def _lines(self) -> Iterator[tuple[Entry, int]]:
        end = 0
        with self.path.open("rb") as file:
            for line in file:
                end += len(line)
                try:
                    yield msgspec.json.decode(line, type=Entry), end
                except msgspec.DecodeError:
                    return

    def _follow(self, n: int) -> None:
        known = followed()
        if known is not None:
            self.followed[n] = known
            self.followed.pop(n - KEPT, None)

    def _count(self, entry: Entry) -> None:
        self._n = entry.n
        self.counts[entry.event] += 1
        self.by_provider[entry.provider, entry.event] += 1
        self.recent.append(entry)


def _message_id(content: bytes) -> str:
    """From the header, by its bytes: parsing a whole mail would cost more than receiving it."""
    head = content[: content.find(b"\r\n\r\n") + 2 or None]
    start = (b"\r\n" + head).lower().find(b"\r\nmessage-id:")
    return (
        "" if start < 0 else head[start + len(b"message-id:") :].split(b"\r\n", 1)[0].decode("utf-8", "replace").strip()
    )
