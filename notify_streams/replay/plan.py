"""What a replay is to read: a topic, from where to where, and whose records of it."""

import difflib
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from typing import Literal

import msgspec

from notify_streams.streaming import topics
from schemas.notifications import NotificationV1
from schemas.words import CHANNELS, LANES

Kind = Literal["events", "notifications", "deliveries", "decisions"]
Span = tuple[int, int]  # the first offset, and the one after the last
REPLAYABLE: Mapping[str, Kind] = {
    **{topics.events(lane): "events" for lane in LANES},
    **{topics.notifications(lane): "notifications" for lane in LANES},
    **{topics.deliveries(channel, lane): "deliveries" for channel in CHANNELS for lane in LANES},
    topics.DECISIONS: "decisions",
}
_ELSEWHERE = {
    topics.DEAD_LETTERS: "`notify dead-letters redrive` puts its records back",
    topics.TIMERS: "what waits there is still to come, `notify timers` shows it",
    topics.USER_COMMANDS: "it holds what users want, of which the last word is in force",
}


class PlanError(ValueError):
    """What was asked for cannot be read: the words say which part of it, and why."""


class Selection(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What was asked for. `topic` is without prefix, instants are ms; `until` and the ends of offsets are excluded.

    Where offsets are given, only their partitions are read. None named of `users`, `types`, `events` means all.
    """

    topic: str
    offsets: dict[int, tuple[int | None, int | None]] = {}
    since: int | None = None
    until: int | None = None
    users: frozenset[str] = frozenset()
    types: frozenset[str] = frozenset()
    events: frozenset[str] = frozenset()

    @property
    def kind(self) -> Kind:
        """What the topic's records are."""
        return REPLAYABLE[self.topic]

    @property
    def is_timed(self) -> bool:
        """Whether it asks for a span of time."""
        return self.since is not None or self.until is not None

    def takes(self, notification: NotificationV1) -> bool:
        """Whether it is about this notification. An event is named by its id, or by its source and id with a space."""
        return (
            (not self.users or notification.user_id in self.users)
            and (not self.types or notification.type in self.types)
            and (
                not self.events
                or notification.event_id in self.events
                or f"{notification.source} {notification.event_id}" in self.events
            )
        )


def replayable(name: str, prefix: str, known: Iterable[str]) -> str:
    """The topic without its prefix. Raises PlanError for one that cannot be replayed; `known` are all there are."""
    name, all_ = name.removeprefix(prefix), sorted(known)
    if name in REPLAYABLE:
        return name
    if name in all_:
        why = _ELSEWHERE.get(name, "its records lead to no delivery")
        raise PlanError(f"{name} cannot be replayed: {why}. Replayable are {_families()}")
    near = difflib.get_close_matches(name, REPLAYABLE, n=1)
    hint = f"; did you mean {near[0]}?" if near else f". Replayable are {_families()}"
    raise PlanError(f"there is no topic {name}{hint}")


def spans(
    selection: Selection, log: Mapping[int, Span], timed: Mapping[int, Span] | None = None, held: Span | None = None
) -> dict[int, Span]:
    """What is to be read of each partition that has anything to read. Raises PlanError.

    `log` is what the topic holds, `timed` what of that is of the time asked for, `held` the instants (ms) of the
    oldest and the newest record, as far as these are known.
    """
    for partition, asked in selection.offsets.items():
        _check(selection.topic, partition, asked, log)
    chosen = {p: _cut(selection.offsets[p], log[p]) for p in selection.offsets} or dict(log)
    if timed is not None:
        chosen = {p: _within(span, timed.get(p, (0, 0))) for p, span in chosen.items()}
    left = {partition: span for partition, span in sorted(chosen.items()) if span[0] < span[1]}
    if not left:
        raise PlanError(_nothing(selection, held))
    return left


def offsets_of(text: str) -> tuple[int, tuple[int | None, int | None]]:
    """`3:100-200`, `3:100-`, `3:-200` or `3` as partition, first offset, the one after the last. Raises PlanError."""
    partition, _, range_ = text.partition(":")
    first, dash, after = range_.partition("-")
    if not partition.isdecimal() or (range_ and not dash) or any(n and not n.isdecimal() for n in (first, after)):
        raise PlanError(f"{text!r}: expected PARTITION:FROM-TO, such as 3:100-200, 3:100- or 3")
    return int(partition), (int(first) if first else None, int(after) if after else None)


def _check(topic: str, partition: int, asked: tuple[int | None, int | None], log: Mapping[int, Span]) -> None:
    if partition not in log:
        raise PlanError(f"{topic} has no partition {partition}: it has {', '.join(map(str, sorted(log)))}")
    begin, end = log[partition]
    first, after = _cut(asked, log[partition])
    if not (begin <= first <= end and begin <= after <= end):
        holds = f"{begin} to {end - 1}" if begin < end else "nothing"
        asked_for = f"{topic}, partition {partition}: offsets {first} to {after - 1}"
        raise PlanError(f"{asked_for} are outside of its log, which holds {holds}")
    if first >= after:
        raise PlanError(f"{topic}, partition {partition}: there is nothing from offset {first} to before {after}")


def _cut(asked: tuple[int | None, int | None], log: Span) -> Span:
    first, after = asked
    return log[0] if first is None else first, log[1] if after is None else after


def _within(one: Span, other: Span) -> Span:
    return max(one[0], other[0]), min(one[1], other[1])


def _nothing(selection: Selection, held: Span | None) -> str:
    if not selection.is_timed or held is None:
        return f"{selection.topic} holds no records"
    since = "" if selection.since is None else f" from {_at(selection.since)}"
    until = "" if selection.until is None else f" before {_at(selection.until)}"
    return f"{selection.topic} holds no records{since}{until}: it holds {_at(held[0])} to {_at(held[1])}"


def _at(ms: int) -> str:
    return datetime.fromtimestamp(ms / 1000, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def _families() -> str:
    return "events.LANE, notifications.LANE, deliveries.CHANNEL.LANE and decisions"
