"""Decisions, outcomes and receipts in, webhooks to producers out; whatever comes first."""

from collections.abc import Sequence
from itertools import permutations
from typing import Any, cast

import pytest

from agents.hooks import Hooks
from notify_streams.domain.hooks import Hook
from notify_streams.ports import Unavailable
from notify_streams.stores.hooked import Hooked
from notify_streams.stores.redis import Expendable
from notify_streams.streaming.deadletters import DeadLetters
from schemas.codec import encode
from schemas.deliveries import decode_delivery
from schemas.outcomes import InboxOutcomesV1, InboxWrite
from tests.builders import A_NOTIFICATION, NOW
from tests.fakes import Clock, Recording, an_app, arrived
from tests.producers import SHOP, a_receipt, an_outcome_of

OUTCOME = encode(an_outcome_of(delivery_id=a_receipt().delivery_id, channel="sms"))
RECEIPT = encode(a_receipt())


class Away:
    """No Redis at all."""

    async def call(self, work: Any) -> Any:
        raise Unavailable("redis is away")


def the_hooks(hooked: Hooked | None = None) -> Hooks:
    alone = hooked or Hooked(cast(Expendable, Away()))
    return Hooks(an_app(), alone, lambda: (SHOP,), DeadLetters("hooks", 20), clock=Clock())


async def made(role: Hooks, *records: tuple[str, bytes | None], hooks: Sequence[Hook] = (SHOP,)) -> list[str]:
    """The types of what was queued, each on its record's partition under its key."""
    outgoing = Recording()
    events = [arrived(value, topic=f"notify.{name}", partition=2) for name, value in records]
    told, faults = await role.take(events, hooks)
    assert not faults
    role.publish(told, hooks, outgoing)
    assert {(r.topic, r.partition, r.key) for r in outgoing.records} <= {("deliveries.webhook.low", 2, b"ann")}
    return [decode_delivery(r.value or b"").type for r in outgoing.records]


async def test_a_receipt_is_told_to_whom_its_outcome_was() -> None:
    role = the_hooks()
    assert await made(role, ("outcomes", OUTCOME)) == ["notification.sent"]
    assert await made(role, ("receipts", RECEIPT)) == ["notification.delivered"]


@pytest.mark.parametrize("order", [*permutations([("outcomes", OUTCOME), ("receipts", RECEIPT)])])
async def test_whichever_comes_first_both_are_told(order: Sequence[tuple[str, bytes]]) -> None:
    role = the_hooks()
    assert sorted([t for record in order for t in await made(role, record)]) == [
        "notification.delivered",
        "notification.sent",
    ]
    assert set(await made(the_hooks(), *order)) == {"notification.delivered", "notification.sent"}


async def test_what_comes_again_is_the_same_webhook() -> None:
    role, outgoing = the_hooks(), Recording()
    for _ in range(2):
        told, _ = await role.take([arrived(OUTCOME, topic="notify.outcomes")], (SHOP,))
        role.publish(told, (SHOP,), outgoing)
    [one, other] = outgoing.of("deliveries.webhook.low")
    assert one == other


async def test_a_receipt_of_another_producers_delivery_is_told_to_nobody() -> None:
    role = the_hooks()
    other = encode(an_outcome_of("/bank/accounts", delivery_id=a_receipt().delivery_id))
    assert await made(role, ("outcomes", other), ("receipts", RECEIPT)) == []


async def test_what_is_in_the_inbox_is_told_under_its_users_key() -> None:
    written = tuple(InboxWrite(A_NOTIFICATION, A_NOTIFICATION, n, "ann", s) for n, s in enumerate(("/shop/x", "/bank")))
    outgoing, role = Recording(), the_hooks()
    batch = arrived(encode(InboxOutcomesV1(at=NOW, written=written)), None, topic="notify.outcomes", partition=3)
    told, _ = await role.take([batch], (SHOP,))
    role.publish(told, (SHOP,), outgoing)
    [record] = outgoing.records
    assert (record.partition, record.key) == (3, b"ann")
    assert decode_delivery(record.value or b"").type == "notification.sent"


async def test_records_that_say_nothing_of_a_state_are_passed_over() -> None:
    inbox = encode(InboxOutcomesV1(at=NOW, written=(InboxWrite(A_NOTIFICATION, A_NOTIFICATION, 1),)))
    assert await made(the_hooks(), ("outcomes", inbox), ("receipts", encode(a_receipt("queued")))) == []


DEEP = OUTCOME[:-1] + b',"more":' + b"[" * 100_000 + b"]" * 100_000 + b"}"


@pytest.mark.parametrize("value", [b"", b"{", None, b'{"schema":"other.v1"}', pytest.param(DEEP, id="deep")])
async def test_what_cannot_be_read_is_a_fault_of_its_record_alone(value: bytes | None) -> None:
    records = [arrived(v, topic="notify.outcomes") for v in (value, OUTCOME)]
    told, faults = await the_hooks().take(records, (SHOP,))
    assert [event for event, _ in faults] == records[:1]
    assert [change.state for _, change in told] == ["sent"]
