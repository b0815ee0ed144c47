"""The simulator's exact log, as a file: which mails it took, and when."""

from collections.abc import Sequence
from datetime import datetime
from pathlib import Path

import msgspec

LOG = Path("simulator") / "mails.jsonl"


class Entry(msgspec.Struct, frozen=True, kw_only=True):
    """One line. `delivery_id` is empty where no mail was handed over."""

    n: int
    at: datetime
    event: str
    to: str
    answer: str = ""
    delivery_id: str = ""


class MailLog:
    """What was added to the log of a state directory since this was made."""

    def __init__(self, state: Path) -> None:
        self._path = state / LOG
        self._start = self._path.stat().st_size if self._path.exists() else 0
        self._position = self._start
        self.first_accepted: datetime | None = None
        self.accepted = 0

    def look(self) -> None:
        """Count what is new; cheap."""
        entries, self._position = _entries(self._path, self._position)
        taken = [entry for entry in entries if entry.event == "accepted"]
        self.accepted += len(taken)
        if self.first_accepted is None and taken:
            self.first_accepted = taken[0].at

    def all(self) -> Sequence[Entry]:
        """Every line."""
        return _entries(self._path, self._start)[0]


def _entries(path: Path, position: int) -> tuple[list[Entry], int]:
    """Whole lines from a position, and where to go on."""
    if not path.exists():
        return [], position
    with path.open("rb") as file:
        file.seek(position)
        text = file.read()
    whole = text[: text.rfind(b"\n") + 1]
    return [msgspec.json.decode(line, type=Entry) for line in whole.splitlines()], position + len(whole)
