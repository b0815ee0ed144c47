"""What was ever written can be read, and is written the same: one file per version, two values each."""

from pathlib import Path
from typing import Any

import msgspec
import pytest

import schemas.commands
import schemas.decisions
import schemas.deliveries
import schemas.inbox
import schemas.notifications
import schemas.outcomes
import schemas.profiles
import schemas.stops
import schemas.timers
import schemas.user_state
from schemas.codec import encode, pack
from schemas.notifications import decode_notification
from tests.golden.tables import OWN, TABLE
from tests.golden.values import WIRE

GOLDEN = Path(__file__).parents[2] / "golden"
MODULES = (
    schemas.commands,
    schemas.decisions,
    schemas.deliveries,
    schemas.inbox,
    schemas.notifications,
    schemas.outcomes,
    schemas.profiles,
    schemas.stops,
    schemas.timers,
    schemas.user_state,
)
EACH = pytest.mark.parametrize("at", [0, 1], ids=["full", "bare"])
OF_WIRE = pytest.mark.parametrize("name", WIRE)
OF_TABLE = pytest.mark.parametrize("name", TABLE)


def line(name: str, at: int) -> bytes:
    suffix = "json" if name in WIRE else "msgpack"
    text = (GOLDEN / f"{name}.{suffix}").read_bytes().splitlines()[at]
    return text if name in WIRE else bytes.fromhex(text.decode())


def grown(value: Any) -> type[msgspec.Struct]:
    """The value's type as a later version has it: one more field, with a default."""
    config = value.__struct_config__
    return msgspec.defstruct(
        type(value).__name__,
        [("added_later", str | None, None)],
        bases=(type(value),),
        frozen=True,
        kw_only=not config.array_like,
        tag=config.tag,
        tag_field=config.tag_field,
        array_like=config.array_like,
    )


@EACH
@OF_WIRE
def test_a_wire_type_is_written_as_its_golden_bytes_and_read_back(name: str, at: int) -> None:
    value, decoder = WIRE[name][at], WIRE[name][2]
    assert encode(value) == line(name, at)
    assert encode(decoder.decode(line(name, at))) == line(name, at)
    if name in OWN:
        assert encode(OWN[name](line(name, at))) == line(name, at)


@EACH
@OF_TABLE
def test_a_table_value_is_written_as_its_golden_bytes_and_read_back(name: str, at: int) -> None:
    value = TABLE[name][at]
    assert pack(value) == line(name, at)
    assert TABLE[name][2].decode(line(name, at)) == value == OWN[name](line(name, at))


@EACH
@OF_WIRE
def test_unknown_fields_of_a_wire_type_are_ignored(name: str, at: int) -> None:
    raw = line(name, at)
    later = raw[:-1] + (b"," if raw != b"{}" else b"") + b'"added_later":{"nested":[1,"x",null]}}'
    assert encode(WIRE[name][2].decode(later)) == raw


@EACH
@OF_TABLE
def test_further_elements_of_a_table_value_are_ignored(name: str, at: int) -> None:
    elements = msgspec.msgpack.decode(line(name, at))
    later = msgspec.msgpack.encode([*elements, {"added": "later"}])
    assert TABLE[name][2].decode(later) == TABLE[name][at]


@EACH
@OF_WIRE
def test_a_wire_type_with_a_field_more_reads_old_bytes(name: str, at: int) -> None:
    read = msgspec.json.decode(line(name, at), type=grown(WIRE[name][at]))
    assert getattr(read, "added_later", "missing") is None


@EACH
@OF_TABLE
def test_a_table_value_with_an_element_more_reads_old_bytes(name: str, at: int) -> None:
    read = msgspec.msgpack.decode(line(name, at), type=grown(TABLE[name][at]))
    assert getattr(read, "added_later", "missing") is None


@OF_WIRE
def test_the_schema_field_says_type_and_version(name: str) -> None:
    said = msgspec.json.decode(line(name, 0)).get("schema")
    assert said == (None if name == "cloud-event.v1" else name)


@OF_WIRE
def test_the_full_value_sets_every_field(name: str) -> None:
    """So that a field which loses its name or place is noticed."""
    full = WIRE[name][0]
    unset = {f.name for f in msgspec.structs.fields(full) if getattr(full, f.name) == f.default}
    assert unset <= {"time"}


def test_every_tagged_type_has_golden_bytes() -> None:
    tags = {
        kind.__struct_config__.tag
        for module in MODULES
        for kind in vars(module).values()
        if isinstance(kind, type) and issubclass(kind, msgspec.Struct) and kind.__struct_config__.tag_field == "schema"
    }
    assert {tag for tag in tags if not str(tag).startswith("_")} <= set(WIRE)


def test_no_golden_file_is_orphaned() -> None:
    files = {path.stem for path in GOLDEN.iterdir() if path.suffix in (".json", ".msgpack")}
    assert files == {*WIRE, *TABLE}


def test_a_payload_keeps_its_bytes_through_a_hop() -> None:
    read = decode_notification(line("notification.v1", 0))
    assert read.content is not None
    assert bytes(read.content.payload) == b'{"order": "123", "total": 19.90}'
