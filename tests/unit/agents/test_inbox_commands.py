"""What people and the clock do to an inbox: counts, rows, frames, answers, and what is not sent any more."""

from pathlib import Path
from typing import Any

import msgspec
import pytest

from notify_streams.domain.ids import time_uuid
from notify_streams.domain.inbox import REDELIVERED_MS
from schemas.codec import encode
from schemas.commands import CancelV1
from schemas.content import Actor, Content
from schemas.deliveries import DeliveryV1
from schemas.frames import Changed, ItemFrame
from schemas.inbox import InboxCommandV1, InboxResultV1, InboxSweepV1
from tests.builders import DAY, NOW
from tests.fakes import arrived
from tests.inboxes import Role, an_entry


@pytest.fixture
def role(tmp_path: Path) -> Role:
    return Role(tmp_path)


def id_of(delivery: DeliveryV1) -> str:
    return str(time_uuid(delivery.accepted_at, delivery.notification_id))


class Person:
    """Gives commands one after another; the answers and the cancels that followed."""

    def __init__(self, role: Role) -> None:
        self._role, self._given = role, 0

    def give(self, action: Any, *about: DeliveryV1, up_to: int | None = None, at: int = NOW + DAY) -> InboxResultV1:
        self._given += 1
        command = InboxCommandV1(
            command_id=f"c-{self._given}", action=action, item_ids=tuple(map(id_of, about)), up_to=up_to, at=at
        )
        self.last, self.writes = command, self._role.do(command, self._given)
        [(_, answer)] = self.writes.answers
        return answer

    @property
    def cancels(self) -> list[CancelV1]:
        return [cancel for _, _, cancel in self.writes.stopped]


@pytest.fixture
def ann(role: Role) -> Person:
    return Person(role)


def counts(answer: InboxResultV1) -> tuple[int, int, int]:
    return answer.sequence, answer.unread, answer.unseen


def items(role: Role, *numbers: int, **changes: Any) -> list[DeliveryV1]:
    made = [an_entry(number, **changes) for number in numbers]
    for one in made:
        role.do(one)
    return made


def a_like(number: int, who: int, **changes: Any) -> DeliveryV1:
    content = Content(actor=Actor(f"u{who}", f"N{who}"))
    return an_entry(number, "social.like", aggregation_key="post:9", content=content, **changes)


def test_read_again_and_again_counts_once_and_never_below_zero(role: Role, ann: Person) -> None:
    """INB-01"""
    first, *_ = items(role, 1, 2, 3, 4, 5)
    assert {counts(ann.give("read", first)) for _ in range(20)} == {(6, 4, 4)}
    assert counts(ann.give("unread", first)) == (7, 5, 4)
    ann.give("archive", first)
    assert counts(ann.give("read", first)) == (8, 4, 4)
    assert role.recounted() == (4, 4)


def test_all_up_to_a_position_are_read_and_what_came_since_is_not(role: Role, ann: Person) -> None:
    """INB-02"""
    items(role, *range(1, 201))
    items(role, 201, 202, 203)
    assert counts(ann.give("read", up_to=200)) == (204, 3, 3)
    assert sorted(item.sequence for item in role.listed() if not item.read) == [201, 202, 203]
    assert role.recounted() == (3, 3)


def test_without_a_position_the_time_of_receipt_bounds_it(role: Role, ann: Person) -> None:
    """INB-02"""
    items(role, 1, 2, 3)
    assert counts(ann.give("read", up_to=2**63 - 1, at=NOW + 2)) == (4, 1, 1)
    assert [item.sequence for item in role.listed() if not item.read] == [3]
    assert counts(ann.give("seen", up_to=2**63 - 1)) == (5, 1, 0)
    assert counts(ann.give("seen", up_to=2**63 - 1)) == (5, 1, 0)


def test_what_was_archived_or_has_expired_is_in_no_count_and_live_clients_hear_it(role: Role, ann: Person) -> None:
    """INB-04"""
    first, second = items(role, 1, 2)
    items(role, 3, expires_at=NOW + 20_000)
    ann.give("archive", first, second)
    assert role.timers()[-1] == NOW + 20_000
    role.clock.now = NOW + 20_000
    role.do(InboxSweepV1(due_at=NOW + 20_000), 9)
    assert (role.counts().unread, role.counts().unseen, role.recounted()) == (0, 0, (0, 0))
    gone = [frame for frame in role.said() if isinstance(frame, Changed)]
    assert [(frame.state, frame.unread, len(frame.item_ids)) for frame in gone] == [
        ("archived", 1, 2),
        ("expired", 0, 1),
    ]


def test_retention_ends_read_and_unread_items_by_when_they_were_accepted(tmp_path: Path) -> None:
    """INB-12"""
    role = Role(tmp_path)
    role.inbox.kept_ms = 30 * DAY
    read, _ = items(role, 1, 2, expires_at=NOW + 300 * DAY)
    Person(role).give("read", read)
    assert [item.expires_at for item in role.listed()] == [NOW + 2 + 30 * DAY, NOW + 1 + 30 * DAY]
    for due in (NOW + 1 + 30 * DAY, NOW + 2 + 30 * DAY):
        role.clock.now = due
        role.do(InboxSweepV1(due_at=due), due)
    assert (role.listed(), role.counts().unread) == ([], 0)
    assert role.inbox.states.entries(0, b"ann") == {}


def test_nothing_is_forgotten_while_the_log_may_bring_it_again(role: Role) -> None:
    [item] = items(role, 1, expires_at=NOW + 20_000)
    role.clock.now = NOW + 20_000
    role.do(InboxSweepV1(due_at=NOW + 20_000), 1)
    again = role.take(item)
    assert ([frame.sequence for frame in again.frames], again.new) == ([1], [])
    assert role.timers()[-1] == NOW + 1 + REDELIVERED_MS
    role.clock.now = NOW + 1 + REDELIVERED_MS
    role.do(InboxSweepV1(due_at=role.clock.now), 2)
    assert (role.inbox.states.entries(0, b"ann"), role.inbox.states.header(0, b"ann").swept_at) == ({}, 0)


def test_what_is_read_in_the_inbox_is_stopped_on_the_other_channels_of_its_type(role: Role, ann: Person) -> None:
    """ORD-01"""
    [order] = items(role, 1)
    [notice] = items(role, 2, type_="system.notice")
    ann.give("read", order, notice)
    [cancel] = ann.cancels
    assert (cancel.notification_id, cancel.reason) == (order.notification_id, "read")
    assert cancel.channels == ("email", "push")


def test_reading_all_stops_what_was_unread_and_seeing_stops_nothing(role: Role, ann: Person) -> None:
    first, second, third = items(role, 1, 2, 3)
    ann.give("seen", up_to=3)
    assert ann.cancels == []
    ann.give("read", first)
    ann.give("read", up_to=2)
    assert [cancel.notification_id for cancel in ann.cancels] == [second.notification_id]
    ann.give("archive", third)
    assert [cancel.notification_id for cancel in ann.cancels] == [third.notification_id]


def test_a_command_met_again_says_the_same_and_does_nothing(role: Role, ann: Person) -> None:
    first, second = items(role, 1, 2)
    ann.give("read", first)
    told, cancels = ann.writes, ann.cancels
    ann.give("unread", first)
    again = role.take(InboxCommandV1(command_id="c-1", action="read", item_ids=(id_of(first),), at=NOW + DAY), 1)
    assert again.answers == told.answers
    assert [frame.payload for frame in again.frames] == [frame.payload for frame in told.frames]
    assert ([cancel for _, _, cancel in again.stopped], again.changes) == (cancels, told.changes)
    role.show(again)
    assert (role.counts().unread, role.recounted()) == (2, (2, 1))
    assert second.notification_id not in {cancel.notification_id for cancel in cancels}


def test_of_what_is_older_than_all_that_is_remembered_nothing_is_done_again(role: Role, ann: Person) -> None:
    [first] = items(role, 1)
    ann.give("read", first)
    old = ann.last
    for _ in range(33):
        ann.give("unread", first)
    again = role.take(old, 1)
    assert (again.frames, again.changes) == ([], [])
    assert [answer.unread for _, answer in again.answers] == [1]


@pytest.mark.parametrize(
    ("command", "pointer"),
    [
        (InboxCommandV1(command_id="c", action="archive", up_to=1, at=0), "/action"),
        (InboxCommandV1(command_id="c", action="read", at=0), "/item_ids"),
        (InboxCommandV1(command_id="c", action="read", item_ids=("x",), up_to=1, at=0), "/up_to"),
    ],
)
def test_a_command_that_makes_no_sense_is_answered_with_its_fault(
    role: Role, command: InboxCommandV1, pointer: str
) -> None:
    items(role, 1)
    [(_, answer)] = role.do(command, 1).answers
    assert (answer.status, [error.pointer for error in answer.errors], answer.unread) == ("invalid", [pointer], 1)


def test_what_is_no_item_changes_nothing(role: Role, ann: Person) -> None:
    items(role, 1)
    command = InboxCommandV1(command_id="c", action="read", item_ids=("", "x", id_of(an_entry(77))), at=NOW)
    [(_, answer)] = role.do(command, 1).answers
    assert (answer.status, counts(answer)) == ("applied", (1, 1, 1))


def test_a_command_on_the_wrong_partition_is_sent_on(role: Role) -> None:
    command = encode(InboxCommandV1(command_id="c", action="read", up_to=1, at=NOW))
    writes = role.do(an_entry(1))
    role.commands.take(arrived(command, b"ann", partition=3), writes, role.outgoing)
    assert role.outgoing.of("inbox-commands") == [command]
    assert writes.answers == []


def test_likes_of_one_post_are_one_item_that_grows_and_comes_back_unread(role: Role, ann: Person) -> None:
    first = a_like(1, 1)
    for one in (first, *(a_like(n, n) for n in range(2, 7))):
        role.do(one)
    [item] = role.listed()
    assert (item.count, item.actors, item.others) == (6, ("N6", "N5", "N4"), 3)
    assert (role.counts().sequence, role.counts().unread) == (6, 1)
    ann.give("read", first)
    assert {cancel.notification_id for cancel in ann.cancels} == {a_like(n, n).notification_id for n in range(1, 7)}
    role.do(a_like(7, 6))
    [grown] = role.listed()
    assert (grown.view().item_id, grown.read, grown.count, grown.others) == (id_of(first), False, 7, 3)
    frames = [frame for frame in role.said() if isinstance(frame, ItemFrame)]
    assert {frame.item.item_id for frame in frames} == {id_of(first)}
    assert (role.counts().unread, role.recounted()) == (1, (1, 1))


def test_after_it_was_archived_expired_or_a_week_likes_begin_a_new_item(role: Role, ann: Person) -> None:
    first = a_like(1, 1, expires_at=NOW + 9 * DAY)
    role.do(first)
    ann.give("archive", first)
    second = a_like(2, 2, expires_at=NOW + 9 * DAY)
    role.do(second)
    role.clock.now = NOW + 2 + 7 * DAY
    role.do(a_like(3, 3, expires_at=NOW + 9 * DAY))
    role.clock.now = NOW + 9 * DAY
    role.do(a_like(4, 4, expires_at=NOW + 10 * DAY))
    assert [(item.count, item.archived) for item in role.listed()] == [(1, False)]


def test_a_member_met_again_has_its_sequence_and_is_not_counted_twice(role: Role) -> None:
    likes = [a_like(n, n) for n in (1, 2, 3)]
    for one in likes:
        role.do(one)
    before = role.listed()
    again = role.take(likes[1])
    [frame] = [msgspec.json.decode(frame.payload) for frame in again.frames]
    assert (frame["sequence"], frame["item"]["count"], again.items) == (2, 3, [])
    role.show(again)
    assert role.listed() == before
    assert role.counts().unread == 1
