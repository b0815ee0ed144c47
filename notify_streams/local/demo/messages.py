"""The simulator's exact log, as a file: what it met, from whom, and when."""

import base64
import binascii
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from uuid import UUID

import msgspec

LOG = Path("simulator") / "mails.jsonl"
MAIL = frozenset({"smtp", "ses", "sendgrid"})
PRODUCER = "/hooks/producer/"  # where producers of the demo hear how their notifications fare


class Entry(msgspec.Struct, frozen=True, kw_only=True):
    """One line. `delivery_id` is empty where the protocol does not say it before the message is taken."""

    n: int
    at: datetime
    event: str
    to: str
    provider: str = "smtp"
    answer: str = ""
    delivery_id: str = ""
    identity: str = ""

    @property
    def delivery(self) -> str:
        """The delivery's id; of a text from the reference with which receipts come back."""
        return self.delivery_id or _referred(self.identity)

    @property
    def of_producer(self) -> bool:
        """Whether it told a producer of states, and no user of anything."""
        return self.provider == "webhook" and self.to.startswith(PRODUCER)


class MessageLog:
    """What was added to the log of a state directory since this was made."""

    def __init__(self, state: Path) -> None:
        self._path = state / LOG
        self._start = self._path.stat().st_size if self._path.exists() else 0
        self._position = self._start
        self.first_mail_at: datetime | None = None
        self.mails = self.others = 0

    def look(self) -> None:
        """Count what is new; cheap."""
        entries, self._position = _entries(self._path, self._position)
        taken = [entry for entry in entries if entry.event == "accepted"]
        mails = [entry for entry in taken if entry.provider in MAIL]
        self.mails += len(mails)
        self.others += len(taken) - len(mails)
        if self.first_mail_at is None and mails:
            self.first_mail_at = mails[0].at

    def all(self) -> Sequence[Entry]:
        """Every line."""
        return _entries(self._path, self._start)[0]


def _referred(reference: str) -> str:
    """See domain/references: the id comes first."""
    try:
        raw = base64.b64decode(reference.encode("ascii") + b"=" * (-len(reference) % 4), altchars=b"-_", validate=True)
    except (UnicodeEncodeError, binascii.Error):
        return ""
    return str(UUID(bytes=raw[:16])) if len(raw) >= 16 else ""


def _entries(path: Path, position: int) -> tuple[list[Entry], int]:
    """Whole lines from a position, and where to go on."""
    if not path.exists():
        return [], position
    with path.open("rb") as file:
        file.seek(position)
        text = file.read()
    whole = text[: text.rfind(b"\n") + 1]
    return [msgspec.json.decode(line, type=Entry) for line in whole.splitlines()], position + len(whole)
