"""A timer: a record that is to appear on a topic at a given time."""

import msgspec

from schemas.words import Lane, Millis


class PutTimerV1(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True, tag="put-timer.v1", tag_field="schema"):
    """Published on `notify.timers`, keyed by user id. Replaces the timer of the same id unless that is newer.

    `due_at` in ms since the epoch, UTC. `target` is a topic without its prefix. `payload` is the record's JSON.
    """

    timer_id: str
    due_at: Millis
    revision: int
    target: str
    payload: msgspec.Raw
    lane: Lane = "normal"


class MoveTimerV1(
    msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True, tag="move-timer.v1", tag_field="schema"
):
    """Another due time for a timer, and where given another payload. Nothing happens when there is no such timer."""

    timer_id: str
    due_at: Millis
    revision: int
    payload: msgspec.Raw | msgspec.UnsetType = msgspec.UNSET


class CancelTimerV1(
    msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True, tag="cancel-timer.v1", tag_field="schema"
):
    """Forget the timer, unless it is of a newer revision."""

    timer_id: str
    revision: int


TimerOperation = PutTimerV1 | MoveTimerV1 | CancelTimerV1


class Entry(msgspec.Struct, frozen=True, array_like=True):
    """Value of the due-ordered entries of the `timers` table (msgpack)."""

    user: bytes
    timer_id: str
    revision: int
    target: str
    payload: bytes


class Place(msgspec.Struct, frozen=True, array_like=True):
    """Value of the index of the `timers` table (msgpack): where a timer's entry is."""

    key: bytes
    revision: int


decode_operation = msgspec.json.Decoder(TimerOperation).decode
decode_entry, decode_place = msgspec.msgpack.Decoder(Entry).decode, msgspec.msgpack.Decoder(Place).decode
