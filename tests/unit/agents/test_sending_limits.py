"""Breakers, permits and slots in the loop: who may call when, and what becomes of those who may not."""

import asyncio
import random
from collections import Counter

import msgspec
import pytest

from agents.sending.jobs import Job
from agents.sending.standing import Standing
from notify_streams.domain.answers import Answer, Sent, TryLater
from notify_streams.domain.breaker import BreakerPolicy
from notify_streams.domain.throttle import Grant
from notify_streams.ports import Message, Unavailable
from notify_streams.providers.limiter import LocalLimiter
from notify_streams.providers.memory_keys import MemoryDeliveryKeys
from schemas.deliveries import decode_delivery
from schemas.words import Lane, Reason
from tests.builders import DAY, NOW
from tests.fakes import Clock, Flaky, Provider, arrived
from tests.sending import TERMS, Results, Unlimited, a_sender, mail, states, until, work

DOWN = TryLater("503", about="provider")


class Ticking(Clock):
    """Real time, from the fixed instant on."""

    def __init__(self) -> None:
        super().__init__()
        self._began = asyncio.get_running_loop().time()

    def __call__(self) -> int:
        return self.now + round((asyncio.get_running_loop().time() - self._began) * 1000)


class Back(Provider):
    """Away until it is told to be back; notes when it was called and by how many at once."""

    def __init__(self, pause: float) -> None:
        super().__init__(pause=pause)
        self.is_back, self.most_while_back = False, 0
        self.at: list[float] = []

    async def send(self, mail: Message, *, now: int) -> Answer:
        self.at.append(asyncio.get_running_loop().time())
        back = self.is_back
        answer = await super().send(mail, now=now)
        return answer if back else DOWN


def opened(policy: BreakerPolicy, clock: Clock) -> dict[str, Standing]:
    """A breaker that has just opened."""
    standing = Standing("smtp", policy)
    for _ in range(policy.failures):
        standing.may_call(clock())
        standing.heard(DOWN, clock(), 0.0)
    return {"smtp": standing}


async def test_a_breaker_that_is_half_open_lets_one_call_through_and_then_ramps_up() -> None:
    """FAIR-05: 500 wait; the probe takes its time, fails once, succeeds later; then not all 500 at once."""
    policy = BreakerPolicy(open_ms=50, most_open_ms=50)
    clock, provider = Ticking(), Back(pause=0.1)
    known = opened(policy, clock)
    sender = a_sender(provider, standings=known, clock=clock, concurrency=500)
    batch = [mail(f"u{n}") for n in range(500)]
    results = Results()
    jobs = [Job(arrived(b"", d.user_id.encode()), d) for d in batch]
    task = asyncio.ensure_future(sender.work(jobs, results.add, hold=True))
    await until(lambda: len(provider.at) == 2)
    assert (provider.most_at_once, len(results.ends)) == (1, 1)
    provider.is_back = True
    provider.at.clear()
    await until(lambda: len(results.ends) >= 9)
    assert provider.most_at_once <= 8
    await task
    assert Counter(states(results)) == {"sent": 499 if states(results).count("retrying") == 1 else 500 - 2} | {
        "retrying": states(results).count("retrying")
    }
    assert states(results).count("retrying") <= 2
    assert known["smtp"].breaker.state == "closed"


async def test_while_the_whole_chain_is_open_a_batch_waits_tries_one_and_puts_off_the_rest_uncounted() -> None:
    clock, provider = Ticking(), Back(pause=0.0)
    known = opened(BreakerPolicy(open_ms=50, most_open_ms=10_000), clock)
    terms = msgspec.structs.replace(TERMS, hold_s=0.3)
    results = await work(
        a_sender(provider, standings=known, clock=clock, terms=terms), *(mail(f"u{n}") for n in range(40))
    )
    assert 1 <= len(provider.mails) <= 3
    held = [o for _, o in results.outcomes if o.reason is Reason.HELD]
    assert len(held) == 40 - len(provider.mails)
    assert {o.attempt for o in held} == {0}
    tried = [decode_delivery(bytes(t.payload)) for _, t in results.timers]
    assert {(d.attempt, d.uncounted) for d in tried} == {(1, 0), (2, 1)}


async def test_interrupted_nobody_waits_for_a_breaker() -> None:
    clock, stop = Ticking(), asyncio.Event()
    known = opened(BreakerPolicy(open_ms=60_000), clock)
    sender = a_sender(Provider(), standings=known, clock=clock, interrupted=stop.is_set)
    asyncio.get_running_loop().call_later(0.05, stop.set)
    async with asyncio.timeout(5):
        results = await work(sender, mail("ann"), mail("ann"), mail("bob"))
    assert [o.reason for _, o in results.outcomes] == [Reason.HELD] * 3
    assert all(t.due_at <= clock() for _, t in results.timers)


async def test_interrupted_nobody_waits_for_a_slot_a_permit_or_another_mail_and_calls_end_in_peace() -> None:
    stop, provider = asyncio.Event(), Provider(pause=0.2)
    sender = a_sender(provider, concurrency=1, interrupted=stop.is_set)
    asyncio.get_running_loop().call_later(0.05, stop.set)
    began = asyncio.get_running_loop().time()
    results = await work(sender, mail("ann"), mail("ann"), mail("bob"))
    assert sorted(states(results)) == ["retrying", "retrying", "sent"]
    assert (len(provider.mails), asyncio.get_running_loop().time() - began < 5) == (1, True)


class Stingy(Unlimited):
    """Grants so many, and then none."""

    def __init__(self, left: int, wait_ms: int = 10) -> None:
        super().__init__()
        self.left, self._wait_ms = left, wait_ms

    async def take(self, provider: str, lane: Lane, wanted: int) -> Grant:
        await super().take(provider, lane, wanted)
        granted = min(wanted, self.left)
        self.left -= granted
        return Grant(granted, 0 if granted == wanted else self._wait_ms)


async def test_who_gets_no_permit_within_two_seconds_comes_back_by_a_timer_and_no_attempt_is_counted(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("agents.sending.permits.PERMIT_S", 0.1)
    provider = Provider()
    results = await work(a_sender(provider, limiter=Stingy(3), concurrency=10), *(mail(f"u{n}") for n in range(10)))
    late = [(o.state, o.reason, o.attempt) for _, o in results.outcomes if o.state != "sent"]
    assert late == [("retrying", Reason.LIMITED, 0)] * 7
    assert len(provider.mails) == 3
    assert {decode_delivery(bytes(t.payload)).attempt for _, t in results.timers} == {1}
    assert all(NOW + 2_000 <= t.due_at <= NOW + 5_000 for _, t in results.timers)


async def test_permits_of_many_are_asked_for_in_one_question() -> None:
    limiter = Unlimited()
    await work(a_sender(limiter=limiter, concurrency=100), *(mail(f"u{n}") for n in range(100)))
    assert sum(wanted for _, _, wanted in limiter.asked) == 100
    assert len(limiter.asked) <= 20


async def test_a_pause_that_another_process_has_told_is_learnt_with_the_next_permit() -> None:
    """TOK-11: Retry-After is shared by all processes."""
    provider, terms = Provider(), msgspec.structs.replace(TERMS, hold_s=0.02)
    sender = a_sender(provider, limiter=Stingy(0, wait_ms=60_000), terms=terms)
    results = await work(sender, mail("ann"), mail("bob"))
    assert ([o.reason for _, o in results.outcomes], provider.mails) == ([Reason.HELD] * 2, [])
    assert min(t.due_at for _, t in results.timers) >= NOW + 60_000


class Away:
    """A limiter on a Redis that is away."""

    async def take(self, provider: str, lane: Lane, wanted: int) -> Grant:
        raise Unavailable("redis is away")

    async def pause(self, provider: str, for_ms: int) -> None:
        raise Unavailable("redis is away")


async def test_without_redis_high_goes_on_with_its_share_of_the_rate_and_its_own_memory() -> None:
    keys = Flaky(MemoryDeliveryKeys(), away=["claim", "calling", "ended"])
    loop, provider = asyncio.get_running_loop(), Provider()
    own = LocalLimiter({"smtp": 400.0}, share=0.25, clock=loop.time)
    sender = a_sender(provider, keys, limiter=Away(), own=own, lane="high", concurrency=100)
    began, batch = loop.time(), [mail(f"u{n}", lane="high") for n in range(60)]
    assert states(await work(sender, *batch, hold=False)) == ["sent"] * 60
    assert loop.time() - began >= (60 - 10) / 100 * 0.9
    await work(sender, *batch, hold=False)
    assert len(provider.mails) == 60


async def test_without_redis_the_others_are_held_where_only_permits_are_missing() -> None:
    provider = Provider()
    results = await work(a_sender(provider, limiter=Away()), mail("ann"), mail("bob"))
    assert ([o.reason for _, o in results.outcomes], provider.mails) == ([Reason.HELD] * 2, [])
    assert {t.due_at for _, t in results.timers} == {NOW + 15_000}


async def test_fresh_messages_are_not_held_up_by_ten_thousand_in_retry() -> None:
    """FAIR-04: what waits for its retry waits by timers; it takes no slot, no permit and no place in a batch."""

    class OneDomainDown(Provider):
        async def send(self, mail: Message, *, now: int) -> Answer:
            self.mails.append(mail)
            return TryLater("451") if mail.address.startswith("x") else Sent()

    provider, clock = OneDomainDown(), Clock()
    sender = a_sender(provider, concurrency=64, clock=clock)
    due = []
    for n in range(10):
        results = await work(sender, *(mail(f"x{n}-{k}") for k in range(1_000)))
        due += [t.due_at for _, t in results.timers]
    assert (len(due), min(due) > NOW) == (10_000, True)
    began = asyncio.get_running_loop().time()
    assert set(states(await work(sender, *(mail(f"y{n}") for n in range(100))))) == {"sent"}
    assert asyncio.get_running_loop().time() - began < 5


async def test_a_thousand_that_fail_together_do_not_come_back_together() -> None:
    """RTY-01: in no round does a second hold more than 5 % of them; delays grow and are capped; two runs differ."""
    runs, terms = [], msgspec.structs.replace(TERMS, hold_s=0.05)
    for seed in (1, 2):
        chance = random.Random(seed)
        batch, rounds = [mail(f"u{n}", expires_at=NOW + DAY) for n in range(1_000)], []
        for _ in range(3):
            sender = a_sender(Provider(DOWN, pause=0.1), concurrency=1000, jitter=chance.random, terms=terms)
            results = await work(sender, *batch)
            slots = Counter((t.due_at - NOW) // 1000 for _, t in results.timers)
            assert max(slots.values()) <= 50
            rounds.append(slots)
            batch = [decode_delivery(bytes(t.payload)) for _, t in results.timers]
        runs.append(rounds)
    assert runs[0] != runs[1]
    assert max(d.attempt for d in batch) == 4


async def test_order_is_kept_over_batches_that_are_under_way_together() -> None:
    """Per user and endpoint: the second batch's mail waits for the first one's, another endpoint's does not."""
    provider = Provider(pause=0.05)
    sender = a_sender(provider)
    first, second, other = mail(said='"1"'), mail(said='"2"'), mail(said='"3"', endpoint_id="work")
    one = asyncio.ensure_future(work(sender, first))
    two = asyncio.ensure_future(work(sender, second, other))
    await asyncio.gather(one, two)
    said = [m.delivery_id for m in provider.mails]
    assert said.index(first.delivery_id) < said.index(second.delivery_id)
    assert said.index(other.delivery_id) < said.index(second.delivery_id)


async def test_a_second_record_of_an_attempt_that_is_under_way_says_what_became_of_it() -> None:
    """A redelivery into the next batch: no call, and no unknown outcome of a call that is well."""
    provider, delivery = Provider(Sent("m-1"), pause=0.05), mail()
    sender = a_sender(provider)
    one, two = await asyncio.gather(work(sender, delivery), work(sender, delivery))
    assert (states(one), states(two), len(provider.mails)) == (["sent"], ["sent"], 1)


async def test_a_crash_with_five_calls_under_way_delays_none_of_the_other_95() -> None:
    """The next process calls for all but those five at once; they rest until their lock ends."""
    keys = MemoryDeliveryKeys()
    batch = [mail(f"u{n}") for n in range(100)]
    dying = asyncio.ensure_future(work(a_sender(Provider(pause=60), keys, concurrency=5), *batch))
    await until(lambda: len(keys._calling) == 5)
    dying.cancel()
    await asyncio.gather(dying, return_exceptions=True)
    successor = Provider()
    results = await work(a_sender(successor, keys, concurrency=5), *batch)
    assert Counter(states(results)) == {"sent": 95, "unknown": 5}
    assert len(successor.mails) == 95
