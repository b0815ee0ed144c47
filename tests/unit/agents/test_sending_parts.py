"""The parts of a sender by themselves: questions asked together, waits, slots, permits, order."""

import asyncio
import random
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agents.senders import batch_size
from agents.sending.jobs import Job
from agents.sending.order import Order
from agents.sending.permits import Permits
from agents.sending.slots import Slots
from agents.sending.standing import Standing
from agents.sending.together import Together
from agents.sending.waits import Waits
from notify_streams.domain.answers import Misconfigured, Sent, TryLater
from notify_streams.domain.throttle import Grant
from notify_streams.ports import Unavailable
from schemas.words import Lane
from tests.builders import NOW
from tests.fakes import arrived
from tests.sending import Unlimited, mail

CALM = Waits(lambda: False)


class Answering:
    """Answers a number with its double; keeps what was asked together."""

    def __init__(self, error: Exception | None = None) -> None:
        self.asked: list[list[int]] = []
        self._error = error

    async def __call__(self, numbers: Sequence[int]) -> Sequence[int]:
        self.asked.append([*numbers])
        await asyncio.sleep(0)
        if self._error is not None:
            raise self._error
        return [2 * number for number in numbers]


async def test_what_is_asked_within_a_millisecond_is_one_question_and_each_gets_its_own_answer() -> None:
    answering = Answering()
    together = Together(answering, within_s=0.005, most=4)
    assert await asyncio.gather(*(together(n) for n in range(10))) == [2 * n for n in range(10)]
    assert answering.asked == [[0, 1, 2, 3], [4, 5, 6, 7], [8, 9]]


async def test_what_a_question_raises_all_who_asked_raise_and_the_next_one_is_asked_anew() -> None:
    together = Together(Answering(Unavailable("away")))
    answers = await asyncio.gather(together(1), together(2), return_exceptions=True)
    assert [type(answer) for answer in answers] == [Unavailable, Unavailable]
    with pytest.raises(Unavailable):
        await together(3)


async def test_who_no_longer_waits_for_an_answer_keeps_it_from_nobody() -> None:
    together = Together(Answering())
    gone, there = together(1), together(2)
    gone.cancel()
    assert await there == 4


async def test_a_wait_ends_when_it_is_interrupted_and_not_only_at_its_end() -> None:
    stop = asyncio.Event()
    waits, loop = Waits(stop.is_set), asyncio.get_running_loop()
    began = loop.time()
    loop.call_later(0.02, stop.set)
    endless: asyncio.Future[bool] = loop.create_future()
    assert await waits.wait(endless, 60) is None
    assert loop.time() - began < 5
    await waits.pause(60)
    assert loop.time() - began < 5


async def test_slots_are_given_in_order_and_none_is_lost_to_somebody_who_left() -> None:
    slots, order = Slots(1, CALM), list[int]()

    async def use(number: int, patience_s: float) -> bool:
        if not await slots.take(patience_s):
            return False
        order.append(number)
        await asyncio.sleep(0.02)
        slots.give()
        return True

    got = await asyncio.gather(use(1, 1), use(2, 0.001), use(3, 1), use(4, 1))
    assert ([*got], order) == ([True, False, True, True], [1, 3, 4])
    assert await slots.take(0)


async def test_slots_are_stuck_when_all_are_taken_and_none_comes_free_for_two_seconds() -> None:
    now = [0.0]
    slots = Slots(2, CALM, clock=lambda: now[0])
    await slots.take(0)
    now[0], seen = 10.0, [slots.is_stuck]
    await slots.take(0)
    seen.append(slots.is_stuck)
    now[0] = 12.0
    seen.append(slots.is_stuck)
    slots.give()
    assert [*seen, slots.is_stuck] == [False, False, True, False]


class Broken(Unlimited):
    async def take(self, provider: str, lane: Lane, wanted: int) -> Grant:
        raise RuntimeError("a bug")


async def test_a_limiter_with_a_bug_leaves_nobody_waiting() -> None:
    permits = Permits("smtp", "normal", Broken(), Unlimited(), CALM, lambda _: None)
    async with asyncio.timeout(1):
        answers = await asyncio.gather(*(permits.take() for _ in range(3)), return_exceptions=True)
        assert [type(answer) for answer in answers] == [RuntimeError] * 3
        with pytest.raises(RuntimeError):
            await permits.take()


async def test_a_lane_takes_up_no_more_when_as_many_are_on_their_way() -> None:
    order = Order(CALM)
    jobs = [Job(arrived(b""), mail(f"u{n}")) for n in range(5)]
    for job in jobs:
        order.enter(job)
    room = asyncio.ensure_future(order.room(3))
    await asyncio.sleep(0.01)
    assert not room.done()
    for job in jobs[:2]:
        order.leave(job)
    await asyncio.wait_for(room, 1)
    assert order.size == 3


@given(st.lists(st.sampled_from("abc"), min_size=1, max_size=12), st.randoms(use_true_random=False))
def test_whoever_ends_first_those_to_one_endpoint_go_in_their_order(users: list[str], chance: random.Random) -> None:
    async def gone() -> list[Job]:
        order, went = Order(Waits(lambda: False)), list[Job]()
        for job in jobs:
            order.enter(job)

        async def course(job: Job) -> None:
            assert await order.turn(job, 5)
            went.append(job)
            await asyncio.sleep(chance.random() / 1000)
            order.leave(job)

        await asyncio.gather(*(course(job) for job in chance.sample(jobs, len(jobs))))
        assert order.size == 0
        return went

    jobs = [Job(arrived(b""), mail(user)) for user in users]
    went = asyncio.run(gone())
    for user in "abc":
        assert [j for j in went if j.delivery.user_id == user] == [j for j in jobs if j.delivery.user_id == user]


async def test_alerts_begin_and_end_with_one_line_each(caplog: pytest.LogCaptureFixture) -> None:
    standing = Standing("smtp")
    caplog.set_level("INFO")
    for _ in range(3):
        standing.heard(Misconfigured("401 for ann@example.com"), NOW, 0.0)
    standing.heard(Sent(), NOW + 1, 0.0)
    standing.heard(Sent(), NOW + 2, 0.0)
    lines = [r.getMessage() for r in caplog.records if "misconfigured" in r.getMessage()]
    assert lines == ["provider.misconfigured provider=smtp on=True", "provider.misconfigured provider=smtp on=False"]
    assert "ann@example.com" not in caplog.text


async def test_a_longer_pause_stays() -> None:
    standing = Standing("smtp")
    standing.heard(TryLater("429", 60, "provider"), NOW, 0.0)
    standing.heard(TryLater("429", 10, "provider"), NOW, 0.0)
    assert [standing.takes_calls("high", NOW + ms) for ms in (59_999, 60_000)] == [False, True]


async def test_who_waited_for_a_paused_provider_in_vain_is_forgotten() -> None:
    """A pause may last for an hour, and a backlog looks again and again meanwhile."""
    standing = Standing("smtp")
    for _ in range(50):
        await standing.change(CALM, 0.001)
    assert len(standing._queue) == 1


@pytest.mark.parametrize(
    ("concurrency", "rate", "size"), [(16, 500, 100), (256, 5_000, 500), (256, 500, 250), (16, 10, 20), (1, 1e9, 100)]
)
def test_a_batch_keeps_all_slots_busy_and_gets_its_permits_within_a_second(
    concurrency: int, rate: float, size: int
) -> None:
    assert batch_size(concurrency, rate) == size
