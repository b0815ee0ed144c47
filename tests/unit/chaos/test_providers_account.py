"""What `chaos providers` takes for a repeat with a cause, and what for a fault."""

from datetime import UTC, datetime
from uuid import UUID

import pytest

from notify_streams.domain.attempts import Attempt, DeliveryStatus, Flag
from notify_streams.local.demo.messages import Entry
from schemas.outcomes import OutcomeState
from schemas.words import Channel, Reason, State
from tests.chaos.providers_account import Books, Cause, Left, books
from tests.chaos.providers_people import Wanted

ID = str(UUID(int=7))
PROVIDER: dict[Channel, str] = {"email": "smtp", "push": "fcm", "sms": "twilio", "webhook": "webhook"}


def an_entry(event: str = "accepted", *, channel: Channel = "webhook", answer: str = "", identity: str = ID) -> Entry:
    at = datetime(2026, 12, 1, tzinfo=UTC)
    return Entry(
        n=1, at=at, event=event, to="x", provider=PROVIDER[channel], answer=answer, delivery_id=ID, identity=identity
    )


def an_attempt(state: OutcomeState = "sent", reason: Reason | None = None, detail: str = "") -> Attempt:
    return Attempt(attempt=1, at=1, state=state, provider="p", reason=reason, detail=detail)


def account(
    *entries: Entry,
    channel: Channel = "webhook",
    state: State = State.SENT,
    reason: Reason | None = None,
    attempts: tuple[Attempt, ...] = (),
    flags: tuple[Flag, ...] = (),
    left: tuple[Left, ...] = (),
) -> Books:
    status = DeliveryStatus(
        delivery_id=ID,
        channel=channel,
        endpoint_id="e-1",
        state=state,
        reason=reason,
        attempts=attempts or (an_attempt(),),
        flags=flags,
    )
    return books([Wanted(ID, "n", channel)], {ID: status}, entries, left)


def test_a_delivery_that_was_taken_once_is_no_fault() -> None:
    found = account(an_entry("refused"), an_entry())
    assert found.faults == []
    assert (found.rows["webhook"].calls, found.rows["webhook"].refused, found.rows["webhook"].twice) == (2, 1, 0)


@pytest.mark.parametrize(
    ("channel", "answer", "cause", "seen"),
    [
        ("webhook", "drop", Cause.DROPPED, 0),
        ("push", "reset", Cause.RESET, 0),
        ("sms", "hang", Cause.HUNG, 1),
        ("email", "", Cause.LOST, 1),
    ],
)
def test_a_call_without_answer_is_the_cause_of_the_next(channel: Channel, answer: str, cause: Cause, seen: int) -> None:
    found = account(an_entry("dropped", channel=channel, answer=answer), an_entry(channel=channel), channel=channel)
    row = found.rows[channel]
    assert (found.faults, row.twice, row.seen_twice, row.causes) == ([], 1, seen, {cause: 1})


def test_a_kill_while_calling_explains_one_repeat() -> None:
    left = Left("sender-webhook", frozenset({(ID, "one 1")}))
    assert account(an_entry(), an_entry(), left=(left,)).rows["webhook"].causes == {Cause.KILLED: 1}


def test_a_call_that_is_still_open_at_the_next_kill_counts_once() -> None:
    left = Left("sender-webhook", frozenset({(ID, "one 1")}))
    assert len(account(an_entry(), an_entry(), an_entry(), left=(left, left)).faults) == 1


def test_a_kill_of_another_channels_sender_explains_nothing() -> None:
    left = Left("sender-email", frozenset({(ID, "one 1")}))
    assert len(account(an_entry(), an_entry(), left=(left,)).faults) == 1


def test_an_answer_that_was_too_late_by_the_facts_explains_one_repeat() -> None:
    attempts = (an_attempt("retrying", Reason.UNKNOWN_OUTCOME), an_attempt())
    assert account(an_entry(), an_entry(), attempts=attempts).rows["webhook"].causes == {Cause.LATE: 1}


def test_so_does_one_that_a_provider_of_repeatable_calls_did_not_answer() -> None:
    late = "no answer after the request was handed over: TimeoutError"
    attempts = (an_attempt("retrying", Reason.PROVIDER_UNAVAILABLE, late), an_attempt())
    assert account(an_entry(), an_entry(), attempts=attempts).rows["webhook"].causes == {Cause.LATE: 1}


def test_a_repeat_for_no_cause_is_a_fault() -> None:
    assert account(an_entry(), an_entry()).faults == [f"webhook {ID}: at webhook 1 times more for no known cause"]


def test_a_repeat_under_another_identity_is_a_fault() -> None:
    found = account(an_entry("dropped", answer="drop"), an_entry(identity="other"))
    assert found.faults == [f"webhook {ID}: repeated at webhook under another identity"]


def test_sent_and_not_in_the_log_is_a_fault() -> None:
    assert account(an_entry("refused")).faults == [f"webhook {ID}: sent, and not in the log"]
    assert account(an_entry("dropped")).faults == [f"webhook {ID}: sent, and not in the log"]


def test_an_answer_cut_off_is_enough_where_a_receipt_has_settled_it() -> None:
    settled = (an_attempt("unknown"), an_attempt("sent", Reason.SETTLED))
    assert account(an_entry("dropped", channel="sms"), channel="sms", attempts=settled).faults == []


def test_what_is_not_final_is_a_fault() -> None:
    assert account(state=State.PENDING).faults == [f"webhook {ID}: still pending"]


def test_failed_needs_a_reason_and_no_message_at_the_provider() -> None:
    exhausted = Reason.ATTEMPTS_EXHAUSTED
    assert account(an_entry("refused"), state=State.FAILED, reason=exhausted).faults == []
    assert account(state=State.FAILED).faults == [f"webhook {ID}: failed without a reason"]
    taken = account(an_entry(), state=State.FAILED, reason=exhausted)
    assert taken.faults == [f"webhook {ID}: failed (attempts_exhausted), and its provider has it"]
    told = account(an_entry(), state=State.FAILED, reason=exhausted, flags=(Flag.PERHAPS_SENT,))
    assert told.faults == []


def test_what_nobody_wanted_and_what_nobody_recorded_are_faults() -> None:
    assert books([], {}, [an_entry()], ()).faults == [f"webhook met {ID}, which is nothing wanted: "]
    assert books([Wanted(ID, "n", "sms")], {}, [], ()).faults == [f"sms {ID}: nothing is recorded"]
