"""Where a fact is filed: a repeat in the same place, two facts never."""

from notify_streams.records.rows import place_of
from schemas.decisions import DecisionV1
from tests.facts import NOON, a_decision, a_receipt, an_outcome


def key(decision: DecisionV1) -> str:
    return place_of(decision).key


def test_a_repeated_decision_has_the_same_place() -> None:
    assert place_of(a_decision(revision=1)) == place_of(a_decision(revision=1))


def test_what_comes_back_in_parts_and_is_decided_in_one_millisecond_has_places_of_its_own() -> None:
    """Two timers moved to one instant, two endpoints sent back at once: all are of revision 1."""
    parts = [
        a_decision(revision=1, channels=("email",)),
        a_decision(revision=1, channels=("push",)),
        a_decision(revision=1, channels=("email",), endpoint_id="home"),
        a_decision(revision=1, channels=("email",), endpoint_id="work"),
    ]
    assert len({key(part) for part in parts}) == 4


def test_decisions_are_filed_in_the_order_of_their_revisions_and_instants() -> None:
    in_order = [a_decision(), a_decision(revision=2, now=NOON + 5), a_decision(revision=10, now=NOON)]
    assert sorted(map(key, reversed(in_order))) == list(map(key, in_order))


def test_a_digests_outcome_is_filed_under_the_digest_and_its_members() -> None:
    assert place_of(an_outcome(members=("m1", "m2"))).notification_ids == (an_outcome().notification_id, "m1", "m2")


def test_a_receipt_is_filed_under_its_own_id() -> None:
    """WHK-02: one row for every copy; where only its arrival is known, one for each arrival."""
    assert place_of(a_receipt(receipt_id="r")).key == "r"
    assert place_of(a_receipt(receipt_id="r", at=NOON, received_at=NOON)).key == f"r/{NOON}"
