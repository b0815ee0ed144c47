"""A chain of providers: who is asked, who is passed over, and when another one may be."""

import asyncio

import msgspec
import pytest

from agents.sending.jobs import Job
from agents.sending.standing import Standing
from notify_streams.domain.answers import Answer, EndpointGone, Misconfigured, Refused, Sent, TryLater, Unknown
from notify_streams.domain.breaker import BreakerPolicy
from notify_streams.ports import Message
from notify_streams.providers.memory_keys import MemoryDeliveryKeys
from schemas.deliveries import DeliveryV1, decode_delivery
from schemas.words import Reason
from tests.builders import DAY, HOUR, MINUTE, NOW, POLICY, a_delivery
from tests.fakes import Clock, Provider, arrived
from tests.sending import TERMS, Results, Unlimited, a_sender, mail, named, states, until, work

DOWN = TryLater("503", about="provider")
SOON = msgspec.structs.replace(TERMS, hold_s=0.05, slot_s=0.05)


def standings(*names: str, policy: BreakerPolicy | None = None) -> dict[str, Standing]:
    return {name: Standing(name, policy) for name in names}


def next_of(results: Results) -> DeliveryV1:
    """What the one timer brings back."""
    [(_, timer)] = results.timers
    return decode_delivery(bytes(timer.payload))


async def test_what_the_first_cannot_take_just_now_goes_by_the_next_one_at_once() -> None:
    first, second = named("ses", DOWN), named("smtp")
    sender = a_sender([first, second])
    results = await work(sender, a_delivery(attempt=6))
    [(_, outcome)], again = results.outcomes, next_of(results)
    assert (outcome.state, outcome.reason, outcome.provider) == ("retrying", Reason.FAILED_OVER, "ses")
    assert (outcome.next_at, again.avoid, again.attempt, again.uncounted) == (NOW, ("ses",), 7, 1)
    [(_, sent)] = (await work(sender, again)).outcomes
    assert (sent.state, sent.provider, len(first.mails)) == ("sent", "smtp", 1)
    assert first.mails[0].delivery_id == second.mails[0].delivery_id


async def test_where_all_have_failed_it_rests_and_begins_with_the_first() -> None:
    first, second = named("ses", DOWN), named("smtp", DOWN)
    results = await work(a_sender([first, second]), a_delivery(attempt=2, avoid=("ses",), uncounted=1))
    [(_, outcome)], again = results.outcomes, next_of(results)
    assert (outcome.reason, outcome.provider) == (Reason.PROVIDER_UNAVAILABLE, "smtp")
    assert (again.avoid, again.uncounted) == ((), 1)
    assert outcome.next_at is not None
    assert outcome.next_at > NOW


@pytest.mark.parametrize("answer", [TryLater("451"), Refused("554"), EndpointGone("550"), Unknown("cut")])
async def test_what_is_the_endpoints_or_nobody_knows_is_no_reason_for_another_provider(answer: Answer) -> None:
    """EML-02: a greylisting is waited out where it was met."""
    first, second = named("ses", answer), named("smtp")
    results = await work(a_sender([first, second]), a_delivery())
    assert results.outcomes[0][1].reason is not Reason.FAILED_OVER
    assert second.mails == []


async def test_greylisted_twice_and_then_sent() -> None:
    """EML-02: sent on the third attempt, the address untouched."""
    provider, delivery, words = Provider(TryLater("451 4.7.1"), TryLater("451 4.7.1"), Sent()), a_delivery(), []
    sender = a_sender(provider)
    while True:
        results = await work(sender, delivery)
        words += results.words
        if not results.timers:
            break
        delivery = next_of(results)
    [(_, outcome)] = results.outcomes
    assert (outcome.state, outcome.attempt, words) == ("sent", 3, [])


@pytest.mark.parametrize("repeatable", [True, False])
async def test_an_unknown_outcome_stays_with_its_provider_for_ever(repeatable: bool) -> None:
    """IDM-03: never failed over to another provider, also when its own takes no calls."""
    first, second = named("ses", Unknown("cut"), DOWN, repeatable=repeatable), named("smtp")
    known = standings("ses", "smtp")
    sender = a_sender([first, second], standings=known, terms=SOON)
    again = next_of(await work(sender, a_delivery()))
    assert again.by == "ses"
    again = next_of(await work(sender, again))
    known["ses"].pause(NOW + HOUR)
    results = await work(sender, again)
    assert ([o.reason for _, o in results.outcomes], next_of(results).by) == ([Reason.HELD], "ses")
    assert (len(first.mails), second.mails) == (2, [])
    assert len({m.identity for m in first.mails}) == 1


async def test_whom_a_process_called_when_it_ended_is_whom_the_next_one_asks() -> None:
    """IDM-03: after a kill, too."""
    keys, delivery = MemoryDeliveryKeys(), a_delivery()
    await keys.calling([delivery], NOW - MINUTE, ["smtp"])
    first, second = named("ses"), named("smtp")
    results = await work(a_sender([first, second], keys), delivery)
    assert (states(results), next_of(results).by, results.outcomes[0][1].provider) == (["unknown"], "smtp", "smtp")
    assert states(await work(a_sender([first, second], keys), next_of(results))) == ["sent"]
    assert (first.mails, len(second.mails)) == ([], 1)


async def test_what_a_receipt_has_settled_was_sent_and_is_not_sent_again() -> None:
    keys, delivery, provider = MemoryDeliveryKeys(), a_delivery(), Provider(Unknown("cut"))
    again = next_of(await work(a_sender(provider, keys), delivery))
    assert await keys.settle(delivery.delivery_id, NOW + 7, "m-7")
    [(_, outcome)] = (await work(a_sender(provider, keys), again)).outcomes
    assert (outcome.state, outcome.reason, outcome.provider) == ("sent", Reason.SETTLED, "smtp")
    assert (outcome.provider_message_id, outcome.attempt, outcome.at) == ("m-7", 1, NOW + 7)
    assert len(provider.mails) == 1


@pytest.mark.parametrize("attempt", [1, 6, 60])
async def test_refused_credentials_pause_the_provider_and_the_message_waits_for_its_deadline(attempt: int) -> None:
    """RTY-04: 401 and 403; no number of attempts ends it."""
    provider, known, clock = Provider(Misconfigured("401")), standings("smtp"), Clock()
    sender = a_sender(provider, standings=known, clock=clock, terms=SOON)
    results = await work(sender, a_delivery(attempt=attempt, expires_at=NOW + DAY))
    [(_, outcome)] = results.outcomes
    assert (outcome.state, outcome.reason) == ("retrying", Reason.MISCONFIGURED)
    assert (results.words, results.dead) == ([], [])
    assert not known["smtp"].takes_calls("high", NOW + 1)
    assert next_of(results).uncounted == 1
    others = await work(sender, mail("bob"), mail("cid"))
    assert [o.reason for _, o in others.outcomes] == [Reason.HELD] * 2
    assert len(provider.mails) == 1
    clock.now = NOW + DAY
    assert states(await work(sender, next_of(results))) == ["expired"]


async def test_refused_credentials_of_the_first_are_no_harm_where_there_is_a_second() -> None:
    first, second = named("ses", Misconfigured("403")), named("smtp")
    sender = a_sender([first, second])
    results = await work(sender, a_delivery())
    assert results.outcomes[0][1].reason is Reason.FAILED_OVER
    assert states(await work(sender, next_of(results), mail("bob"))) == ["sent", "sent"]
    assert (len(first.mails), len(second.mails)) == (1, 2)


async def test_nobody_carries_it() -> None:
    class Picky(Provider):
        def takes(self, message: Message) -> bool:
            return message.platform == "ios"

    results = await work(a_sender(Picky()), a_delivery(), a_delivery(endpoint_id="x", platform="ios"))
    assert [(o.state, o.reason) for _, o in results.outcomes] == [("failed", Reason.NO_PROVIDER), ("sent", None)]


async def test_a_provider_that_hangs_takes_nothing_from_the_others() -> None:
    """One platform of push hangs with all its slots: the others' messages go out, and what waits for it waits by
    timers, no attempt counted.
    """

    class Of(Provider):
        def __init__(self, name: str, platform: str, pause: float) -> None:
            super().__init__(pause=pause)
            self.name, self._platform = name, platform

        def takes(self, message: Message) -> bool:
            return message.platform == self._platform

    hangs, well = Of("apns", "ios", 30.0), Of("fcm", "android", 0.001)
    sender = a_sender([well, hangs], concurrency=2, terms=msgspec.structs.replace(SOON, slot_s=0.5))
    results = Results()
    batch = [mail(f"u{n}", platform="ios" if n % 2 else "android") for n in range(100)]
    jobs = [Job(arrived(b"", d.user_id.encode()), d) for d in batch]
    task = asyncio.ensure_future(sender.work(jobs, results.add, hold=True))
    await until(lambda: len(results.ends) == 98)
    assert not task.done()  # it still waits for the one that hangs
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    assert (len(well.mails), len(hangs.mails)) == (50, 2)
    assert sorted(states(results)) == ["retrying"] * 48 + ["sent"] * 50


async def test_a_provider_whose_slots_are_stuck_is_passed_over(monkeypatch: pytest.MonkeyPatch) -> None:
    first, second = named("ses", pause=0.3), named("smtp")
    sender = a_sender([first, second], concurrency=1, terms=SOON)
    monkeypatch.setattr("agents.sending.slots.STUCK_S", 0.04)
    assert states(await work(sender, *(mail(f"u{n}") for n in range(5)))) == ["sent"] * 5
    assert (len(first.mails), len(second.mails)) == (1, 4)


async def test_retry_after_of_a_provider_is_told_to_all_and_obeyed_by_all() -> None:
    """TOK-11, RTY-02."""
    limiter, known = Unlimited(), standings("smtp")
    provider = Provider(TryLater("503", 120, about="provider"))
    sender = a_sender(provider, limiter=limiter, standings=known, terms=SOON)
    results = await work(sender, a_delivery())
    assert limiter.pauses == [("smtp", 120_000)]
    assert results.outcomes[0][1].next_at == NOW + 120_000
    others = await work(sender, *(mail(f"u{n}") for n in range(50)))
    assert (len(provider.mails), {o.reason for _, o in others.outcomes}) == (1, {Reason.HELD})
    assert min(t.due_at for _, t in others.timers) >= NOW + 120_000
    assert all(next_.attempt == 1 for next_ in (decode_delivery(bytes(t.payload)) for _, t in others.timers))


async def test_of_50_messages_only_the_throttled_token_waits() -> None:
    """TOK-11: 429 for one token."""

    class Throttling(Provider):
        async def send(self, mail: Message, *, now: int) -> Answer:
            answer = await super().send(mail, now=now)
            return TryLater("429 TooManyRequests", 60) if mail.address == "u7@example.com" else answer

    limiter = Unlimited()
    results = await work(a_sender(Throttling(), limiter=limiter), *(mail(f"u{n}") for n in range(50)))
    assert sorted(states(results)) == ["retrying", *["sent"] * 49]
    assert (results.words, limiter.pauses) == ([], [])


async def test_told_to_wait_past_its_deadline_it_expires() -> None:
    provider = Provider(TryLater("503", 3_600, about="provider"))
    results = await work(a_sender(provider), a_delivery(expires_at=NOW + MINUTE))
    assert (states(results), results.timers) == (["expired"], [])


async def test_a_huge_retry_after_pauses_for_an_hour_at_most() -> None:
    limiter = Unlimited()
    await work(a_sender(Provider(TryLater("429", 1e12, about="provider")), limiter=limiter), a_delivery())
    assert limiter.pauses == [("smtp", HOUR)]


async def test_three_hours_of_outage_are_outlived_by_what_may_live_so_long() -> None:
    """RTY-12: lives of 10 minutes, 1 hour and 24 hours; attempts in the tens; nobody has to lend a hand."""
    clock, terms = Clock(), msgspec.structs.replace(TERMS, hold_s=0.001, slot_s=2.0)
    ends: dict[str, tuple[str, int]] = {}

    class Outage(Provider):
        async def send(self, mail: Message, *, now: int) -> Answer:
            self.mails.append(mail)
            return DOWN if now < NOW + 3 * HOUR else Sent()

    provider = Outage()
    sender = a_sender(provider, clock=clock, terms=terms, jitter=lambda: 0.5)
    lives = {"ann": 10 * MINUTE, "bob": HOUR, "cid": DAY}
    due = [(NOW, mail(user, expires_at=NOW + life, decided_at=NOW)) for user, life in lives.items()]
    while due:
        due.sort(key=lambda entry: entry[0])
        at, delivery = due.pop(0)
        clock.now = max(clock.now, at)
        results = await work(sender, delivery)
        due += [(t.due_at, decode_delivery(bytes(t.payload))) for _, t in results.timers]
        [(_, outcome)] = results.outcomes
        if outcome.next_at is None:
            ends[outcome.user_id] = (outcome.state, outcome.at - NOW)
    assert {user: state for user, (state, _) in ends.items()} == {"ann": "expired", "bob": "expired", "cid": "sent"}
    assert 3 * HOUR <= ends["cid"][1] < 3 * HOUR + 10 * MINUTE
    assert POLICY.attempts <= len(provider.mails) < 100
