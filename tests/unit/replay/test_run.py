"""Every record and every (notification, channel) is counted in one place."""

from collections.abc import AsyncIterator, Mapping

import orjson

from notify_streams.domain.accept import Limits
from notify_streams.domain.ids import notification_id
from notify_streams.records.memory import MemoryRecords
from notify_streams.replay.account import Account
from notify_streams.replay.derive import Raw, Reader, reading
from notify_streams.replay.fence import Clock
from notify_streams.replay.plan import Selection, Span
from notify_streams.replay.run import Run
from notify_streams.replay.sources import Fetched
from tests.builders import NOW, a_catalogue, an_event
from tests.facts import a_decision, an_inbox_fact, an_outcome

READER = Reader(a_catalogue(), Limits(), {})
AT = Clock(NOW + 60_000, kept_since=0, settled=True)


class Kept:
    """Records in memory, two at a time."""

    def __init__(self, *values: bytes | None) -> None:
        self.records = [
            Raw(n % 2, n // 2, NOW, b"k", value, {"content-type": b"application/cloudevents+json"})
            for n, value in enumerate(values)
        ]

    async def spans(self, selection: Selection) -> Mapping[int, Span]:
        return {p: (0, sum(raw.partition == p for raw in self.records)) for p in (0, 1)}

    async def read(self, spans: Mapping[int, Span]) -> AsyncIterator[Fetched]:
        for partition, (first, end) in spans.items():
            own = [raw for raw in self.records if raw.partition == partition and first <= raw.offset < end]
            for at in range(0, len(own), 2):
                yield Fetched(partition, own[at : at + 2], own[at].offset + len(own[at : at + 2]))


def event(id_: str, *users: str) -> bytes:
    return orjson.dumps(an_event(id=id_, data={"recipients": list(users), "channels": ["inapp", "email"]}))


def id_of(event_id: str, user: str) -> str:
    return notification_id("/shop/orders", event_id, None, user)


async def run(source: Kept, records: MemoryRecords, told: list[tuple[int, int]], *users: str) -> Account:
    selection = Selection(topic="events.normal", users=frozenset(users))
    read = reading("events.normal", "events", READER)
    made = Run(selection, read, records, lambda: AT)
    return await made.run(source, await source.spans(selection), lambda done, all_: told.append((done, all_)))


async def test_all_that_was_read_adds_up() -> None:
    records = MemoryRecords()
    ann, bob = id_of("a", "ann"), id_of("a", "bob")
    await records.write([a_decision(notification_id=ann), an_inbox_fact(ann), an_outcome(notification_id=ann)])
    await records.write([a_decision(notification_id=bob), an_inbox_fact(bob)])
    source = Kept(event("a", "ann", "bob"), b"{", None, event("b", "cid"), event("a", "ann"))
    told: list[tuple[int, int]] = []
    account = await run(source, records, told)
    assert (account.read, account.taken, account.notifications, account.pairs) == (5, 3, 4, 8)
    assert account.asides == {"rejected": 1, "tombstones": 1}
    assert account.channels["email"] == {"sent": 1, "missing": 2, "repeated": 1}
    assert account.channels["inapp"] == {"sent": 2, "missing": 1, "repeated": 1}
    missing = {found.notification_id: found.channels for found in account.found}
    assert missing == {bob: ("email",), id_of("b", "cid"): ("inapp", "email")}
    assert account.adds_up()
    assert told[-1] == (5, 5)


async def test_what_was_not_asked_for_is_filtered_and_counted() -> None:
    source = Kept(event("a", "ann", "bob"), event("b", "cid"))
    account = await run(source, MemoryRecords(), [], "bob")
    assert (account.taken, account.filtered, account.notifications) == (1, 1, 1)
    assert {found.user_id for found in account.found} == {"bob"}
    assert account.adds_up()


async def test_an_event_that_has_expired_is_reported() -> None:
    value = orjson.dumps(an_event(data={"expires_at": "2026-09-21T14:13:30Z"}))
    account = await run(Kept(value), MemoryRecords(), [])
    assert set(account.terms()) == {"late"}
    assert account.found == []


def test_an_account_that_lost_a_record_does_not_add_up() -> None:
    account = Account(read=2, taken=1)
    assert not account.adds_up()
    lost = Account()
    lost.add("email", "sent")
    lost.pairs += 1
    assert not lost.adds_up()
