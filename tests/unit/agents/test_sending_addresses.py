"""What an answer says about an address, what stands in for it, and who may be told."""

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from agents.senders import a_delivery_of, redriven
from agents.sending import ends
from agents.sending.composing import Composer
from agents.sending.ends import Said
from agents.sending.publishing import Input, Publishing
from agents.sending.standing import Standing
from notify_streams.domain import outcomes, references, unsubscribe
from notify_streams.domain.addresses import address_key
from notify_streams.domain.answers import Answer, EndpointGone, Refused, Sent, TryLater
from notify_streams.domain.identity import identity
from notify_streams.ports import Message
from notify_streams.streaming.deadletters import DeadLetters
from notify_streams.streaming.partitions import Partitions
from schemas import deadletters as headers
from schemas.addresses import AddressGoneV1, SuppressAddressV1, decode_change
from schemas.codec import encode
from schemas.deliveries import DeliveryV1, decode_delivery
from schemas.outcomes import OutcomeState
from schemas.words import Reason
from tests.builders import A_NOTIFICATION, DAY, HOUR, MAILBOX, NOW, a_catalogue, a_delivery
from tests.fakes import Clock, Provider, Recording, Renderer, an_app, arrived
from tests.sending import SECRET, TERMS, a_sender, mail, states, work


class ByAddress(Provider):
    """Answers by the address; everybody else is sent to."""

    def __init__(self, **answers: Answer) -> None:
        super().__init__()
        self._by = answers

    async def send(self, mail: Message, *, now: int) -> Answer:
        await super().send(mail, now=now)
        return next((a for start, a in self._by.items() if mail.address.startswith(start)), Sent())


async def test_a_dead_address_is_told_to_its_registry_and_the_message_has_failed() -> None:
    """TOK-01, EML-01: one attempt; that token only."""
    gone = EndpointGone("410 Unregistered", since=NOW - HOUR)
    provider = ByAddress(phone2=gone)
    results = await work(a_sender(provider), *(mail(f"phone{n}") for n in (1, 2, 3)))
    assert sorted(states(results)) == ["failed", "sent", "sent"]
    [word] = results.words
    assert isinstance(word, AddressGoneV1)
    assert (word.channel, word.since, word.provider) == ("email", NOW - HOUR, "smtp")
    assert (results.timers, results.dead) == ([], [])
    [end] = [end for _, end in results.ends if end.word is not None]
    assert end.address_key == address_key("email", "phone2@example.com")


@pytest.mark.parametrize(
    ("refusal", "reason"), [(Refused("554 5.7.1"), Reason.REFUSED), (Refused("no", "sender"), Reason.SENDER_BLOCKED)]
)
async def test_a_refused_message_says_nothing_of_its_address(refusal: Refused, reason: Reason) -> None:
    """EML-01"""
    results = await work(a_sender(Provider(refusal)), a_delivery())
    assert ([o.reason for _, o in results.outcomes], results.words, results.timers) == ([reason], [], [])


async def test_full_mailboxes_rest_for_a_while_and_blocked_ones_not_at_all() -> None:
    """EML-07: 1,000 full, 1,000 blocked, one that does not exist; the campaign is paused, the addresses live."""
    blocked, known = Refused("554 5.7.1 blocked", "sender"), Standing("smtp")
    provider = ByAddress(full=Refused("552 5.2.2", "mailbox_full"), blocked=blocked, none=EndpointGone("550 5.1.1"))
    terms = msgspec.structs.replace(TERMS, hold_s=0.05)
    sender = a_sender(provider, concurrency=50, standings={"smtp": known}, lane="low", terms=terms)
    full = await work(sender, *(mail(f"full{n}") for n in range(1_000)), mail("none"))
    assert {type(word) for word in full.words} == {SuppressAddressV1, AddressGoneV1}
    rests = [word for word in full.words if isinstance(word, SuppressAddressV1)]
    assert {(w.reason, w.until) for w in rests} == {("mailbox_full", NOW + DAY)}
    assert (len(rests), len(full.words)) == (1_000, 1_001)
    one = await work(sender, *(mail(f"blocked{n}") for n in range(1_000)))
    assert one.words == []
    assert 200 <= sum(o.reason is Reason.SENDER_BLOCKED for _, o in one.outcomes) < 400
    called = len(provider.mails)
    again = await work(sender, *(mail(f"later{n}") for n in range(100)))
    assert ({o.reason for _, o in again.outcomes}, len(provider.mails)) == ({Reason.HELD}, called)
    high = a_sender(provider, standings={"smtp": known}, lane="high")
    assert states(await work(high, mail("ann"))) == ["sent"]


async def test_when_too_many_are_called_dead_none_is_removed_any_more() -> None:
    """Pinned rule 13: more than 20 % of at least 50 answers within five minutes."""
    known, clock = Standing("smtp"), Clock()
    sender = a_sender(ByAddress(dead=EndpointGone("410")), standings={"smtp": known}, clock=clock, concurrency=1)
    first = await work(sender, *(mail(f"ann{n}") for n in range(40)), *(mail(f"dead{n}") for n in range(10)))
    assert len(first.words) == 10
    more = await work(sender, mail("dead-a"), mail("dead-b"))
    assert (states(more), more.words) == (["failed", "failed"], [])
    clock.now += 6 * 60_000
    assert len((await work(sender, mail("dead-c"))).words) == 1


async def test_where_it_has_failed_for_good_what_stands_in_is_decided() -> None:
    """A one-time password whose text message ends terminally goes by push."""
    delivery = a_delivery(channel="sms", fallback=("push", "email"), excluded=("webhook",))
    results = await work(a_sender(Provider(Refused("21610"))), delivery)
    [(_, back)] = results.again
    assert (back.channels, back.fallback, back.excluded) == (("push", "email"), ("push", "email"), ("webhook", "sms"))
    assert (back.notification_id, back.endpoint_id, back.attempt) == (A_NOTIFICATION, None, 1)
    assert back.origin == f"sender/{delivery.delivery_id}/fallback"
    assert back.content is not None
    assert back.content.address is None


@pytest.mark.parametrize("answer", [Sent(), TryLater("429")])
async def test_nothing_stands_in_for_what_has_not_failed(answer: Answer) -> None:
    results = await work(a_sender(Provider(answer)), a_delivery(fallback=("push",)), a_delivery(endpoint_id="x"))
    assert results.again == []
    late = await work(a_sender(Provider(answer)), a_delivery(fallback=("push",), expires_at=NOW))
    assert late.again == []


async def test_a_repeat_of_a_failure_says_all_of_it_again() -> None:
    keys, delivery = None, a_delivery(fallback=("push",))
    sender = a_sender(Provider(EndpointGone("550")), keys)
    one, two = await work(sender, delivery), await work(sender, delivery)
    assert (one.outcomes[0][1], one.words, one.again[0][1]) == (two.outcomes[0][1], two.words, two.again[0][1])
    assert (one.ends[0][1].is_repeated, two.ends[0][1].is_repeated) == (False, True)


async def test_a_producers_own_webhook_has_no_address_word_and_no_stand_in() -> None:
    results = await work(a_sender(Provider(EndpointGone("410"))), a_delivery(hook="shop", fallback=("push",)))
    assert (results.words, results.again) == ([], [])
    outgoing, [(job, end)] = Recording(), results.ends
    Publishing(an_app(), DeadLetters("sender-webhook", 20), Partitions(4)).put(job, end, outgoing)
    assert outgoing.records == []


async def test_a_word_about_an_address_goes_to_the_addresss_own_partition() -> None:
    results = await work(a_sender(Provider(EndpointGone("550"))), a_delivery())
    outgoing, [(job, end)] = Recording(), results.ends
    Publishing(an_app(), DeadLetters("sender-email", 20), Partitions(4)).put(job, end, outgoing)
    [record] = [r for r in outgoing.records if r.topic == "address-changes"]
    key = address_key("email", MAILBOX).encode()
    assert (record.key, record.partition) == (key, Partitions(4).of(key))
    assert decode_change(record.value or b"") == results.words[0]
    assert MAILBOX.encode() not in (record.value or b"")


async def test_a_message_is_the_same_for_every_attempt_and_says_what_providers_need() -> None:
    provider = Provider(TryLater("421"), Sent())
    sender = a_sender(provider, public_url="https://notify.example/")
    results = await work(sender, delivery := a_delivery(platform="web", collapse_key="c", lane="low"))
    await work(sender, decode_delivery(bytes(results.timers[0][1].payload)))
    one, two = provider.mails
    assert one == two
    assert (one.identity, one.platform, one.lane, one.category) == (identity(delivery), "web", "low", "orders")
    assert one.expires_at == delivery.expires_at
    known = references.read([SECRET], one.reference)
    assert known is not None
    assert (known.delivery_id, known.user_id) == (delivery.delivery_id, "ann")
    assert one.unsubscribe is not None
    said = unsubscribe.read([SECRET], one.unsubscribe.rpartition("/")[2], NOW)
    assert said is not None
    assert (said.user_id, said.channel, said.category) == ("ann", "email", "orders")


@pytest.mark.parametrize(
    ("delivery", "public_url"),
    [
        (a_delivery(type="auth.otp"), "https://notify.example"),
        (a_delivery(), ""),
        (a_delivery(channel="sms"), "https://notify.example"),
    ],
)
def test_what_is_mandatory_or_no_mail_has_no_link_to_switch_it_off(delivery: DeliveryV1, public_url: str) -> None:
    composer = Composer(Renderer(), a_catalogue(), SECRET, public_url)
    assert composer.message(delivery).unsubscribe is None


def test_a_dead_letter_that_is_put_back_is_the_next_attempt_with_a_limit_of_its_own() -> None:
    """RTY-05, RTY-10: the record as it lies in the grave, header and all."""
    grave, delivery = Recording(), a_delivery(attempt=6, uncounted=1)
    event = arrived(encode(delivery))
    DeadLetters("sender-email", 20).keep(event, "attempts_exhausted", "503", grave, now=NOW, attempts=6)
    [letter] = grave.records
    back = arrived(letter.value, letter.key, headers=letter.headers.items())
    assert a_delivery_of(back) == msgspec.structs.replace(delivery, attempt=7, uncounted=6)
    assert a_delivery_of(event) == delivery


async def test_put_back_it_is_sent_though_its_key_says_that_it_has_failed() -> None:
    provider, delivery = Provider(TryLater("421"), Sent()), a_delivery(attempt=6)
    sender = a_sender(provider)
    [(_, dead)] = (await work(sender, delivery)).dead
    again = redriven(delivery, {headers.ATTEMPTS: str(dead.attempt).encode()})
    assert states(await work(sender, again)) == ["sent"]
    assert states(await work(sender, again)) == ["sent"]
    assert len(provider.mails) == 2


STATES: st.SearchStrategy[OutcomeState] = st.sampled_from(
    ["sent", "failed", "expired", "suppressed", "cancelled", "retrying", "unknown"]
)


@given(STATES, st.none() | st.sampled_from(Reason), st.booleans(), st.integers(1, 9), st.booleans())
def test_whatever_became_of_it_an_address_is_spoken_of_only_where_it_is_to_blame(
    state: OutcomeState, reason: Reason | None, keeps: bool, attempt: int, counts: bool
) -> None:
    delivery = a_delivery(fallback=("push",), attempt=attempt)
    outcome = msgspec.structs.replace(outcomes.held(delivery, NOW, NOW), state=state, reason=reason, provider="smtp")
    end = ends.of(delivery, outcome, Said(rests_ms=DAY, keeps=keeps, counts=counts))
    of_addresses = (Reason.ENDPOINT_GONE, Reason.MAILBOX_FULL, Reason.RECIPIENT_OPTED_OUT)
    blamed = state == "failed" and reason in of_addresses and not keeps
    assert (end.word is not None) == blamed
    assert (end.back is not None) == (state == "failed")
    assert end.timer is not None
    back = decode_delivery(bytes(end.timer.payload))
    assert 0 <= back.uncounted - delivery.uncounted <= 1
    assert back.by == ("smtp" if reason is Reason.UNKNOWN_OUTCOME else "")


async def test_all_of_a_batch_is_acknowledged_only_when_the_broker_has_what_follows(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    class Ledger:
        held, ended = False, False

        def done(self) -> None:
            self.ended = True

    batch = Ledger()
    of = Input(batch, 2)
    assert batch.held
    of.less(1)
    assert not batch.ended
    of.less(1)
    assert batch.ended
