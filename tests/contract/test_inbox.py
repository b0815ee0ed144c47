"""What every InboxStore promises, in memory and on Cassandra."""

import itertools
import random
from datetime import UTC, datetime, timedelta
from uuid import UUID

import msgspec
import pytest

from notify_streams.domain.ids import time_uuid
from notify_streams.inbox.cassandra import CassandraInbox
from notify_streams.inbox.memory import MemoryInbox
from notify_streams.ports import InboxChange, InboxCounts, InboxItem, InboxStore
from notify_streams.stores.cassandra import Session
from tests.facts import an_id

KEPT = timedelta(days=90)
NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)


@pytest.fixture
async def inbox(backing: Session | None) -> InboxStore:
    return MemoryInbox(kept=KEPT) if backing is None else await CassandraInbox.open(backing, kept=KEPT, now=lambda: NOW)


def an_item(user: str, ago: timedelta = timedelta(minutes=1), *, sequence: int = 1, expires_at: int = 0) -> InboxItem:
    accepted_at, notification_id = round((NOW - ago).timestamp() * 1000), an_id()
    return InboxItem(
        user_id=user,
        item_id=time_uuid(accepted_at, notification_id),
        notification_id=notification_id,
        type="order.confirmed",
        category="orders",
        accepted_at=accepted_at,
        sequence=sequence,
        title="Order 123 is confirmed",
        body="19.90 €",
        link="/orders/123",
        payload=b'{"order":"123","total":1.50}',
        expires_at=expires_at,
    )


async def all_pages(inbox: InboxStore, user: str, limit: int) -> list[InboxItem]:
    found: list[InboxItem] = []
    before: UUID | None = None
    while page := await inbox.page(user, before=before, limit=limit, now=NOW):
        found += page
        before = page[-1].item_id
    return found


async def test_an_item_comes_back_as_it_was_written(inbox: InboxStore) -> None:
    item = an_item(user := an_id())
    await inbox.write([item], {user: InboxCounts(1, 1, 1)})
    assert list(await inbox.page(user, before=None, limit=10, now=NOW)) == [item]
    assert await inbox.counts(user) == InboxCounts(1, 1, 1)


async def test_somebody_without_an_inbox_has_no_items_and_zeros(inbox: InboxStore) -> None:
    assert list(await inbox.page(an_id(), before=None, limit=10, now=NOW)) == []
    assert await inbox.counts(an_id()) == InboxCounts()


async def test_pages_are_newest_first_over_month_and_year_borders(inbox: InboxStore) -> None:
    user = an_id()
    items = [an_item(user, timedelta(days=days, hours=hour)) for days in range(88) for hour in (0, 1)]
    await inbox.write(random.sample(items, len(items)), {})
    pages = await all_pages(inbox, user, 7)
    assert pages == sorted(items, key=lambda i: i.accepted_at, reverse=True)
    assert {datetime.fromtimestamp(i.accepted_at / 1000, UTC).year for i in pages} == {2025, 2026}


async def test_items_of_the_same_millisecond_are_paged_without_gap_or_repeat(inbox: InboxStore) -> None:
    user = an_id()
    items = [an_item(user) for _ in range(31)]
    await inbox.write(items, {})
    by_three = await all_pages(inbox, user, 3)
    assert by_three == list(await inbox.page(user, before=None, limit=100, now=NOW))
    assert {i.item_id for i in by_three} == {i.item_id for i in items}
    assert len(by_three) == 31


@pytest.mark.parametrize("size", [1, 10, 24, 25, 26])
async def test_pages_over_one_identical_instant_are_the_same_on_each_walk(inbox: InboxStore, size: int) -> None:
    """INB-05."""
    user = an_id()
    items = [an_item(user) for _ in range(25)]
    assert len({item.accepted_at for item in items}) == 1
    await inbox.write(items, {})
    walks = [await all_pages(inbox, user, size) for _ in range(2)]
    assert walks[0] == walks[1]
    assert len(walks[0]) == 25
    assert {i.item_id for i in walks[0]} == {i.item_id for i in items}


async def test_the_same_millisecond_has_the_same_order_in_memory_and_on_cassandra(inbox: InboxStore) -> None:
    twin, user = MemoryInbox(kept=KEPT), an_id()
    items = [an_item(user) for _ in range(40)]
    await inbox.write(items, {})
    await twin.write(items, {})
    assert await all_pages(inbox, user, 9) == await all_pages(twin, user, 9)


async def test_what_has_expired_leaves_the_list_at_that_instant_and_the_page_is_filled(inbox: InboxStore) -> None:
    user, now_ms = an_id(), round(NOW.timestamp() * 1000)
    gone = [an_item(user, timedelta(minutes=m), expires_at=now_ms) for m in range(10)]
    still = [an_item(user, timedelta(hours=1 + m), expires_at=now_ms + 1) for m in range(3)]
    await inbox.write([*gone, *still], {})
    assert list(await inbox.page(user, before=None, limit=3, now=NOW)) == still


async def test_a_repeat_changes_nothing(inbox: InboxStore) -> None:
    item = an_item(user := an_id())
    for _ in range(3):
        await inbox.write([item], {user: InboxCounts(1, 1, 1)})
    assert list(await inbox.page(user, before=None, limit=10, now=NOW)) == [item]


@pytest.mark.parametrize("order", [*itertools.permutations([1, 2, 3])])
async def test_the_highest_sequence_wins_whatever_comes_when(inbox: InboxStore, order: tuple[int, ...]) -> None:
    user = an_id()
    for sequence in order:
        await inbox.write([], {user: InboxCounts(sequence, sequence, 0)})
    assert await inbox.counts(user) == InboxCounts(3, 3, 0)


async def test_users_do_not_see_each_other(inbox: InboxStore) -> None:
    users = [f"{an_id()}-{name}" for name in ("ann", "änn", "ann ", "a" * 80)]
    items = {user: an_item(user) for user in users}
    await inbox.write(list(items.values()), {user: InboxCounts(1, 1, 1) for user in users})
    for user in users:
        assert list(await inbox.page(user, before=None, limit=10, now=NOW)) == [items[user]]


async def test_a_thousand_items_of_many_users_are_written_by_one_call(inbox: InboxStore) -> None:
    users = [an_id() for _ in range(100)]
    items = [an_item(user, timedelta(minutes=m)) for user in users for m in range(10)]
    await inbox.write(items, {user: InboxCounts(10, 10, 10) for user in users})
    for user in users:
        assert len(await inbox.page(user, before=None, limit=20, now=NOW)) == 10


def a_growth(of: InboxItem, *, sequence: int, count: int = 2) -> InboxItem:
    """The row that takes the place of another one."""
    younger = an_item(of.user_id, timedelta(seconds=30), sequence=sequence)
    return msgspec.structs.replace(
        younger, stands_for=of.stands_for or of.item_id, count=count, actors=("Ann", "Ben"), others=count - 2
    )


def a_change(of: InboxItem, sequence: int, **states: bool) -> InboxChange:
    return InboxChange(user_id=of.user_id, item_id=of.item_id, sequence=sequence, **states)


async def states(inbox: InboxStore, user: str) -> list[tuple[int, bool, bool, bool]]:
    """Sequence, read, seen, archived of what is listed."""
    page = await inbox.page(user, before=None, limit=10, now=NOW)
    return [(item.sequence, item.read, item.seen, item.archived) for item in page]


async def test_an_aggregated_item_comes_back_in_place_of_the_row_before_under_the_first_ones_id(
    inbox: InboxStore,
) -> None:
    first = an_item(user := an_id())
    grown = a_growth(first, sequence=2)
    await inbox.write([first, grown], {user: InboxCounts(2, 1, 1)}, [a_change(first, 2, superseded=True)])
    [shown] = await inbox.page(user, before=None, limit=10, now=NOW)
    assert shown == grown
    assert shown.view().item_id == str(first.item_id)


async def test_states_are_of_single_rows_and_may_come_before_them(inbox: InboxStore) -> None:
    user = an_id()
    items = [an_item(user, timedelta(minutes=n), sequence=n) for n in (1, 2, 3)]
    changes = [
        a_change(items[0], 4, read=True, seen=True),
        a_change(items[1], 5, archived=True),
        a_change(items[2], 6, seen=True),
    ]
    await inbox.write([], {}, changes)
    assert await states(inbox, user) == []
    await inbox.write(items, {})
    assert await states(inbox, user) == [(1, True, True, False), (2, False, False, True), (3, False, True, False)]


@pytest.mark.parametrize("order", [*itertools.permutations([0, 1, 2])])
async def test_of_several_changes_the_one_of_the_highest_sequence_holds(
    inbox: InboxStore, order: tuple[int, ...]
) -> None:
    item = an_item(user := an_id())
    changes = [a_change(item, 2 + n, read=n != 1) for n in range(3)]
    writes: list[tuple[list[InboxItem], list[InboxChange]]] = [([item], []), ([], changes[:1]), ([], changes[1:2])]
    for n in order:
        await inbox.write(writes[n][0], {}, writes[n][1])
    assert await states(inbox, user) == [(1, False, False, False)]
    await inbox.write([item], {}, changes[2:])
    assert await states(inbox, user) == [(1, True, False, False)]


async def test_what_the_header_says_is_read_or_seen_is_but_not_what_became_unread_since(inbox: InboxStore) -> None:
    user = an_id()
    items = [an_item(user, timedelta(minutes=10 - n), sequence=n) for n in (1, 2, 3, 4)]
    header = InboxCounts(7, 2, 1, read_through=2, seen_through=3)
    await inbox.write(items, {user: header}, [a_change(items[0], 7, read=False)])
    assert await inbox.counts(user) == header
    assert await states(inbox, user) == [
        (4, False, False, False),
        (3, False, True, False),
        (2, True, True, False),
        (1, False, True, False),
    ]
