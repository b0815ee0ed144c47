"""Senders with the real SMTP adapter: what a user's mails become, from the sender's decision to the wire."""

import email
import email.policy
from collections import Counter

import pytest

from agents.sending.sender import Sender
from notify_streams.domain.references import HEADER
from notify_streams.domain.references import read as read_reference
from notify_streams.domain.unsubscribe import read as read_unsubscribe
from schemas.addresses import AddressGoneV1, SuppressAddressV1
from schemas.content import Content
from schemas.deliveries import DeliveryV1, decode_delivery
from tests.builders import NOW, a_delivery, an_id
from tests.fakes import Clock
from tests.sending import SECRET, Results, a_sender, mail, states, work
from tests.smtp_servers import CLOSE, provider_at, raw_server

FULL_DAY = 86_400_000


async def until_over(sender: Sender, clock: Clock, delivery: DeliveryV1) -> list[Results]:
    """Each attempt at the time for which the one before it set its timer."""
    found = [await work(sender, delivery)]
    while found[-1].timers:
        ((_, timer),) = found[-1].timers
        clock.now = timer.due_at
        found.append(await work(sender, decode_delivery(bytes(timer.payload))))
    return found


@pytest.mark.parametrize(
    ("stage", "reply", "gone"), [("RCPT", b"550 5.1.1 no such user", True), ("end", b"554 5.7.1 spam", False)]
)
async def test_a_permanent_refusal_is_one_attempt_and_only_one_of_them_is_about_the_address(
    stage: str, reply: bytes, gone: bool
) -> None:
    """EML-01."""
    clock = Clock()
    async with raw_server({stage: reply}) as server, provider_at(server.port) as provider:
        (found,) = await until_over(a_sender(provider, clock=clock), clock, mail())
    assert states(found) == ["failed"]
    assert [type(word) for word in found.words] == ([AddressGoneV1] if gone else [])
    assert server.heard.count(b"RCPT TO:<ann@example.com>") == 1


async def test_greylisting_is_no_bounce() -> None:
    """EML-02: 451 4.7.1 twice, then 250."""
    clock, delivery = Clock(), mail()
    async with raw_server({"RCPT": b"451 4.7.1 greylisted"}) as server, provider_at(server.port) as provider:
        sender = a_sender(provider, clock=clock)
        found = [await work(sender, delivery)]
        for attempt in (2, 3):
            ((_, timer),) = found[-1].timers
            clock.now = timer.due_at
            if attempt == 3:
                server.answers = {}
            found.append(await work(sender, decode_delivery(bytes(timer.payload))))
    assert [states(results) for results in found] == [["retrying"], ["retrying"], ["sent"]]
    assert not any(results.words for results in found)
    assert len(server.mails) == 1


async def test_of_a_users_three_mailboxes_one_is_refused_and_nothing_else_is_touched() -> None:
    """EML-03: "partially sent" is the fold of the three."""
    notification = an_id()
    boxes = {"home": "ann@example.com", "old": "gone@example.com", "work": "ann@example.org"}
    deliveries = [
        a_delivery(notification, endpoint_id=name, content=Content(payload=mail().content.payload, address=address))  # type: ignore[union-attr]
        for name, address in boxes.items()
    ]
    refusals = {b"<gone@example.com>": b"550 5.1.1 no such user"}
    async with raw_server(recipients=refusals) as server, provider_at(server.port) as provider:
        found = await work(a_sender(provider), *deliveries)
    said = {outcome.endpoint_id: outcome.state for _, outcome in found.outcomes}
    assert said == {"home": "sent", "old": "failed", "work": "sent"}
    assert len(server.mails) == 2
    assert [type(word) for word in found.words] == [AddressGoneV1]
    assert found.timers == []


async def test_full_mailboxes_rest_blocked_ones_do_not_and_one_address_is_gone() -> None:
    """EML-07: 1,000 full, 1,000 that block us, one that does not exist."""
    said = {b"<full": b"552 5.2.2 over quota", b"<block": b"554 5.7.1 blocked", b"<gone": b"550 5.1.1 unknown"}
    users = [f"{name}-{n}" for name in ("full", "block") for n in range(1000)]
    clock = Clock()
    async with raw_server(recipients=said) as server, provider_at(server.port, concurrency=32) as provider:
        sender = a_sender(provider, clock=clock, concurrency=32)
        found = await work(sender, *(mail(user) for user in [*users, "gone-1"]))
    assert Counter(states(found)) == {"failed": 2001}
    words = [w.reason if isinstance(w, SuppressAddressV1) else "gone" for w in found.words]
    assert Counter(words) == {"mailbox_full": 1000, "gone": 1}
    assert {w.until for w in found.words if isinstance(w, SuppressAddressV1)} == {clock.now + FULL_DAY}


async def test_an_answer_that_was_lost_is_repeated_once_under_the_same_message_id() -> None:
    """IDM-03."""
    clock = Clock()
    async with raw_server({"end": CLOSE}, once=True) as server, provider_at(server.port) as provider:
        found = await until_over(a_sender(provider, clock=clock), clock, mail())
    assert [states(results) for results in found] == [["unknown"], ["sent"]]
    assert [outcome.attempt for _, outcome in found[-1].outcomes] == [2]
    ids = [email.message_from_bytes(raw)["Message-ID"] for raw in server.mails]
    assert len(ids) == 2
    assert len(set(ids)) == 1


async def test_a_mail_that_can_be_switched_off_has_a_link_of_its_own_and_a_mandatory_one_has_none() -> None:
    """EML-09: opaque, per recipient and category."""
    deliveries = [mail("ann"), mail("ben"), mail("ann", type="auth.otp")]
    async with raw_server() as server, provider_at(server.port) as provider:
        sender = a_sender(provider, public_url="https://notify.example")
        await work(sender, *deliveries)
    mails = {m["To"] + m["Feedback-ID"]: m for m in map(_parsed, server.mails)}
    ann, ben, otp = (mails[key] for key in sorted(mails, key=lambda k: ("security" in k, k)))
    for message, user in ((ann, "ann"), (ben, "ben")):
        assert message["List-Unsubscribe-Post"] == "List-Unsubscribe=One-Click"
        link = str(message["List-Unsubscribe"])
        assert link.startswith("<https://notify.example/v1/unsubscribe/")
        assert user not in link.replace("unsubscribe", "")
        said = read_unsubscribe((SECRET,), link.strip("<>").rpartition("/")[2], NOW)
        assert said is not None
        assert (said.user_id, said.category) == (user, "orders")
    assert ann["List-Unsubscribe"] != ben["List-Unsubscribe"]
    assert otp["List-Unsubscribe"] is None
    assert otp["List-Unsubscribe-Post"] is None


async def test_what_comes_back_can_be_matched_by_the_reference_in_its_headers() -> None:
    delivery = mail()
    async with raw_server() as server, provider_at(server.port) as provider:
        await work(a_sender(provider), delivery)
    reference = read_reference((SECRET,), str(_parsed(server.mails[0])[HEADER]))
    assert reference is not None
    assert (reference.delivery_id, reference.user_id) == (delivery.delivery_id, "ann")


def _parsed(raw: bytes) -> email.message.EmailMessage:
    return email.message_from_bytes(raw, policy=email.policy.default)


@pytest.mark.parametrize(("paused_s", "state", "calls"), [(599, "sent", 1), (600, "expired", 0), (601, "expired", 0)])
async def test_a_code_that_waited_ten_minutes_is_not_sent_and_nobody_is_called(
    paused_s: int, state: str, calls: int
) -> None:
    """RTY-07: its life is exclusive, and counts from its creation."""
    code = mail(type="auth.otp", accepted_at=NOW, decided_at=NOW, expires_at=NOW + 600_000)
    async with raw_server() as server, provider_at(server.port) as provider:
        results = await work(a_sender(provider, clock=Clock(NOW + paused_s * 1000)), code)
    assert (states(results), results.timers) == ([state], [])
    assert (len(server.mails), server.connections) == (calls, calls)
