"""What producers are told of their notifications."""

import json
from typing import Any

import msgspec
import pytest

from notify_streams.domain import hooks
from notify_streams.domain.hooks import KEPT_MS, Hook, deliveries, of_decision, of_outcome, of_receipt
from schemas.codec import encode
from schemas.decisions import DecisionV1, Deliver, StateSlice, Suppress
from schemas.deliveries import DeliveryV1, decode_delivery
from schemas.receipts import ReceiptState
from schemas.words import Reason
from tests.builders import MAILBOX, NOW, a_delivery, a_notification, a_slice, an_outcome
from tests.producers import BANK, EVERYBODY, SHOP, a_receipt, an_outcome_of


def a_decision(*verdicts: Any) -> DecisionV1:
    return DecisionV1(
        notification=a_notification(),
        profile=a_slice(),
        state=StateSlice(),
        now=NOW + 20,
        catalogue="c0ffee",
        tzdata="2026a",
        verdicts=verdicts,
    )


def told(delivery: DeliveryV1) -> dict[str, str]:
    assert delivery.content is not None
    plain: dict[str, str] = json.loads(bytes(delivery.content.payload))
    return plain


def test_a_final_state_is_told_to_each_key_whose_sources_it_is_of() -> None:
    made = deliveries(of_outcome(an_outcome_of()), (SHOP, BANK, EVERYBODY), NOW)
    assert [d.hook for d in made] == ["shop", "all"]
    [shop, _] = made
    assert shop.content is not None
    assert (shop.channel, shop.lane, shop.type) == ("webhook", "low", "notification.sent")
    assert (shop.content.address, shop.user_id, shop.endpoint_id) == (SHOP.url, "ann", "hook/shop")
    assert (shop.accepted_at, shop.expires_at) == (NOW + 500, NOW + 500 + KEPT_MS)
    assert told(shop) == {
        "notification_id": a_delivery().notification_id,
        "delivery_id": a_delivery().delivery_id,
        "user_id": "ann",
        "channel": "email",
        "type": "order.confirmed",
        "source": "/shop/orders",
        "state": "sent",
    }
    assert decode_delivery(encode(shop)) == shop


def test_a_source_that_nobody_knows_is_told_to_nobody() -> None:
    assert deliveries(of_outcome(an_outcome_of("")), (SHOP, EVERYBODY), NOW) == []


@pytest.mark.parametrize("state", ["sent", "failed", "suppressed", "expired", "cancelled"])
def test_every_final_state_has_an_event_with_its_reason(state: str) -> None:
    [made] = deliveries(of_outcome(an_outcome_of(state=state, reason=Reason.ENDPOINT_GONE)), (SHOP,), NOW)
    assert (made.type, told(made)["reason"]) == (f"notification.{state}", "endpoint_gone")


@pytest.mark.parametrize("state", ["retrying", "unknown"])
def test_what_is_not_over_is_not_told(state: str) -> None:
    assert list(of_outcome(an_outcome_of(state=state))) == []


def test_a_webhook_about_a_webhook_is_never_made() -> None:
    [made] = deliveries(of_outcome(an_outcome_of()), (SHOP,), NOW)
    assert list(of_outcome(an_outcome(made, source="/shop/orders", state="failed"))) == []


def test_no_address_and_no_words_of_a_provider_are_told() -> None:
    [made] = deliveries(of_outcome(an_outcome_of(detail=f"550 {MAILBOX} unknown", state="failed")), (SHOP,), NOW)
    assert MAILBOX.encode() not in encode(made)


def test_the_same_change_makes_the_same_webhook_and_another_one_another() -> None:
    def id_of(hook: Hook = SHOP, **changes: Any) -> str:
        [made] = deliveries(of_outcome(an_outcome_of(**changes)), (hook,), NOW)
        return made.delivery_id

    assert id_of() == id_of(at=NOW + 999)
    assert len({id_of(), id_of(state="failed"), id_of(EVERYBODY), a_delivery().delivery_id}) == 4


def test_what_is_long_past_is_told_to_nobody() -> None:
    changes = list(of_outcome(an_outcome_of()))
    assert deliveries(changes, (SHOP,), NOW + 500 + KEPT_MS - 1)
    assert deliveries(changes, (SHOP,), NOW + 500 + KEPT_MS) == []


@pytest.mark.parametrize(
    ("state", "event", "reason"),
    [
        ("delivered", "notification.delivered", None),
        ("bounced", "notification.failed", "bounced"),
        ("failed", "notification.failed", "undelivered"),
    ],
)
def test_a_providers_later_word_is_told_once_however_often_it_comes(
    state: ReceiptState, event: str, reason: str | None
) -> None:
    """SMS-07: one user-visible event."""
    receipts = [a_receipt(state), msgspec.structs.replace(a_receipt(state), receipt_id="SM2", at=NOW + 9999)]
    made = [d for r in receipts for d in deliveries(of_receipt(r, "/shop/orders"), (SHOP,), NOW)]
    assert {d.type for d in made} == {event}
    assert len({d.delivery_id for d in made}) == 1
    assert told(made[0]).get("reason") == reason
    assert made[0].accepted_at == NOW + 9000


@pytest.mark.parametrize("state", ["queued", "sent", "delayed", "read", "complained"])
def test_a_word_that_changes_no_state_is_not_told(state: ReceiptState) -> None:
    assert list(of_receipt(a_receipt(state), "/shop/orders")) == []


def test_a_channel_that_ends_without_a_delivery_is_told_by_its_decision() -> None:
    decision = a_decision(
        Deliver(channel="email", endpoint_ids=("home",)),
        Suppress(channel="push", reason=Reason.OPTED_OUT_OF_CHANNEL),
        Suppress(channel="sms", reason=Reason.EXPIRED),
        Suppress(channel="webhook", reason=Reason.CANCELLED),
        Suppress(channel="inapp", reason=Reason.CHANNEL_NOT_OFFERED),
    )
    made = deliveries(of_decision(decision), (SHOP,), NOW)
    assert [(d.type, told(d)["channel"], told(d)["reason"]) for d in made] == [
        ("notification.suppressed", "push", "opted_out_of_channel"),
        ("notification.expired", "sms", "expired"),
        ("notification.cancelled", "webhook", "cancelled"),
    ]
    assert "delivery_id" not in told(made[0])


def test_a_digest_is_told_of_none_of_its_members() -> None:
    assert list(of_outcome(an_outcome_of(members=(a_delivery().notification_id,)))) == []


def test_a_channel_that_stands_by_for_another_has_not_ended() -> None:
    standing_by = Suppress(channel="sms", reason=Reason.FALLBACK)
    assert list(of_decision(a_decision(standing_by))) == []
    assert hooks.wanted("/shop/orders", (BANK,)) == []
