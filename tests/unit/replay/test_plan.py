"""What a replay reads, and why not, in words that name it."""

import pytest

from notify_streams.replay import plan
from notify_streams.replay.plan import PlanError, Selection
from notify_streams.settings import Kafka
from notify_streams.streaming import topics
from tests.builders import NOW, a_notification

LOG = {0: (120, 480), 1: (0, 0), 2: (5, 6)}
KNOWN = [topic.name for topic in topics.all_topics(Kafka())]


def a_selection(**fields: object) -> Selection:
    return Selection(**{"topic": "events.normal", **fields})  # type: ignore[arg-type]


def test_a_topic_is_named_with_or_without_its_prefix() -> None:
    assert plan.replayable("events.high", "notify.", KNOWN) == "events.high"
    assert plan.replayable("notify.deliveries.push.low", "notify.", KNOWN) == "deliveries.push.low"
    assert Selection(topic="deliveries.push.low").kind == "deliveries"


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("dead-letters", "cannot be replayed: `notify dead-letters redrive`"),
        ("notify.timers", "timers cannot be replayed: what waits there"),
        ("profiles", "profiles cannot be replayed: its records lead to no delivery"),
        ("event.normal", "there is no topic event.normal; did you mean events.normal?"),
        ("x", "there is no topic x. Replayable are events.LANE"),
    ],
)
def test_a_topic_that_cannot_be_replayed_says_why(name: str, words: str) -> None:
    with pytest.raises(PlanError) as caught:
        plan.replayable(name, "notify.", KNOWN)
    assert words in str(caught.value)


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("3:100-200", (3, (100, 200))),
        ("3:100-", (3, (100, None))),
        ("3:-200", (3, (None, 200))),
        ("3", (3, (None, None))),
    ],
)
def test_offsets_are_written_in_four_ways(text: str, meant: object) -> None:
    assert plan.offsets_of(text) == meant


@pytest.mark.parametrize("text", ["", "a", "3:100", "3:a-b", ":1-2", "3:1-2-3", "-1:0-5"])
def test_what_is_no_range_of_offsets_is_named(text: str) -> None:
    with pytest.raises(PlanError, match="expected PARTITION:FROM-TO"):
        plan.offsets_of(text)


def test_without_offsets_all_partitions_that_hold_anything_are_read() -> None:
    assert plan.spans(a_selection(), LOG) == {0: (120, 480), 2: (5, 6)}


def test_with_offsets_only_their_partitions_are_read() -> None:
    asked = a_selection(offsets={0: (200, 300), 2: (None, None)})
    assert plan.spans(asked, LOG) == {0: (200, 300), 2: (5, 6)}


@pytest.mark.parametrize(
    ("offsets", "words"),
    [
        ({0: (100, 200)}, "partition 0: offsets 100 to 199 are outside of its log, which holds 120 to 479"),
        ({0: (200, 481)}, "partition 0: offsets 200 to 480 are outside of its log, which holds 120 to 479"),
        ({1: (0, 1)}, "partition 1: offsets 0 to 0 are outside of its log, which holds nothing"),
        ({7: (0, 1)}, "events.normal has no partition 7: it has 0, 1, 2"),
        ({0: (300, 200)}, "partition 0: there is nothing from offset 300 to before 200"),
    ],
)
def test_offsets_outside_of_the_log_name_partition_and_what_it_holds(
    offsets: dict[int, tuple[int, int]], words: str
) -> None:
    with pytest.raises(PlanError) as caught:
        plan.spans(a_selection(offsets=offsets), LOG)
    assert words in str(caught.value)


def test_a_span_of_time_is_read_where_there_is_any_of_it() -> None:
    timed = {0: (300, 400)}
    assert plan.spans(a_selection(since=NOW), LOG, timed) == {0: (300, 400)}
    assert plan.spans(a_selection(since=NOW, offsets={0: (350, 480)}), LOG, timed) == {0: (350, 400)}


def test_a_span_of_time_without_records_says_of_when_there_are_some() -> None:
    asked = a_selection(since=NOW, until=NOW + 60_000)
    with pytest.raises(PlanError) as caught:
        plan.spans(asked, LOG, {0: (480, 480)}, (NOW - 3_600_000, NOW - 1000))
    assert str(caught.value) == (
        "events.normal holds no records from 2026-09-21T14:13:20Z before 2026-09-21T14:14:20Z: "
        "it holds 2026-09-21T13:13:20Z to 2026-09-21T14:13:19Z"
    )


def test_an_empty_topic_is_said_to_be_empty() -> None:
    with pytest.raises(PlanError, match=r"events\.normal holds no records"):
        plan.spans(a_selection(), {0: (7, 7)})


@pytest.mark.parametrize(
    ("asked", "takes"),
    [
        ({}, True),
        ({"users": frozenset({"ann"})}, True),
        ({"users": frozenset({"bob"})}, False),
        ({"types": frozenset({"order.confirmed", "x"})}, True),
        ({"types": frozenset({"x"}), "users": frozenset({"ann"})}, False),
        ({"events": frozenset({"order-123-confirmed"})}, True),
        ({"events": frozenset({"/shop/orders order-123-confirmed"})}, True),
        ({"events": frozenset({"/other order-123-confirmed"})}, False),
    ],
)
def test_notifications_are_chosen_by_user_type_and_event(asked: dict[str, object], takes: bool) -> None:
    assert a_selection(**asked).takes(a_notification()) is takes
