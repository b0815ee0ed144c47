"""A decision made again from its record."""

import msgspec
from hypothesis import given, settings

from notify_streams.domain import fan_out
from notify_streams.domain.decide import RULES, decide
from notify_streams.records.verify import decisions_of, told, verify
from schemas.catalogue import Catalogue
from schemas.codec import encode
from schemas.decisions import DecisionV1, Defer, Deliver, StateSlice, decode_decision
from schemas.notifications import NotificationV1
from schemas.profiles import ProfileV1
from schemas.words import Reason
from tests.decisions import CATALOGUE, HERE, a_recorded_decision, moments, sliced
from tests.facts import a_decision, an_inbox_fact

KNOWN = {CATALOGUE.hash: encode(CATALOGUE)}


@settings(max_examples=300)
@given(moments())
def test_every_record_verifies(moment: tuple[NotificationV1, ProfileV1, StateSlice, Catalogue, int]) -> None:
    """Read back from its bytes, by the catalogue's bytes."""
    notification, profile, state, catalogue, now = moment
    seen = sliced(notification, profile, catalogue)
    verdicts = decide(notification, seen, state, catalogue, now)
    made = fan_out.record(notification, seen, state, verdicts, now=now, catalogue=catalogue.hash, tzdata=HERE)
    read = decode_decision(encode(made))
    assert isinstance(read, DecisionV1)
    check = verify(read, {catalogue.hash: encode(catalogue)}, tzdata=HERE)
    assert (check.result, check.otherwise) == ("verified", ())


def test_a_verified_decision_is_one_line() -> None:
    assert list(told(verify(a_recorded_decision(), KNOWN, tzdata=HERE))) == [
        "2026-09-21 14:13:20.000Z  decided (the inbox, mail): verified"
    ]


def test_a_difference_is_told_per_channel_and_only_of_those_that_differ() -> None:
    sent = Deliver(channel="email", endpoint_ids=("home",))
    check = verify(a_recorded_decision(verdicts=(a_recorded_decision().verdicts[0], sent)), KNOWN, tzdata=HERE)
    assert check.result == "differs"
    assert check.again == a_recorded_decision().verdicts
    assert list(told(check)) == [
        "2026-09-21 14:13:20.000Z  decided (the inbox, mail): differs",
        "  recorded: send it by mail to home",
        "  now:      mail waits until 2026-09-21 15:00:00.000Z (15:00 in Etc/UTC), "
        "because it is the user's quiet hours",
    ]


def test_a_verdict_that_is_missing_is_a_difference() -> None:
    check = verify(a_recorded_decision(verdicts=a_recorded_decision().verdicts[:1]), KNOWN, tzdata=HERE)
    assert check.result == "differs"
    assert "  recorded: nothing" in list(told(check))


def test_a_millisecond_is_a_difference() -> None:
    inbox, mail = a_recorded_decision().verdicts
    assert isinstance(mail, Defer)
    later = msgspec.structs.replace(mail, until=mail.until + 1)
    assert verify(a_recorded_decision(verdicts=(inbox, later)), KNOWN, tzdata=HERE).result == "differs"


def test_the_same_verdicts_in_another_order_are_other_bytes() -> None:
    check = verify(a_recorded_decision(verdicts=a_recorded_decision().verdicts[::-1]), KNOWN, tzdata=HERE)
    assert check.result == "differs"
    assert list(told(check))[1:] == ["  the same verdicts, written otherwise"]


def test_other_rules_and_other_time_zones_are_said_and_are_no_fault_by_themselves() -> None:
    check = verify(a_recorded_decision(rules=RULES - 1, tzdata="2020.1"), KNOWN, tzdata=HERE)
    assert check.result == "verified"
    assert list(told(check))[1:] == [
        f"  decided by version {RULES - 1} of the rules; these are version {RULES}",
        "  decided by the time zones of tzdata 2020.1; these are 2026.6",
    ]


def test_a_catalogue_that_is_not_recorded_is_named() -> None:
    check = verify(a_recorded_decision(), {}, tzdata=HERE)
    assert check.result == "cannot"
    assert list(told(check)) == [
        "2026-09-21 14:13:20.000Z  decided (the inbox, mail): cannot be decided again: the catalogue c0ffee, by which "
        "it was decided, is not in the records"
    ]


def test_a_catalogue_that_cannot_be_read_or_is_another_one_is_a_problem() -> None:
    broken = verify(a_recorded_decision(), {"c0ffee": b'{"hash":1}'}, tzdata=HERE)
    assert broken.problem.startswith("the catalogue c0ffee cannot be read: ")
    other = verify(
        a_recorded_decision(), {"c0ffee": encode(msgspec.structs.replace(CATALOGUE, hash="beef"))}, tzdata=HERE
    )
    assert other.problem == "what is recorded as catalogue c0ffee says that it is beef"


def test_a_type_that_is_unknown_here_is_a_problem_and_no_traceback() -> None:
    gone = msgspec.structs.replace(a_recorded_decision().notification, type="gone")
    assert verify(a_recorded_decision(notification=gone), KNOWN, tzdata=HERE).problem.startswith("'gone' is no type")


def test_decisions_are_verified_in_their_order_and_other_facts_are_none() -> None:
    second, first = a_decision(revision=1), a_decision()
    assert decisions_of([an_inbox_fact(), second, first]) == [first, second]


def test_a_reason_that_was_recorded_otherwise_is_a_difference() -> None:
    inbox, mail = a_recorded_decision().verdicts
    assert isinstance(mail, Defer)
    other = msgspec.structs.replace(mail, reason=Reason.SCHEDULED)
    assert verify(a_recorded_decision(verdicts=(inbox, other)), KNOWN, tzdata=HERE).result == "differs"
