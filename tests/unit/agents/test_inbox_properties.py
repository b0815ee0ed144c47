"""Whatever comes in whatever order and however often: sequences 1 to n, and counts as a recount has them."""

import tempfile
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from notify_streams.domain.ids import time_uuid
from schemas.content import Actor, Content
from schemas.deliveries import DeliveryV1
from schemas.inbox import InboxCommandV1, InboxSweepV1
from tests.builders import DAY, NOW
from tests.inboxes import Role, an_entry

NUMBERS = range(1, 9)
MOST = 3
Record = DeliveryV1 | InboxCommandV1 | InboxSweepV1


def plain(number: int) -> DeliveryV1:
    return an_entry(
        number, "order.confirmed" if number % 2 else "system.notice", expires_at=NOW + DAY * (1 + number * 3)
    )


def member(number: int) -> DeliveryV1:
    content = Content(actor=Actor(f"user-{number % 4}", f"Name {number % 4}"))
    return an_entry(
        number + 100,
        "social.like",
        aggregation_key=f"post:{number % 2}",
        content=content,
        expires_at=NOW + DAY * (5 + number * 3),
    )


def item_id(number: int) -> str:
    one = plain(number) if number <= max(NUMBERS) else member(number - 100)
    return str(time_uuid(one.accepted_at, one.notification_id))


ITEM_IDS = st.lists(
    st.sampled_from([item_id(n) for n in (*NUMBERS, *(100 + n for n in NUMBERS))]), min_size=1, max_size=3
)
COMMANDS = st.builds(
    lambda action, ids: InboxCommandV1(command_id="", action=action, item_ids=tuple(ids), at=NOW + DAY),
    st.sampled_from(["read", "unread", "archive", "seen"]),
    ITEM_IDS,
) | st.builds(
    lambda action, up_to: InboxCommandV1(command_id="", action=action, up_to=up_to, at=NOW + DAY),
    st.sampled_from(["read", "seen"]),
    st.integers(0, 20) | st.just(2**63 - 1),
)
# A record, how far it is shown before the process is killed, and how many of the last ones come again then.
PLAIN, MEMBERS = st.sampled_from([*map(plain, NUMBERS)]), st.sampled_from([*map(member, NUMBERS)])
RECORDS = st.one_of(PLAIN, MEMBERS, MEMBERS, COMMANDS, COMMANDS, st.just("sweep"))
STEPS = st.lists(st.tuples(RECORDS, st.sampled_from([0, 1, 2, 3, 4, 4]), st.integers(0, 6)), min_size=12, max_size=40)


def named(record: Record | str, number: int, role: Role) -> tuple[Record, int]:
    """A record as it is on the log: commands have ids and offsets, a sweep comes when a timer is due."""
    if record == "sweep":
        due = role.inbox.states.header(0, b"ann").swept_at or NOW
        role.clock.now = max(role.clock.now, due)
        return InboxSweepV1(due_at=due), number
    if isinstance(record, InboxCommandV1):
        return InboxCommandV1(
            command_id=f"c-{number}", action=record.action, item_ids=record.item_ids, up_to=record.up_to, at=record.at
        ), number
    assert not isinstance(record, str)
    return record, number


def play(role: Role, steps: list[tuple[Record | str, int, int]]) -> None:
    """Each record; after a kill all that may not have been acknowledged comes again, in its order, to its end."""
    log: list[tuple[Record, int]] = []
    for number, (record, shown, again) in enumerate(steps):
        log.append(named(record, number, role))
        role.show(role.take(*log[-1]), shown)
        if shown < 4:
            for one in log[-1 - again :]:
                role.do(*one)
        assert (role.counts().unread, role.counts().unseen) == role.recounted()


def check(role: Role) -> None:
    header = role.inbox.states.header(0, b"ann")
    heard = [frame.sequence for frame in role.said()]
    assert heard == list(range(1, header.sequence + 1))
    if heard:
        assert (role.said()[-1].unread, role.said()[-1].unseen) == (header.unread, header.unseen)
    counts = role.counts()
    assert (counts.sequence, counts.unread, counts.unseen) == (header.sequence, header.unread, header.unseen)
    assert min(role.counts().unread, role.counts().unseen) >= 0


@settings(max_examples=60, deadline=None)
@given(STEPS)
def test_any_interleaving_with_kills_gives_each_sequence_once_and_counts_equal_to_a_recount(
    steps: list[tuple[Record | str, int, int]],
) -> None:
    """INB-01"""
    with tempfile.TemporaryDirectory() as folder:
        role = Role(Path(folder), most=MOST)
        play(role, steps)
        check(role)
        role.table.fail()


@settings(max_examples=40, deadline=None)
@given(STEPS)
def test_what_is_repeated_leaves_the_rows_and_counts_that_there_are_without_repeats(
    steps: list[tuple[Record | str, int, int]],
) -> None:
    with tempfile.TemporaryDirectory() as first, tempfile.TemporaryDirectory() as second:
        killed, calm = Role(Path(first), most=MOST), Role(Path(second), most=MOST)
        play(killed, steps)
        play(calm, [(record, 4, 0) for record, _, _ in steps])
        assert killed.listed() == calm.listed()
        assert killed.counts() == calm.counts()
        assert [frame.sequence for frame in killed.said()] == [frame.sequence for frame in calm.said()]
        for role in (killed, calm):
            role.table.fail()
