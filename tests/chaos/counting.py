"""The sums at their sources: rows in Cassandra, the simulator's exact log, the dead letters."""

import asyncio
from collections import Counter, defaultdict
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import msgspec
import orjson

from notify_streams.stores.cassandra import Session
from schemas.words import Lane
from tests.system.fleet import Ended
from tests.system.traffic import Event


class Left(msgspec.Struct, frozen=True):
    """What an ended sender left: the deliveries whose key says `calling`; None when Redis could not be asked."""

    ended: Ended
    calling: frozenset[str] | None


class Inboxes(msgspec.Struct, frozen=True):
    """Faults in words; `missing` are event ids without a row."""

    rows: int
    missing: tuple[str, ...]
    faults: tuple[str, ...]


class Mails(msgspec.Struct, frozen=True):
    """`twice`: how often each delivery was taken that was taken more than once."""

    accepted: int
    missing: tuple[str, ...]
    twice: dict[str, int]
    faults: tuple[str, ...]


async def inboxes(session: Session, accepted: Iterable[Event]) -> Inboxes:
    """Every accepted event has one row; sequences are 1..n without a gap; headers say n."""
    wanted: dict[str, dict[str, str]] = defaultdict(dict)
    for event in accepted:
        wanted[event.user_id][event.notification_id] = event.id
    rows = await _all(session, "SELECT user_id, sequence, notification_id FROM inbox")
    headers = await _all(session, "SELECT user_id, sequence, unread, unseen FROM inbox_headers")
    found: dict[str, list[tuple[int, str]]] = defaultdict(list)
    for row in rows:
        found[row.user_id].append((row.sequence, str(row.notification_id)))
    counts = {row.user_id: (row.sequence, row.unread, row.unseen) for row in headers}
    missing, faults = [], []
    for user in sorted({*wanted, *found}):
        expected, met = wanted[user], sorted(found[user])
        missing += [id_ for notification, id_ in expected.items() if notification not in {n for _, n in met}]
        if stray := [n for _, n in met if n not in expected]:
            faults.append(f"{user}: rows of nothing accepted: {stray}")
        if [sequence for sequence, _ in met] != list(range(1, len(met) + 1)):
            faults.append(f"{user}: sequences {[sequence for sequence, _ in met]}")
        if counts.get(user) != (len(met), len(met), len(met)):
            faults.append(f"{user}: header {counts.get(user)} for {len(met)} rows")
    return Inboxes(len(rows), tuple(missing), tuple(faults))


def mails(path: Path, accepted: Iterable[Event], left: Iterable[Left], sub_batch: int) -> Mails:
    """Every delivery was taken; one taken twice had been left `calling`, by lane at most one sub-batch per end."""
    wanted = {event.delivery_id: event for event in accepted if event.delivery_id}
    entries = [orjson.loads(line) for line in path.read_bytes().splitlines()]
    taken = Counter(entry["delivery_id"] for entry in entries if entry["event"] == "accepted")
    twice = {id_: count for id_, count in taken.items() if count > 1}
    faults = [f"mail {id_} belongs to nothing accepted" for id_ in taken if id_ not in wanted]
    for id_, count in twice.items():
        by = [one for one in left if one.calling and id_ in one.calling]
        if len(by) < count - 1:
            faults.append(f"mail {id_} was taken {count} times, left calling by {len(by)} ends")
    for one in left:
        lanes = Counter[Lane](wanted[id_].lane for id_ in one.calling or () if id_ in wanted)
        if lanes and max(lanes.values()) > sub_batch:
            faults.append(f"{one.ended.words} left more than a sub-batch of {sub_batch} calling: {dict(lanes)}")
    missing = tuple(event.id for id_, event in wanted.items() if not taken[id_])
    return Mails(sum(taken.values()), missing, twice, tuple(faults))


async def _all(session: Session, cql: str) -> list[Any]:
    result = await session.execute(cql)
    return await asyncio.to_thread(list, result)
