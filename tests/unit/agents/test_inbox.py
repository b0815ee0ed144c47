"""In-app deliveries in; sequences, items, headers and outcomes out."""

from datetime import UTC, datetime, timedelta
from typing import Any, cast

import pytest

from agents.inbox import Inbox, Writes
from notify_streams.inbox.memory import MemoryInbox
from notify_streams.inbox.tail import LiveTail
from notify_streams.ports import InboxCounts
from notify_streams.streaming.deadletters import DeadLetters
from notify_streams.streaming.keyed import NoUser
from schemas.codec import encode
from schemas.deliveries import DeliveryV1
from schemas.outcomes import OutcomeV1, decode_outcome
from schemas.words import Reason
from tables.inbox_state import InboxStates
from tests.builders import DAY, NOW, a_catalogue, a_delivery, an_id
from tests.fakes import NO_REST, Clock, Recording, Renderer, Table, an_app, arrived

KEPT = timedelta(days=90)


@pytest.fixture
def inbox(state_table: Table, clock: Clock) -> Inbox:
    return Inbox(
        an_app(),
        InboxStates(state_table, "notify."),
        MemoryInbox(kept=KEPT),
        cast(LiveTail, None),
        Renderer(["broken"]),
        a_catalogue(),
        DeadLetters("inbox", 20),
        NO_REST,
        clock=clock,
    )


def an_entry(user: str = "ann", **changes: Any) -> DeliveryV1:
    """A delivery to this user's inbox."""
    plain: dict[str, Any] = {"notification_id": an_id(), "channel": "inapp", "endpoint_id": "inbox"}
    return a_delivery(user_id=user, **{**plain, **changes})


def take(inbox: Inbox, *deliveries: DeliveryV1, writes: Writes | None = None) -> tuple[Writes, Recording]:
    writes, outgoing = writes or Writes(), Recording()
    for delivery in deliveries:
        inbox.take(arrived(encode(delivery), delivery.user_id.encode()), writes, outgoing)
    return writes, outgoing


def outcome(outgoing: Recording) -> OutcomeV1:
    [value] = outgoing.of("outcomes")
    read = decode_outcome(value)
    assert isinstance(read, OutcomeV1)
    return read


def test_each_delivery_gets_the_next_sequence_of_its_user(inbox: Inbox) -> None:
    batch = [an_entry("ann"), an_entry("bob"), an_entry("ann")]
    writes, outgoing = take(inbox, *batch)
    assert [(i.user_id, i.sequence) for i in writes.items] == [("ann", 1), ("bob", 1), ("ann", 2)]
    assert writes.headers == {"ann": InboxCounts(2, 2, 2), "bob": InboxCounts(1, 1, 1)}
    assert [w.delivery_id for w in writes.written[0]] == [d.delivery_id for d in batch]
    assert outgoing.topics() == ["state-log", "timers"]


def test_an_item_carries_what_its_reader_sees(inbox: Inbox) -> None:
    [item] = take(inbox, delivery := an_entry())[0].items
    assert (item.user_id, item.type, item.category, item.notification_id) == (
        "ann",
        "order.confirmed",
        "orders",
        delivery.notification_id,
    )
    assert (item.title, item.payload, item.accepted_at, item.expires_at) == (
        '{"order":"123"}',
        b'{"order":"123"}',
        NOW,
        NOW + DAY,
    )
    assert datetime.fromtimestamp((item.item_id.time - 0x01B21DD213814000) / 1e7, UTC).timestamp() * 1000 == NOW


async def test_a_delivery_met_again_repeats_its_sequence_and_gives_the_same_inbox(inbox: Inbox) -> None:
    first, second = an_entry(), an_entry()
    writes, _ = take(inbox, first, second)
    again, outgoing = take(inbox, first)
    assert again.items == writes.items[:1]
    assert (again.headers, again.new) == ({"ann": InboxCounts(2, 2, 2)}, [])
    assert outgoing.topics() == ["timers"]
    for one in (writes, again):
        await inbox.store.write(one.items, one.headers)
    assert await inbox.store.counts("ann") == InboxCounts(2, 2, 2)
    page = await inbox.store.page("ann", before=None, limit=10, now=datetime.fromtimestamp(NOW / 1000, UTC))
    assert sorted(item.sequence for item in page) == [1, 2]


def test_what_has_expired_gets_no_sequence_and_says_so(inbox: Inbox, state_table: Table) -> None:
    writes, outgoing = take(inbox, an_entry(expires_at=NOW))
    assert (writes.items, state_table.content()) == ([], {})
    assert (outcome(outgoing).state, outcome(outgoing).reason) == ("expired", Reason.EXPIRED)


def test_what_expires_after_it_has_its_place_keeps_it_when_it_is_met_again(inbox: Inbox, clock: Clock) -> None:
    first, _ = take(inbox, delivery := an_entry(expires_at=NOW + 10))
    clock.now = NOW + 10
    again, outgoing = take(inbox, delivery)
    assert (again.items, outgoing.topics()) == (first.items, ["timers"])


def test_what_cannot_be_rendered_has_failed_and_is_a_dead_letter(inbox: Inbox, state_table: Table) -> None:
    """TPL-03"""
    writes, outgoing = take(inbox, an_entry(type="broken"))
    assert (writes.items, state_table.content()) == ([], {})
    assert (outcome(outgoing).state, outcome(outgoing).reason) == ("failed", Reason.TEMPLATE_FAILED)
    assert outgoing.topics() == ["outcomes", "dead-letters"]


def test_whatever_goes_wrong_at_rendering_is_that_deliverys_alone(inbox: Inbox) -> None:
    inbox.renderer = Renderer(["broken"], error=RuntimeError("a bug"))
    writes, outgoing = take(inbox, an_entry(type="broken"))
    assert (outcome(outgoing).state, [o.state for o in writes.ended]) == ("failed", ["failed"])
    assert outgoing.topics() == ["outcomes", "dead-letters"]


def test_a_type_that_left_the_catalogue_still_has_its_place(inbox: Inbox) -> None:
    [item] = take(inbox, an_entry(type="gone"))[0].items
    assert item.category == ""


def test_without_content_the_payload_is_empty(inbox: Inbox) -> None:
    [item] = take(inbox, an_entry(content=None))[0].items
    assert item.payload == b"{}"


@pytest.mark.parametrize(
    ("value", "key", "error"),
    [
        (None, b"ann", NoUser),
        (b"{", b"ann", ValueError),
        (encode(an_entry()), None, NoUser),
        (encode(an_entry()), b"\xff", NoUser),
        (encode(an_entry(notification_id="no uuid", delivery_id="d")), b"ann", ValueError),
        (encode(an_entry(notification_id="0c8f4a5e-2b1d-5a3c-9f00", delivery_id="d")), b"ann", ValueError),
    ],
)
def test_a_record_that_is_no_delivery_leaves_no_state(
    inbox: Inbox, state_table: Table, value: bytes | None, key: bytes | None, error: type[Exception]
) -> None:
    writes, outgoing = Writes(), Recording()
    with pytest.raises(error):
        inbox.take(arrived(value, key), writes, outgoing)
    assert (writes.items, outgoing.records, state_table.content()) == ([], [], {})
