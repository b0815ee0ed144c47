"""What a sender does with a batch, with ports that do as they are told."""

import asyncio
from collections.abc import Sequence
from typing import Any

import msgspec
import pytest

from notify_streams.domain.answers import Answer, EndpointGone, Refused, Sent, TryLater, Unknown
from notify_streams.providers.memory_keys import MemoryDeliveryKeys
from schemas.content import Content
from schemas.deliveries import DeliveryV1, decode_delivery
from schemas.words import Reason
from tests.builders import MAILBOX, MINUTE, NOW, POLICY, a_delivery, an_outcome
from tests.fakes import Clock, Flaky, Provider, Renderer
from tests.sending import TERMS, a_sender, mail, states, subject_of, work

IMPATIENT = msgspec.structs.replace(TERMS, hold_s=0.03)  # holding takes no time


async def test_a_mail_that_the_provider_takes_is_sent_once() -> None:
    provider = Provider(Sent("m-1"))
    results = await work(a_sender(provider), delivery := a_delivery())
    [(_, outcome)] = results.outcomes
    assert (outcome.state, outcome.attempt, outcome.provider_message_id) == ("sent", 1, "m-1")
    [sent] = provider.mails
    assert (sent.delivery_id, sent.address, sent.locale) == (delivery.delivery_id, MAILBOX, "en")
    assert (results.timers, results.dead) == ([], [])


async def test_an_empty_batch_is_no_work() -> None:
    keys = Flaky(MemoryDeliveryKeys())
    assert (await work(a_sender(keys=keys))).outcomes == []
    assert "calling" not in keys.asked


async def test_one_users_mails_go_in_order_and_users_in_parallel() -> None:
    provider = Provider(pause=0.005)
    batch = [mail(user, f'"{user}{n}"') for n in range(3) for user in ("ann", "bob", "cid")]
    await work(a_sender(provider), *batch)
    for user in ("ann", "bob", "cid"):
        mine = [subject_of(m) for m in provider.mails if m.address.startswith(user)]
        assert mine == [f'"{user}{n}"' for n in range(3)]
    assert provider.most_at_once == 3


async def test_no_more_are_called_at_once_than_allowed() -> None:
    provider = Provider(pause=0.002)
    await work(a_sender(provider, concurrency=4), *(mail(f"u{n}") for n in range(11)))
    assert (provider.most_at_once, len(provider.mails)) == (4, 11)


async def test_a_users_next_mail_goes_though_the_one_before_is_retried() -> None:
    provider = Provider(TryLater("421"), Sent())
    assert states(await work(a_sender(provider), mail(), mail())) == ["retrying", "sent"]


async def test_the_same_delivery_twice_in_a_batch_is_called_once() -> None:
    provider, delivery = Provider(), a_delivery()
    assert states(await work(a_sender(provider), delivery, delivery)) == ["sent"]
    assert len(provider.mails) == 1


@pytest.mark.parametrize("answer", [TryLater("421"), Unknown("cut off"), Refused("554")])
async def test_however_it_ends_a_second_record_of_it_is_not_called(answer: Answer) -> None:
    provider, delivery = Provider(answer), a_delivery()
    await work(a_sender(provider), delivery, delivery)
    assert len(provider.mails) == 1


async def test_what_has_ended_before_is_said_again_and_not_called() -> None:
    provider, keys, delivery = Provider(), MemoryDeliveryKeys(), a_delivery()
    await keys.ended([before := an_outcome(delivery)])
    results = await work(a_sender(provider, keys), delivery)
    assert ([outcome for _, outcome in results.outcomes], provider.mails) == ([before], [])


async def test_a_retry_that_was_perhaps_not_put_is_put_again() -> None:
    keys, delivery = MemoryDeliveryKeys(), a_delivery()
    first = await work(a_sender(Provider(TryLater("421")), keys), delivery)
    second = await work(a_sender(Provider(), keys), delivery)
    assert [t for _, t in second.timers] == [t for _, t in first.timers]
    assert [o for _, o in second.outcomes] == [o for _, o in first.outcomes]


@pytest.mark.parametrize(
    ("answer", "state", "reason"),
    [
        (EndpointGone("550"), "failed", Reason.ENDPOINT_GONE),
        (Refused("554"), "failed", Reason.REFUSED),
    ],
)
async def test_a_final_refusal_is_a_failed_delivery_and_no_dead_letter(
    answer: Answer, state: str, reason: Reason
) -> None:
    results = await work(a_sender(Provider(answer)), a_delivery())
    [(_, outcome)] = results.outcomes
    assert (outcome.state, outcome.reason) == (state, reason)
    assert (results.timers, results.dead) == ([], [])


async def test_an_attempt_that_may_be_repeated_comes_back_by_a_timer_with_the_next_number() -> None:
    """RTY-05"""
    results = await work(a_sender(Provider(TryLater("421"))), delivery := a_delivery(attempt=2))
    [(_, outcome)], [(_, timer)] = results.outcomes, results.timers
    assert (outcome.state, outcome.attempt, outcome.next_at) == ("retrying", 2, NOW + 2_000)
    assert (timer.timer_id, timer.revision) == (f"retry/{delivery.delivery_id}", 3)
    assert (timer.due_at, timer.target) == (NOW + 2_000, "deliveries.email.normal")
    assert decode_delivery(bytes(timer.payload)).attempt == 3


async def test_after_the_last_attempt_it_has_failed_and_is_a_dead_letter() -> None:
    """RTY-05"""
    keys, provider, delivery = MemoryDeliveryKeys(), Provider(TryLater("421")), a_delivery()
    sender = a_sender(provider, keys)
    results = await work(sender, delivery)
    while results.timers:
        delivery = decode_delivery(bytes(results.timers[0][1].payload))
        sender = a_sender(provider, keys)  # a restart between all attempts
        results = await work(sender, delivery)
    assert len(provider.mails) == POLICY.attempts
    [(_, outcome)], [(_, dead)] = results.outcomes, results.dead
    assert (outcome.state, outcome.reason, outcome.attempt) == ("failed", Reason.ATTEMPTS_EXHAUSTED, 6)
    assert dead == outcome


async def test_all_attempts_of_a_delivery_carry_one_identity() -> None:
    """IDM-03"""
    keys, provider = MemoryDeliveryKeys(), Provider(Unknown("cut off"), Sent())
    results = await work(a_sender(provider, keys), a_delivery())
    [(_, outcome)], [(_, timer)] = results.outcomes, results.timers
    assert (outcome.state, timer.due_at) == ("unknown", NOW + POLICY.lock_ms)
    results = await work(a_sender(provider, keys), decode_delivery(bytes(timer.payload)))
    [(_, outcome)] = results.outcomes
    assert (outcome.state, outcome.attempt) == ("sent", 2)
    assert len({m.delivery_id for m in provider.mails}) == 1


async def test_an_unknown_outcome_of_a_provider_with_idempotency_keys_is_retried_soon() -> None:
    """IDM-03"""
    results = await work(a_sender(Provider(Unknown("cut off"), repeatable=True)), a_delivery())
    assert [t.due_at for _, t in results.timers] == [NOW + 1_000]


@pytest.mark.parametrize(("late_ms", "called"), [(-1, 1), (0, 0), (1, 0)])
async def test_what_has_expired_ends_without_a_call(late_ms: int, called: int) -> None:
    """RTY-07"""
    provider, keys = Provider(), Flaky(MemoryDeliveryKeys())
    results = await work(a_sender(provider, keys, clock=Clock(NOW + late_ms)), a_delivery(expires_at=NOW))
    assert len(provider.mails) == called
    assert states(results) == (["sent"] if called else ["expired"])
    assert results.outcomes[0][1].attempt == called


async def test_an_address_that_this_environment_may_not_reach_is_suppressed_without_a_call() -> None:
    provider = Provider()
    sender = a_sender(provider, deliver_only_to=["*@staging.example"])
    results = await work(sender, mail(), mail("bob", content=Content(address="bob@staging.example")))
    assert [(o.state, o.reason) for _, o in results.outcomes] == [("suppressed", Reason.GUARDED), ("sent", None)]
    assert [m.address for m in provider.mails] == ["bob@staging.example"]


@pytest.mark.parametrize("error", [None, RuntimeError("a bug"), RecursionError()])
async def test_what_cannot_be_rendered_has_failed_and_is_a_dead_letter_and_the_others_go(
    error: Exception | None,
) -> None:
    """RTY-10, TPL-03"""
    provider = Provider()
    renderer = Renderer(failing=["broken"], error=error)
    results = await work(a_sender(provider, renderer=renderer), mail(), mail(type="broken"), mail())
    assert sorted(states(results)) == ["failed", "sent", "sent"]
    [(job, outcome)] = results.dead
    assert (job.delivery.type, outcome.reason, outcome.attempt) == ("broken", Reason.TEMPLATE_FAILED, 0)
    assert "a bug" not in outcome.detail  # the words of an error may hold an address
    assert len(provider.mails) == 2


async def test_a_provider_that_raises_leaves_an_unknown_outcome_and_the_others_go() -> None:
    """RTY-10"""
    provider = Provider(RuntimeError("a bug"), Sent())
    results = await work(a_sender(provider), mail("ann"), mail("bob"))
    assert [(o.state, o.detail) for _, o in results.outcomes] == [
        ("unknown", "smtp raised RuntimeError"),
        ("sent", ""),
    ]


async def test_a_lost_claim_comes_back_since_whoever_has_it_may_never_say_a_word() -> None:
    """A process that is woken late claims what its successor has, and ends before it calls."""
    keys, provider = Flaky(MemoryDeliveryKeys()), Provider()
    mine, lost = mail("ann"), mail("bob")
    keys.lost = {lost.delivery_id}
    results = await work(a_sender(provider, keys), mine, lost)
    assert {job.delivery.user_id: outcome.state for job, outcome in results.outcomes} == {
        "ann": "sent",
        "bob": "retrying",
    }
    [(job, timer)] = results.timers
    assert (job.delivery, decode_delivery(bytes(timer.payload)).attempt) == (lost, 1)
    assert len(provider.mails) == 1


async def test_what_was_sent_in_time_and_is_met_again_when_it_has_expired_was_sent() -> None:
    keys, delivery = MemoryDeliveryKeys(), a_delivery(expires_at=NOW + 10)
    await work(a_sender(keys=keys), delivery)  # and then its process ended, before it could say so
    assert states(await work(a_sender(keys=keys, clock=Clock(NOW + 10)), delivery)) == ["sent"]


async def test_a_failed_delivery_that_somebody_puts_back_with_the_next_number_is_called() -> None:
    keys, provider, delivery = MemoryDeliveryKeys(), Provider(TryLater("421"), Sent()), a_delivery(attempt=6)
    assert states(await work(a_sender(provider, keys), delivery)) == ["failed"]
    again = msgspec.structs.replace(delivery, attempt=7)
    assert states(await work(a_sender(provider, keys), again)) == ["sent"]


async def test_what_another_process_was_calling_when_it_ended_rests_until_the_lock_ends() -> None:
    keys, provider, delivery = MemoryDeliveryKeys(), Provider(), a_delivery()
    await keys.calling([delivery], NOW - MINUTE)
    results = await work(a_sender(provider, keys), delivery)
    [(_, outcome)], [(_, timer)] = results.outcomes, results.timers
    assert (outcome.state, outcome.attempt, outcome.at) == ("unknown", 1, NOW - MINUTE)
    assert timer.due_at == NOW - MINUTE + POLICY.lock_ms
    again = decode_delivery(bytes(timer.payload))
    assert again.attempt == 2
    assert states(await work(a_sender(provider, keys), again)) == ["sent"]


async def test_without_redis_the_other_lanes_are_held_and_then_come_back_without_a_counted_attempt() -> None:
    keys, provider = Flaky(MemoryDeliveryKeys(), away=["claim"]), Provider()
    results = await work(a_sender(provider, keys, terms=IMPATIENT), a_delivery(attempt=3))
    assert keys.asked.count("claim") > 1
    [(_, outcome)], [(_, timer)] = results.outcomes, results.timers
    assert (outcome.state, outcome.reason, outcome.attempt) == ("retrying", Reason.HELD, 2)
    assert (outcome.provider, outcome.next_at, provider.mails) == ("", timer.due_at, [])
    assert decode_delivery(bytes(timer.payload)).attempt == 3


async def test_redis_that_comes_back_while_they_are_held_lets_them_go() -> None:
    keys = Flaky(MemoryDeliveryKeys(), away=["claim"])
    asyncio.get_running_loop().call_later(0.015, keys.away.clear)
    assert states(await work(a_sender(keys=keys, terms=IMPATIENT), a_delivery())) == ["sent"]


async def test_without_redis_high_goes_on_with_the_memory_of_its_process() -> None:
    keys, provider, delivery = Flaky(MemoryDeliveryKeys(), away=["claim", "calling", "ended"]), Provider(), a_delivery()
    sender = a_sender(provider, keys)
    assert states(await work(sender, delivery, hold=False)) == ["sent"]
    assert states(await work(sender, delivery, hold=False)) == ["sent"]
    assert len(provider.mails) == 1


async def test_what_high_sent_with_redis_it_still_knows_without() -> None:
    keys, provider, delivery = Flaky(MemoryDeliveryKeys()), Provider(), a_delivery()
    sender = a_sender(provider, keys)
    await work(sender, delivery, hold=False)
    keys.away = {"claim", "calling", "ended"}
    await work(sender, delivery, hold=False)
    assert len(provider.mails) == 1


async def test_redis_that_dies_between_claim_and_call_lets_nothing_be_called_uncertainly() -> None:
    keys, provider = Flaky(MemoryDeliveryKeys(), away=["calling"]), Provider()
    results = await work(a_sender(provider, keys, concurrency=1), mail("ann"), mail("bob"))
    assert (provider.mails, [o.reason for _, o in results.outcomes]) == ([], [Reason.HELD] * 2)
    assert {decode_delivery(bytes(t.payload)).attempt for _, t in results.timers} == {1}
    assert len(results.timers) == 2


async def test_redis_that_dies_between_claim_and_call_does_not_stop_high() -> None:
    keys, provider = Flaky(MemoryDeliveryKeys(), away=["calling"]), Provider()
    results = await work(a_sender(provider, keys, concurrency=1), mail("ann"), mail("bob"), hold=False)
    assert (states(results), len(provider.mails)) == (["sent", "sent"], 2)


@pytest.mark.parametrize("hold", [True, False])
async def test_redis_that_dies_before_the_end_is_kept_does_not_change_what_is_published(hold: bool) -> None:
    keys, provider = Flaky(MemoryDeliveryKeys(), away=["ended"]), Provider()
    results = await work(a_sender(provider, keys), mail("ann"), mail("ann"), hold=hold)
    assert (states(results), len(provider.mails)) == (["sent", "sent"], 2)


async def test_redis_that_lost_its_data_after_the_claim_does_not_prevent_the_call() -> None:
    class Forgetful(Flaky):
        async def claim(self, deliveries: Sequence[DeliveryV1]) -> Any:
            answers = await super().claim(deliveries)
            self._keys = MemoryDeliveryKeys()
            return answers

    assert states(await work(a_sender(keys=Forgetful(MemoryDeliveryKeys())), a_delivery())) == ["sent"]


async def test_interrupted_what_is_left_comes_back_at_once() -> None:
    provider = Provider()
    sender = a_sender(provider, interrupted=lambda: bool(provider.mails), concurrency=1)
    results = await work(sender, *(mail(f"u{n}") for n in range(3)))
    assert states(results) == ["sent", "retrying", "retrying"]
    assert [(t.due_at, decode_delivery(bytes(t.payload)).attempt) for _, t in results.timers] == [(NOW, 1), (NOW, 1)]


async def test_interrupted_nobody_waits_for_redis() -> None:
    keys = Flaky(MemoryDeliveryKeys(), away=["claim"])
    async with asyncio.timeout(1):
        results = await work(a_sender(keys=keys, interrupted=lambda: True), a_delivery())
    assert (keys.asked, len(results.timers)) == (["claim"], 1)


async def test_a_batch_that_takes_too_long_puts_off_the_rest() -> None:
    provider, terms = Provider(pause=0.1), msgspec.structs.replace(TERMS, batch_s=0.05)
    results = await work(a_sender(provider, concurrency=1, terms=terms), mail("ann"), mail("bob"))
    assert [(o.state, o.reason) for _, o in results.outcomes] == [("retrying", Reason.HELD), ("sent", None)]
    assert len(results.timers) == 1


async def test_a_batch_leaves_time_for_its_last_call_within_45_seconds() -> None:
    assert TERMS.batch_s + TERMS.attempt_s <= 45


async def test_every_delivery_of_a_batch_is_accounted_for() -> None:
    """Whatever the mix: an outcome, a timer, or both for a retry."""
    provider = Provider(Sent(), TryLater("421"), Refused("554"), EndpointGone("550"), Unknown("cut"))
    batch = [mail(f"u{n % 3}") for n in range(5)]
    batch += [mail(expires_at=NOW), mail(type="broken"), mail(content=Content(address="x@guarded.test"))]
    sender = a_sender(provider, renderer=Renderer(["broken"]), deliver_only_to=["*@example.com"])
    results = await work(sender, *batch)
    assert {job.delivery.delivery_id for job, _ in results.outcomes} == {d.delivery_id for d in batch}
    assert sorted(states(results)) == [
        *("expired", "failed", "failed", "failed", "retrying", "sent", "suppressed", "unknown"),
    ]
