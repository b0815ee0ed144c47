"""A provider's account agrees exactly when our facts and its log tell the same calls, messages and receipts."""

from typing import Any

from notify_streams.domain.ids import delivery_id
from notify_streams.local.demo.carriers import Carrier, carriers
from notify_streams.local.demo.messages import Entry
from schemas.receipts import ReceiptV1
from schemas.words import Reason
from tests.demo_runs import SENT, a_status, an_entry
from tests.facts import NOON, a_decision, an_outcome

DELIVERY = delivery_id(SENT, "email", "home")


def a_receipt(state: Any = "delivered", *, id_: str = "r-1") -> ReceiptV1:
    return ReceiptV1(
        receipt_id=id_,
        delivery_id=DELIVERY,
        notification_id=SENT,
        user_id="user-42",
        channel="email",
        provider="smtp",
        state=state,
        at=NOON + 2000,
        received_at=NOON + 2000,
    )


def account(*facts: Any, entries: list[Entry], posted: int = 0) -> Carrier:
    status = a_status(SENT, a_decision(notification_id=SENT), *facts)
    [one] = carriers([status], entries, {"smtp": posted})
    return one


def sent(attempt: int = 1, **fields: Any) -> Any:
    return an_outcome(notification_id=SENT, attempt=attempt, at=NOON + 1000 * attempt, **fields)


def test_each_call_has_its_answer_in_the_log() -> None:
    put_off = an_outcome("retrying", notification_id=SENT, attempt=1, at=NOON + 500, next_at=NOON + 900)
    one = account(put_off, sent(2), entries=[an_entry(SENT, event="refused"), an_entry(SENT)])
    assert (one.calls.total(), one.met.total(), one.differences) == (2, 2, [])
    assert dict(one.ends) == {"sent": 1}


def test_a_call_that_the_provider_never_met_is_noticed() -> None:
    assert account(sent(), entries=[]).differences == [
        "1 calls by the facts, 0 in its log",
        "1 sent by the facts, 0 taken by its log",
        "1 sent that are not in its log",
    ]


def test_a_message_of_another_delivery_is_no_stand_in() -> None:
    other = an_entry("00000000-0000-5000-8000-000000000009")
    assert account(sent(), entries=[other]).differences == ["1 sent that are not in its log"]


def test_of_an_unknown_call_only_the_provider_knows() -> None:
    unknown = an_outcome("unknown", notification_id=SENT, attempt=1, at=NOON + 500, next_at=NOON + 900)
    for event in ("accepted", "dropped"):
        assert account(unknown, sent(2), entries=[an_entry(SENT, event=event), an_entry(SENT)]).differences == []


def test_that_something_waits_or_was_settled_by_a_receipt_is_no_call() -> None:
    held = an_outcome("retrying", notification_id=SENT, attempt=1, reason=Reason.HELD, at=NOON, next_at=NOON + 900)
    assert account(held, sent(), entries=[an_entry(SENT)]).differences == []


def test_every_receipt_that_was_posted_is_recorded() -> None:
    one = account(sent(), a_receipt(), entries=[an_entry(SENT)], posted=1)
    assert (one.heard, one.differences, dict(one.ends)) == (1, [], {"delivered": 1})
    lost = account(sent(), a_receipt(), entries=[an_entry(SENT)], posted=2)
    assert lost.differences == ["2 receipts posted, 1 among the facts"]


def test_a_text_is_known_by_its_reference() -> None:
    entry = Entry(n=1, at=an_entry(SENT).at, event="accepted", to="+44", provider="twilio", identity="AAAA" * 20)
    assert entry.delivery == "00000000-0000-0000-0000-000000000000"
    assert Entry(n=1, at=entry.at, event="accepted", to="+44", identity="<m@x>").delivery == ""
