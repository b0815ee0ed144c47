"""Senders on a real Redis: processes that end at the worst moment, and a Redis that goes away in between."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import suppress
from typing import Any, Protocol
from urllib.parse import urlsplit

import msgspec
import pytest

from agents.sending.sender import Sender
from notify_streams.domain.answers import Answer, EndpointGone, Sent, TryLater
from notify_streams.ports import Message
from notify_streams.providers.delivery_keys import RedisDeliveryKeys
from notify_streams.settings import Redis
from notify_streams.stores.redis import Expendable
from schemas.deliveries import DeliveryV1, decode_delivery
from schemas.words import Reason
from tests import sending
from tests.builders import MINUTE, NOW, a_delivery, an_id
from tests.fakes import Provider, Renderer
from tests.sending import states, work


class Wire:
    """A real Redis behind a wire that can be cut."""

    def __init__(self, redis: Redis) -> None:
        parts = urlsplit(redis.url)
        self._host, self._port = parts.hostname or "", parts.port or 0
        self._writers: list[asyncio.StreamWriter] = []
        self._tasks: set[asyncio.Task[None]] = set()
        self.cut = self._deaf = False
        self.url = ""

    async def open(self) -> None:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        self.url = f"redis://127.0.0.1:{self._server.sockets[0].getsockname()[1]}/0"

    async def close(self) -> None:
        self._server.close()
        self._hang_up()
        for task in [*self._tasks]:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def _hang_up(self) -> None:
        for writer in self._writers:
            writer.close()
        self._writers.clear()

    def lose_answers(self) -> None:
        """The next request passes, its answer does not, and then it is cut."""
        self._deaf = True

    def go_away(self) -> None:
        self.cut = True
        self._hang_up()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if self.cut:
            writer.close()
            return
        there, back = await asyncio.open_connection(self._host, self._port)
        self._writers += [writer, back]
        for source, sink, is_answer in ((reader, back, False), (there, writer, True)):
            task = asyncio.create_task(self._pass(source, sink, is_answer))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

    async def _pass(self, source: asyncio.StreamReader, sink: asyncio.StreamWriter, is_answer: bool) -> None:
        with suppress(OSError):
            while data := await source.read(65536):
                if is_answer and self._deaf:
                    self.go_away()
                    return
                sink.write(data)
                await sink.drain()


@pytest.fixture
async def wire(redis: Redis) -> AsyncIterator[Wire]:
    made = Wire(redis)
    await made.open()
    yield made
    await made.close()


class Process(Protocol):
    """Starts one more sender process."""

    def __call__(self, provider: Provider, renderer: Renderer | None = None, *, concurrency: int = 4) -> Sender:
        """With keys and a memory of its own."""


@pytest.fixture
async def process(redis: Redis) -> AsyncIterator[Process]:
    opened: list[Expendable] = []

    def start(provider: Provider, renderer: Renderer | None = None, *, concurrency: int = 4) -> Sender:
        opened.append(Expendable(redis))
        return a_sender(provider, opened[-1], renderer, concurrency=concurrency)

    yield start
    for expendable in opened:
        await expendable.close()


def a_sender(
    provider: Provider, redis: Expendable, renderer: Renderer | None = None, *, concurrency: int = 4
) -> Sender:
    return sending.a_sender(provider, RedisDeliveryKeys(redis), renderer=renderer, concurrency=concurrency)


def a_mail(user: str = "ann", **changes: Any) -> DeliveryV1:
    return msgspec.structs.replace(a_delivery(an_id(), user_id=user), **changes)


class Killed(BaseException):
    """The process ends here: nothing of what would have followed happens."""


class Dying(Provider):
    """Ends its process when it is called for the mail number `at`, before or after the provider has it."""

    def __init__(self, at: int, *answers: Answer, taken: bool) -> None:
        super().__init__(*answers)
        self._at, self._taken, self._calls = at, taken, 0

    async def send(self, mail: Message, *, now: int) -> Answer:
        self._calls += 1
        if self._calls < self._at:
            return await super().send(mail, now=now)
        if self._taken:
            await super().send(mail, now=now)
        raise Killed


async def test_what_one_process_has_sent_another_only_says_again(process: Process) -> None:
    first, second, delivery = Provider(Sent("m-1")), Provider(Sent("m-2")), a_mail()
    before = await work(process(first), delivery)
    after = await work(process(second), delivery)
    assert [o for _, o in after.outcomes] == [o for _, o in before.outcomes]
    assert (len(first.mails), len(second.mails)) == (1, 0)


@pytest.mark.parametrize("taken", [True, False])
async def test_killed_in_the_call_its_successor_leaves_it_alone_until_the_lock_ends(
    process: Process, taken: bool
) -> None:
    """IDM-03. One repeat at most, after the lock, with the same identity; never silently acknowledged."""
    dying, successor, delivery = Dying(1, taken=taken), Provider(Sent("m-2")), a_mail()
    with pytest.raises(Killed):
        await work(process(dying), delivery)
    sender = process(successor)
    results = await work(sender, delivery)
    [(_, outcome)], [(_, timer)] = results.outcomes, results.timers
    assert (outcome.state, outcome.attempt, timer.due_at) == ("unknown", 1, NOW + 10 * MINUTE)
    assert successor.mails == []
    again = decode_delivery(bytes(timer.payload))
    assert again.attempt == 2
    assert states(await work(sender, again)) == ["sent"]
    assert {m.delivery_id for m in (*dying.mails, *successor.mails)} == {delivery.delivery_id}


async def test_killed_after_the_claim_its_successor_takes_over_at_once(process: Process) -> None:
    def die() -> None:
        raise Killed

    provider, delivery, renderer = Provider(), a_mail(), Renderer()
    renderer.before = die
    with pytest.raises(Killed):
        await work(process(Provider(), renderer), delivery)
    assert states(await work(process(provider), delivery)) == ["sent"]


async def test_killed_in_the_middle_of_a_batch_only_the_call_in_flight_may_repeat(process: Process) -> None:
    """IDM-05: ten mails, the fourth goes nowhere, killed at the seventh, one call at a time."""
    batch = [a_mail(endpoint_id=f"device-{n}") for n in range(10)]
    dying = Dying(7, Sent(), Sent(), Sent(), EndpointGone("550"), Sent(), taken=True)
    with pytest.raises(Killed):
        await work(process(dying, concurrency=1), *batch)
    successor = Provider(Sent())
    results = await work(process(successor, concurrency=1), *batch)
    assert len(dying.mails) == 7
    assert sorted(states(results)) == ["failed", *["sent"] * 8, "unknown"]
    assert [m.delivery_id for m in successor.mails] == [d.delivery_id for d in batch[7:]]


async def test_a_kill_before_the_end_was_kept_is_an_unknown_outcome(process: Process, wire: Wire) -> None:
    redis, delivery = Expendable(Redis(url=wire.url)), a_mail()
    provider = Provider(Sent())
    provider.before = wire.go_away
    assert states(await work(a_sender(provider, redis), delivery)) == ["sent"]
    await redis.close()
    assert states(await work(process(Provider()), delivery)) == ["unknown"]


async def test_redis_dies_between_claim_and_call_and_nothing_is_called(wire: Wire, process: Process) -> None:
    redis, provider = Expendable(Redis(url=wire.url)), Provider()
    provider.before = wire.go_away  # during the first wave: the second finds Redis gone
    batch = [a_mail("ann"), a_mail("ann"), a_mail("ann")]
    results = await work(a_sender(provider, redis), *batch)
    await redis.close()
    assert states(results) == ["sent", "retrying", "retrying"]
    assert [job.delivery for job, _ in results.timers] == batch[1:]
    assert states(await work(process(Provider()), *batch[1:])) == ["sent", "sent"]


async def test_redis_dies_in_a_batch_of_high_which_goes_on(wire: Wire) -> None:
    redis, provider = Expendable(Redis(url=wire.url)), Provider()
    provider.before = wire.go_away
    batch = [a_mail("ann"), a_mail("ann"), a_mail("bob")]
    sender = a_sender(provider, redis)
    assert states(await work(sender, *batch, hold=False)) == ["sent"] * 3
    assert states(await work(sender, *batch, hold=False)) == ["sent"] * 3
    assert len(provider.mails) == 3
    await redis.close()


async def test_an_answer_lost_on_the_wire_calls_nobody_and_loses_nothing(wire: Wire, process: Process) -> None:
    """Redis noted the call, the sender did not hear it: an unknown outcome, settled when the lock ends."""
    redis, provider, delivery = Expendable(Redis(url=wire.url)), Provider(), a_mail()
    renderer = Renderer()
    renderer.before = wire.lose_answers
    results = await work(a_sender(provider, redis, renderer), delivery)
    await redis.close()
    assert (provider.mails, [o.reason for _, o in results.outcomes]) == ([], [Reason.HELD])
    [(_, timer)] = results.timers
    assert states(await work(process(Provider()), decode_delivery(bytes(timer.payload)))) == ["unknown"]


async def test_flushed_after_the_claim_the_call_goes_on(process: Process, redis: Redis) -> None:
    flushing, provider, delivery = Expendable(redis), Provider(TryLater("421")), a_mail()
    await RedisDeliveryKeys(flushing).claim([delivery])
    await flushing.call(lambda client: client.delete(f"delivery:{delivery.delivery_id}"))
    await flushing.close()
    assert states(await work(process(provider), delivery)) == ["retrying"]


async def test_two_processes_with_the_same_batch_call_each_delivery_once(process: Process) -> None:
    one, other = Provider(pause=0.001), Provider(pause=0.001)
    batch = [a_mail(f"u{n}") for n in range(40)]
    await asyncio.gather(work(process(one), *batch), work(process(other), *batch))
    called = [m.delivery_id for m in (*one.mails, *other.mails)]
    assert len(called) == len(set(called)) == 40
