"""What was stopped, or decided on what holds no more, and meets its sender all the same: it is not sent."""

import msgspec
import pytest
from prometheus_client import REGISTRY

from agents.senders import a_delivery_of
from agents.sending.counting import Counting
from agents.sending.publishing import Publishing
from agents.sending.sender import Sender
from notify_streams.domain.answers import Sent, TryLater
from notify_streams.domain.decide import decide
from notify_streams.domain.gate import after
from notify_streams.domain.send_back import send_back
from notify_streams.domain.status import fold, is_final
from notify_streams.providers.memory_keys import MemoryDeliveryKeys
from notify_streams.streaming.deadletters import DeadLetters
from notify_streams.streaming.partitions import Partitions
from schemas.codec import encode
from schemas.decisions import DecisionV1, Deliver, ProfileSlice, StateSlice
from schemas.deliveries import DeliveryV1, decode_delivery
from schemas.notifications import NotificationV1, decode_notification
from schemas.outcomes import OutcomeV1
from schemas.stops import OPEN, Gate, StopV1
from schemas.words import LANES, Lane, Reason, State
from tests.builders import DAY, HOUR, NOW, a_catalogue, a_delivery, a_slice, an_endpoint, an_outcome
from tests.fakes import Clock, Flaky, Provider, Recording, Renderer, an_app, arrived
from tests.sending import Results, a_sender, mail, states, work

OFF = a_slice(version=8, category={"email": False})


class Gates:
    """What has been said on `stops`, by user."""

    def __init__(self) -> None:
        self._said: dict[bytes, Gate] = {}

    def __call__(self, partition: int, user: bytes) -> Gate:
        assert partition == 0
        return self._said.get(user, OPEN)

    def hear(self, stop: StopV1, user: str = "ann") -> None:
        """One more stop."""
        self._said[user.encode()] = after(self(0, user.encode()), stop, NOW)


@pytest.fixture
def gates() -> Gates:
    return Gates()


def cancelled(delivery: DeliveryV1, reason: Reason = Reason.CANCELLED) -> StopV1:
    return StopV1(at=NOW, until=NOW + DAY, notification_id=delivery.notification_id, reason=reason)


def version(number: int) -> StopV1:
    return StopV1(at=NOW, until=NOW + DAY, version=number)


def given_back(results: Results) -> NotificationV1:
    """The one that is to be decided again, of which nothing else is said."""
    assert (results.outcomes, results.timers, results.dead) == ([], [], [])
    [(_, notification)] = results.again
    return notification


def decided(notification: NotificationV1, profile: ProfileSlice, now: int = NOW) -> DecisionV1:
    """What the orchestrator makes of it."""
    verdicts = decide(notification, profile, StateSlice(), a_catalogue(), now)
    return DecisionV1(
        notification=notification,
        profile=profile,
        state=StateSlice(),
        now=now,
        catalogue="",
        tzdata="",
        verdicts=verdicts,
    )


def status(delivery: DeliveryV1, *facts: DecisionV1 | OutcomeV1) -> tuple[State, Reason | None, bool]:
    """Where its notification stands, and whether that is the end."""
    first = decided(send_back(msgspec.structs.replace(delivery, revision=-1)), a_slice(an_endpoint()))
    assert isinstance(first.verdicts[0], Deliver)
    found = fold(delivery.notification_id, [*facts, first])
    assert found is not None
    return found.channels[0].state, found.channels[0].reason, is_final(found)


OPTED_OUT = (State.SUPPRESSED, Reason.OPTED_OUT_OF_CATEGORY, True)


async def test_opted_out_while_it_was_queued_behind_a_paused_sender(gates: Gates) -> None:
    """PRF-01: queued."""
    provider, delivery = Provider(), a_delivery(profile_version=7)
    gates.hear(version(8))
    back = given_back(await work(a_sender(provider, gate=gates), delivery))
    assert provider.mails == []
    assert status(delivery, decided(back, OFF)) == OPTED_OUT


async def test_opted_out_while_it_was_held_for_want_of_redis(gates: Gates) -> None:
    """PRF-01: held by its sender, and comes back by a timer."""
    keys, provider = Flaky(MemoryDeliveryKeys(), away=["claim"]), Provider()
    delivery = a_delivery(profile_version=7)
    sender = a_sender(provider, keys, gate=gates, interrupted=lambda: bool(keys.away))
    [(_, held)], [(_, timer)] = (results := await work(sender, delivery)).outcomes, results.timers
    keys.away.clear()
    gates.hear(version(8))
    back = given_back(await work(sender, decode_delivery(bytes(timer.payload))))
    assert provider.mails == []
    assert status(delivery, held, decided(back, OFF)) == OPTED_OUT


async def test_opted_out_while_it_was_in_a_queue_that_reaches_into_quiet_hours(gates: Gates) -> None:
    """PRF-01: held by quiet hours that began while it waited, then decided under the profile as it is by then."""
    provider, delivery = Provider(), a_delivery(profile_version=8, hold_from=NOW + HOUR)
    sender = a_sender(provider, gate=gates, clock=Clock(NOW + HOUR))
    back = given_back(await work(sender, delivery))
    assert provider.mails == []
    assert status(delivery, decided(back, msgspec.structs.replace(OFF, version=9), NOW + HOUR)) == OPTED_OUT


async def test_opted_out_between_two_attempts(gates: Gates) -> None:
    """PRF-01: retried."""
    provider, delivery = Provider(TryLater("421"), Sent()), a_delivery(profile_version=7)
    sender = a_sender(provider, gate=gates)
    [(_, failed)], [(_, timer)] = (results := await work(sender, delivery)).outcomes, results.timers
    gates.hear(version(8))
    back = given_back(await work(sender, decode_delivery(bytes(timer.payload))))
    assert (len(provider.mails), back.attempt) == (1, 2)
    assert status(delivery, failed, decided(back, OFF)) == OPTED_OUT


async def test_cancelled_behind_a_slow_sender_it_is_never_sent_and_ends_as_cancelled(gates: Gates) -> None:
    """In the same batch: the gate is asked again before each wave."""
    first, second = mail(), mail()
    provider = Provider()
    provider.before = lambda: gates.hear(cancelled(second))
    results = await work(a_sender(provider, gate=gates), first, second)
    assert [(j.delivery, o.state, o.reason) for j, o in results.outcomes] == [
        (first, "sent", None),
        (second, "cancelled", Reason.CANCELLED),
    ]
    assert len(provider.mails) == 1
    assert status(second, results.outcomes[1][1]) == (State.CANCELLED, Reason.CANCELLED, True)


@pytest.mark.parametrize("reason", [Reason.CANCELLED, Reason.COLLAPSED, Reason.READ])
async def test_what_was_stopped_while_it_waited_for_its_retry_ends_for_that_reason(
    gates: Gates, reason: Reason
) -> None:
    """ORD-01"""
    provider, delivery = Provider(TryLater("503")), a_delivery()
    sender = a_sender(provider, gate=gates)
    [(_, failed)], [(_, timer)] = (results := await work(sender, delivery)).outcomes, results.timers
    gates.hear(cancelled(delivery, reason))
    [(_, ended)] = (await work(sender, decode_delivery(bytes(timer.payload)))).outcomes
    assert (ended.state, ended.reason, ended.attempt, len(provider.mails)) == ("cancelled", reason, 0, 1)
    assert status(delivery, failed, ended) == (State.CANCELLED, reason, True)


async def test_a_stop_that_comes_after_the_call_changes_nothing(gates: Gates) -> None:
    keys, delivery = MemoryDeliveryKeys(), a_delivery()
    sent = await work(a_sender(keys=keys, gate=gates), delivery)
    gates.hear(cancelled(delivery))
    again = await work(a_sender(keys=keys, gate=gates), delivery)
    assert [o for _, o in again.outcomes] == [o for _, o in sent.outcomes]
    assert states(again) == ["sent"]


async def test_another_users_stops_stop_nothing(gates: Gates) -> None:
    delivery = mail("bob", profile_version=7)
    gates.hear(cancelled(delivery), "ann")
    gates.hear(version(8), "ann")
    assert states(await work(a_sender(gate=gates), delivery)) == ["sent"]


async def test_quiet_hours_that_begin_in_a_backlog_hold_what_comes_after(gates: Gates) -> None:
    """A backlog never drains into quiet hours: some go, and from the minute on none."""
    clock, provider = Clock(NOW + HOUR - 2), Provider()
    provider.before = lambda: setattr(clock, "now", clock.now + 1)
    backlog = [mail(hold_from=NOW + HOUR) for _ in range(5)]
    results = await work(a_sender(provider, gate=gates, clock=clock), *backlog)
    assert (states(results), len(provider.mails)) == (["sent", "sent"], 2)
    assert [job.delivery for job, _ in results.again] == backlog[2:]


async def test_decided_again_and_to_be_sent_it_is_sent_once_by_whoever_gets_it(gates: Gates) -> None:
    """The claim of the first process is no obstacle, neither here nor for another process."""
    keys, provider, delivery = MemoryDeliveryKeys(), Provider(), a_delivery(profile_version=7, attempt=2)
    gates.hear(version(8))
    flaky = Flaky(keys)
    given_back(await work(a_sender(provider, flaky, gate=gates), delivery))
    assert flaky.asked == ["claim"]  # nothing was said of a call
    after_it = msgspec.structs.replace(delivery, revision=1, profile_version=8)
    other = a_sender(provider, keys, gate=gates)
    assert states(await work(other, after_it)) == ["sent"]
    assert states(await work(other, delivery)) == ["sent"]  # the old one once more: said again, not sent
    assert [(m.delivery_id, len(provider.mails)) for m in provider.mails] == [(delivery.delivery_id, 1)]


async def test_of_two_decisions_on_the_same_attempt_in_one_batch_the_later_counts(gates: Gates) -> None:
    gates.hear(version(8))
    old = a_delivery(profile_version=7)
    new = msgspec.structs.replace(old, profile_version=8, revision=1)
    for batch in ([old, new], [new, old]):
        provider = Provider()
        results = await work(a_sender(provider, gate=gates), *batch)
        assert (states(results), results.again, len(provider.mails)) == (["sent"], [], 1)


async def test_what_is_given_back_is_not_rendered_and_keeps_nobody_waiting(gates: Gates) -> None:
    gates.hear(version(8))
    provider, renderer = Provider(), Renderer(["broken"])
    batch = [mail(profile_version=7, type="broken"), mail("bob")]
    results = await work(a_sender(provider, renderer=renderer, gate=gates), *batch)
    assert (states(results), len(results.again), results.dead) == (["sent"], 1, [])


@pytest.mark.parametrize("hold", [True, False])
async def test_without_redis_what_was_stopped_is_not_sent_either(gates: Gates, hold: bool) -> None:
    keys, provider, delivery = Flaky(MemoryDeliveryKeys(), away=["calling"]), Provider(), a_delivery()
    gates.hear(cancelled(delivery))
    assert states(await work(a_sender(provider, keys, gate=gates), delivery, hold=hold)) == ["cancelled"]
    assert provider.mails == []


def decided_again() -> float:
    """How many were counted so far."""
    return REGISTRY.get_sample_value("notify_deliveries_total", {"channel": "email", "state": "decided_again"}) or 0


@pytest.mark.parametrize("lane", LANES)
async def test_it_goes_to_the_notifications_of_its_own_lane_in_the_batch_that_met_it(gates: Gates, lane: Lane) -> None:
    """LOW stays LOW: what is decided again takes the place of nobody in a faster lane."""
    delivery, before = a_delivery(lane=lane, profile_version=7), decided_again()
    gates.hear(version(8))
    results, outgoing = await work(a_sender(gate=gates), delivery), Recording()
    publishing = Publishing(an_app(), DeadLetters("sender-email", 20), Partitions(4))
    [(job, end)] = results.ends
    publishing.put(job, end, outgoing)
    Counting().end(job, end)
    [record] = outgoing.records
    assert (record.topic, record.partition, record.key) == (f"notifications.{lane}", 0, b"ann")
    assert decode_notification(record.value or b"") == send_back(delivery)
    assert decided_again() - before == 1


def test_a_delivery_whose_notification_has_no_id_is_a_dead_letter_and_stops_nobody() -> None:
    good = a_delivery()
    bad = arrived(encode(msgspec.structs.replace(good, notification_id="no uuid")))
    with pytest.raises(ValueError, match="non-hexadecimal"):
        a_delivery_of(bad)
    assert a_delivery_of(arrived(encode(good))) == good


async def test_every_delivery_of_a_batch_is_accounted_for_whatever_its_gate_says(gates: Gates) -> None:
    batch = [mail(f"u{n % 3}", profile_version=6 + n % 2) for n in range(12)]
    gates.hear(version(7), "u1")
    gates.hear(cancelled(batch[0]), "u0")
    keys = MemoryDeliveryKeys()
    await keys.ended([an_outcome(batch[2])])
    sender: Sender = a_sender(keys=keys, gate=gates, concurrency=2)
    results = await work(sender, *batch)
    met = [job.delivery.delivery_id for job, _ in (*results.outcomes, *results.again)]
    assert sorted(met) == sorted(d.delivery_id for d in batch)
    assert len(results.again) == sum(d.user_id == "u1" and d.profile_version == 6 for d in batch)
