"""The hour's files as producers send them: each run under sources of its own, instants counted from its start."""

from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import msgspec

from notify_streams.domain.accept import STRUCTURED
from schemas.words import Lane

FOLDER = Path(__file__).parent
KEYS = "demo-"
_JSON = "application/json"


class Run(msgspec.Struct, frozen=True):
    """One run. Its name is in the source of all that it publishes: no two runs share an id."""

    name: str
    at: datetime

    @classmethod
    def starting(cls, at: datetime) -> "Run":
        """Named by its second: two runs of one state directory never start in the same."""
        return cls(at.strftime("%Y%m%d-%H%M%S"), at)

    @property
    def key(self) -> str:
        """The name of its producer key."""
        return KEYS + self.name

    @property
    def own_source(self) -> str:
        """What the gateway makes the source of the short form."""
        return f"/keys/{self.key}"

    def source(self, path: str) -> str:
        """A source of the files as that of this run."""
        return f"/demo/{self.name}{path}"

    def is_mine(self, source: str) -> bool:
        """Whether an event of this source is of this run."""
        return source == self.own_source or source.startswith(self.source("/"))


class Line(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One line of the files; generate.py says what each field means."""

    topic: Lane = "normal"
    event: dict[str, Any] | None = None
    binary: dict[str, Any] | None = None
    raw: str | None = None
    null: bool = False
    short: dict[str, Any] | None = None
    idempotency_key: str | None = None
    expires_in_s: float | None = None
    send_in_s: float | None = None


class EventRecord(msgspec.Struct, frozen=True):
    """A record for an events topic; a `value` of None is a tombstone."""

    lane: Lane
    value: bytes | None
    headers: dict[str, bytes] = {}


class Post(msgspec.Struct, frozen=True):
    """A body for POST /v1/events. `event` is what ingest is to meet; None where the gateway cannot make one of it."""

    body: bytes
    headers: dict[str, str]
    event: EventRecord | None


def read(name: str) -> list[Line]:
    """A file of this folder."""
    decode = msgspec.json.Decoder(Line).decode
    return [decode(line) for line in (FOLDER / name).read_bytes().splitlines()]


def record(line: Line, run: Run) -> EventRecord:
    """What a producer puts on a topic for this line."""
    if line.null:
        return EventRecord(line.topic, None)
    if line.raw is not None:
        return EventRecord(line.topic, line.raw.encode(), _type_of(STRUCTURED + "+json"))
    if line.binary is not None:
        attributes = {**line.binary["headers"], "ce_source": run.source(line.binary["headers"]["ce_source"])}
        headers = {name: text.encode() for name, text in attributes.items()}
        value = msgspec.json.encode(_timed(line.binary["data"], line, run))
        return EventRecord(line.topic, value, headers | _type_of(_JSON))
    return _structured(_of_run(line, run), line.topic)


def post(line: Line, run: Run) -> Post:
    """What a producer posts for this line."""
    if line.event is not None:
        structured = _structured(_of_run(line, run), "high")
        return Post(structured.value or b"", {"Content-Type": STRUCTURED + "+json"}, structured)
    short = line.short or {}
    body, headers = msgspec.json.encode(short), {"Content-Type": _JSON}
    if line.idempotency_key is None:
        return Post(body, headers, None)
    data = {name: value for name, value in short.items() if name != "type"}
    event = {"specversion": "1.0", "id": line.idempotency_key, "source": run.own_source, "type": short["type"]}
    headers["Idempotency-Key"] = line.idempotency_key
    return Post(body, headers, _structured({**event, "data": data}, "high"))


def _of_run(line: Line, run: Run) -> dict[str, Any]:
    event = dict(line.event or {})
    event["source"] = run.source(event["source"])
    event["data"] = _timed(event["data"], line, run)
    return event


def _timed(data: dict[str, Any], line: Line, run: Run) -> dict[str, Any]:
    spans = {"expires_at": line.expires_in_s, "send_at": line.send_in_s}
    return data | {name: (run.at + timedelta(seconds=s)).isoformat() for name, s in spans.items() if s is not None}


def _structured(event: dict[str, Any], lane: Lane) -> EventRecord:
    return EventRecord(lane, msgspec.json.encode(event), _type_of(STRUCTURED + "+json"))


def _type_of(media_type: str) -> dict[str, bytes]:
    return {"content-type": media_type.encode()}
