"""What a digest or an aggregation says: several notifications as a few lines, never larger than a record may be."""

from collections.abc import Iterable, Sequence

from schemas.codec import encode
from schemas.content import Actor, Content, Group, Line
from schemas.notifications import NotificationV1

SHOWN_ACTORS = 3
# One line alone may be as large as the event that it is of; several are not.
LINES_BYTES = 128 * 1024
# More is no name that anybody would read; such an actor is one of the others.
ACTOR_BYTES = 1024


def newest(items: Iterable[NotificationV1]) -> NotificationV1:
    """The one that stands for all: accepted last, of those the one with the greatest id. Raises ValueError for none."""
    return max(items, key=_in_order)


def group(items: Sequence[NotificationV1], *, shown: int, digest: bool) -> Group:
    """What is said of distinct notifications, in whatever order they are given; `count` is of all of them.

    A digest has at most `shown` lines in the order of events (of a line, its newest). Notifications of one type and
    aggregation key are one line. Lines that do not fit into LINES_BYTES together are left out; one is always there.
    `more` counts the notifications of all that is left out. An aggregation has no lines but the actors.
    """
    ordered = sorted(items, key=_in_order)
    if not digest:
        actors, others = _actors(ordered)
        return Group(count=len(ordered), actors=actors, others=others)
    lines = _fitting(_lines(ordered), shown)
    return Group(count=len(ordered), lines=lines, more=len(ordered) - sum(line.count for line in lines))


def _in_order(item: NotificationV1) -> tuple[int, str]:
    return item.accepted_at, item.notification_id


def _lines(ordered: Iterable[NotificationV1]) -> list[list[NotificationV1]]:
    """What goes on one line together, by the newest of each."""
    together: dict[tuple[str, str, str], list[NotificationV1]] = {}
    for item in ordered:
        alone = "" if item.aggregation_key else item.notification_id
        together.setdefault((item.type, item.aggregation_key or "", alone), []).append(item)
    return sorted(together.values(), key=lambda held: _in_order(held[-1]))


def _fitting(lines: Sequence[Sequence[NotificationV1]], shown: int) -> tuple[Line, ...]:
    kept: list[Line] = []
    room = LINES_BYTES
    for held in lines:
        if len(kept) == shown:
            break
        line = _line(held)
        size = len(encode(line))
        if size <= room:
            kept.append(line)
            room -= size
    return tuple(kept) or tuple(_line(held) for held in lines[:1])


def _line(held: Sequence[NotificationV1]) -> Line:
    last = held[-1]
    content = last.content or Content()
    actors, others = _actors(held)
    return Line(
        type=last.type,
        at=last.accepted_at,
        count=len(held),
        payload=content.payload,
        actor=content.actor,
        object=content.object,
        actors=actors,
        others=others,
    )


def _actors(ordered: Sequence[NotificationV1]) -> tuple[tuple[Actor, ...], int]:
    """The newest few under the names that they had last, and how many there are besides."""
    distinct: dict[str, Actor] = {}
    for item in reversed(ordered):
        if item.content is not None and item.content.actor is not None:
            distinct.setdefault(item.content.actor.id, item.content.actor)
    known = [actor for actor in distinct.values() if len(encode(actor)) <= ACTOR_BYTES]
    shown = tuple(known[:SHOWN_ACTORS])
    return shown, len(distinct) - len(shown)
