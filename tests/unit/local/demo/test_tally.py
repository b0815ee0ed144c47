"""The account of a run adds up exactly when every source agrees, and otherwise names the line that does not."""

from collections import Counter
from collections.abc import Mapping
from typing import Any

import msgspec

from notify_streams.domain.ids import delivery_id
from notify_streams.local.demo.tally import Sheet, sheet
from schemas.decisions import Deliver
from schemas.words import Reason
from tests.demo_runs import FAILED, LETTERS, SENT, a_status, all_measured, an_entry, some_inputs, statuses
from tests.facts import NOON, a_decision, an_inbox_fact, an_outcome


def account(inputs: Mapping[str, Any] = {}, **measured: Any) -> Sheet:
    return sheet(some_inputs(**inputs), all_measured(**measured))


def names(sheet_: Sheet) -> set[str]:
    return {difference.split(":")[0].split(" ")[0] for difference in sheet_.differences}


def test_it_adds_up_when_all_sources_agree() -> None:
    assert account().differences == []


def test_the_terms_of_the_events_add_up_to_what_was_published() -> None:
    published, *terms = account().events
    assert published.found == sum(term.found for term in terms) == 10


def test_every_channel_is_the_sum_of_its_terms() -> None:
    inapp, email = account().channels
    assert (inapp.accepted, dict(inapp.terms)) == (4, {"sent": 2, "pending": 1, "expired": 1})
    assert (email.accepted, dict(email.terms)) == (4, {"sent": 1, "suppressed": 1, "failed": 1, "expired": 1})


def test_an_event_that_the_broker_did_not_acknowledge_is_missed() -> None:
    assert names(account(acknowledged=5)) == {"published", "events"}


def test_a_rejected_event_without_a_dead_letter_is_missed() -> None:
    assert names(account(letters=LETTERS[1:])) == {"rejected", "published"}


def test_a_duplicate_that_was_taken_for_an_event_is_noticed() -> None:
    assert names(account(dropped=1)) == {"duplicates", "published"}


def test_a_notification_that_was_never_decided_is_missed() -> None:
    found = account(statuses=statuses()[:-1])
    assert {"inapp", "email", "notifications"} <= names(found)


def test_a_notification_that_is_still_queued_has_no_place_in_the_sum() -> None:
    queued = [a_status(SENT, a_decision(notification_id=SENT)), *statuses()[1:]]
    differences = account(statuses=queued, mails=[], rows=Counter([FAILED]), sequences=1).differences
    assert [d for d in differences if "queued" in d] == [
        "inapp: 4 accepted, but 1 expired, 1 pending, 1 queued, 1 sent",
        "email: 4 accepted, but 1 expired, 1 failed, 1 queued, 1 suppressed",
    ]


def test_a_mail_that_the_simulator_never_took_is_missed() -> None:
    assert names(account(mails=[])) == {"mails"}


def test_a_mail_that_was_taken_twice_is_noticed() -> None:
    assert names(account(mails=[delivery_id(SENT, "email", "home")] * 2)) == {"mails"}


def test_a_mail_may_come_twice_when_nobody_knew_how_the_first_call_ended() -> None:
    unknown = an_outcome("unknown", notification_id=SENT, attempt=1, at=NOON + 500, next_at=NOON + 900)
    sent = an_outcome(notification_id=SENT, attempt=2)
    status = a_status(SENT, a_decision(notification_id=SENT), unknown, sent, an_inbox_fact(SENT, sequence=1))
    mails = [delivery_id(SENT, "email", "home")] * 2
    entries = [an_entry(SENT), an_entry(SENT), an_entry(FAILED, event="refused")]
    assert account(statuses=[status, *statuses()[1:]], mails=mails, entries=entries).differences == []


def test_what_a_producer_was_not_told_is_missed() -> None:
    assert names(account(to_tell=frozenset({"a", "b"}), told=frozenset({"a"}))) == {"webhooks"}


def test_a_text_that_was_refused_for_good_needs_a_stand_in() -> None:
    refused = an_outcome("failed", notification_id=SENT, channel="sms", reason=Reason.ENDPOINT_GONE, provider="twilio")
    alone = a_status(SENT, a_decision(Deliver(channel="sms", endpoint_ids=("home",)), notification_id=SENT), refused)
    assert "texts" in names(account(statuses=[alone, *statuses()[1:]]))


def test_a_provider_that_met_less_than_the_facts_tell_is_named() -> None:
    assert names(account(entries=[an_entry(SENT)])) == {"smtp"}


def test_an_inbox_row_too_many_is_noticed() -> None:
    assert names(account(rows=Counter([SENT, SENT, FAILED]))) == {"inbox"}


def test_rows_of_an_earlier_run_are_left_out_of_the_sequences() -> None:
    assert account(sequences=5, others_rows=3).differences == []


def test_what_is_pending_needs_its_timer() -> None:
    assert names(account(timers=[])) == {"pending"}


def test_the_timer_of_what_was_settled_meanwhile_may_still_run() -> None:
    unknown = an_outcome("unknown", notification_id=SENT, attempt=1, at=NOON + 500, next_at=NOON + 900)
    sent = an_outcome(notification_id=SENT, attempt=2)
    status = a_status(SENT, a_decision(notification_id=SENT), unknown, sent, an_inbox_fact(SENT, sequence=1))
    timers = all_measured().timers
    left = msgspec.structs.replace(timers[0], notification_id=SENT, channels=("email",))
    settled = account(statuses=[status, *statuses()[1:]], timers=[*timers, left])
    assert "pending" not in names(settled)
    assert names(account(timers=[*timers, left])) == {"pending"}


def test_a_timer_of_something_else_does_not_count() -> None:
    other = msgspec.structs.replace(all_measured().timers[0], notification_id=SENT)
    assert names(account(timers=[other])) == {"pending"}


def test_the_last_failure_needs_its_dead_letter() -> None:
    assert names(account(letters=LETTERS[:1])) == {"failed"}
