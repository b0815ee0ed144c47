"""A sender of text messages at a Twilio whose answers are lost, or that says no."""

import contextlib
from collections.abc import AsyncIterator
from typing import Any
from urllib.parse import parse_qsl

import msgspec
import pytest

from notify_streams.domain import references
from notify_streams.domain.rendered import Rendered, RenderedSms
from notify_streams.providers.memory_keys import MemoryDeliveryKeys
from notify_streams.providers.twilio.adapter import TwilioProvider
from notify_streams.settings import Channel, Provider
from schemas.addresses import SuppressAddressV1
from schemas.content import Content
from schemas.deliveries import DeliveryV1
from schemas.words import Reason
from tests.builders import HOUR, MINUTE, a_delivery, an_id
from tests.fakes import Clock, Renderer
from tests.sending import SECRET, a_sender, states, work
from tests.simulated import Tell
from tests.simulated_texts import ACCOUNT, TO, Simulated, now_ms, simulated


class Texts(Renderer):
    """Everything is a text message."""

    def message(self, delivery: DeliveryV1, *, unsubscribe: str | None = None) -> tuple[Rendered, str]:
        return RenderedSms("Your code is 123456"), "en"


def a_text(to: str = TO, **changes: Any) -> DeliveryV1:
    now = now_ms()
    plain = {"accepted_at": now, "expires_at": now + HOUR, "decided_at": now, "content": Content(address=to)}
    return a_delivery(an_id(), channel="sms", endpoint_id="phone", **{**plain, **changes})


@contextlib.asynccontextmanager
async def at(to: Simulated) -> AsyncIterator[TwilioProvider]:
    plain = {"account_sid": ACCOUNT.sid, "auth_token": ACCOUNT.token, "from_number": "+15005550006"}
    settings = Provider(url=f"{to.url}/twilio", **plain)  # type: ignore[arg-type]
    provider = TwilioProvider.of(settings, Channel(attempt_timeout="1s"), public_url="https://n.example")
    try:
        yield provider
    finally:
        await provider.close()


@pytest.mark.parametrize("lost", ["drop", "reset", "hang"])
async def test_of_a_lost_answer_one_more_attempt_is_made_under_the_same_reference(lost: Any) -> None:
    """IDM-03: after the lock, sent once, in two attempts."""
    clock, text = Clock(now_ms()), a_text()
    async with simulated() as to, at(to) as provider:
        to.kit.told[TO] = [Tell(lost)]
        sender = a_sender(provider, renderer=Texts(), clock=clock, public_url="https://n.example")
        first = await work(sender, text)
        [(_, unknown)] = first.outcomes
        assert (unknown.state, unknown.attempt, unknown.next_at) == ("unknown", 1, clock.now + 10 * MINUTE)
        clock.now += 10 * MINUTE
        again = msgspec.structs.replace(text, attempt=2)
        second = await work(sender, again)
        third = await work(sender, again)
    [(_, sent)] = second.outcomes
    assert (sent.state, sent.attempt, sent.segments, sent.source) == ("sent", 2, 1, text.source)
    assert states(third) == ["sent"]
    assert [entry.event for entry in to.kit.entries] == ["dropped", "accepted"]
    [reference] = {entry.identity for entry in to.kit.entries}
    found = references.read([SECRET], reference)
    assert found is not None
    assert (found.delivery_id, found.user_id, found.channel) == (text.delivery_id, "ann", "sms")


async def test_a_receipt_of_the_lost_one_settles_it_and_no_second_text_goes_out() -> None:
    """IDM-03, SMS-07."""
    keys, clock, text = MemoryDeliveryKeys(), Clock(now_ms()), a_text()
    async with simulated() as to, at(to) as provider:
        to.kit.told[TO] = [Tell("drop")]
        sender = a_sender(provider, keys, renderer=Texts(), clock=clock, public_url="https://n.example")
        assert states(await work(sender, text)) == ["unknown"]
        _, body, _, _ = to.posted[-1]
        receipt = dict(parse_qsl(body.decode()))
        assert receipt["MessageStatus"] == "delivered"
        assert await keys.settle(text.delivery_id, clock.now, receipt["MessageSid"])
        clock.now += 10 * MINUTE
        settled = await work(sender, msgspec.structs.replace(text, attempt=2))
    [(_, outcome)] = settled.outcomes
    assert (outcome.state, outcome.reason, outcome.provider_message_id) == (
        "sent",
        Reason.SETTLED,
        receipt["MessageSid"],
    )
    assert len(to.kit.entries) == 1


async def test_who_has_opted_out_at_the_provider_is_suppressed_and_a_dead_number_is_gone() -> None:
    async with simulated() as to, at(to) as provider:
        sender = a_sender(provider, renderer=Texts(), clock=Clock(now_ms()))
        opted_out = await work(sender, a_text("+15005550004"))
        dead = await work(sender, a_text("+15005550009"))
    [(_, outcome)] = opted_out.outcomes
    assert (outcome.state, outcome.reason, outcome.detail) == ("failed", Reason.RECIPIENT_OPTED_OUT, "400 21610")
    [word] = opted_out.words
    assert isinstance(word, SuppressAddressV1)
    assert (word.reason, word.until, word.channel) == ("opt_out", None, "sms")
    assert [outcome.reason for _, outcome in dead.outcomes] == [Reason.ENDPOINT_GONE]
