"""Whatever is lost, repeated, late or out of order, whoever disconnects, and however often a gateway goes."""

from dataclasses import dataclass, field
from typing import Any

import hypothesis.strategies as st
from hypothesis import event, given, settings

from notify_streams.gateway.live.session import Acts, Ask, Pace, Session
from notify_streams.gateway.live.told import Reading
from schemas.frames import Pong
from tests.unit.gateway.live.streams import Client, a_change, a_reading, sent

KEPT = 6
STEPS = st.one_of(
    st.tuples(st.just("item"), st.sampled_from(["heard", "late", "lost"])),
    st.tuples(st.just("burst"), st.integers(2, 2 * KEPT)),
    st.tuples(st.just("late ones come"), st.randoms(use_true_random=False)),
    st.tuples(st.just("repeat"), st.integers(1, 100)),
    st.tuples(st.just("time"), st.integers(1, 70_000)),
    st.tuples(st.just("answer"), st.booleans()),
    st.tuples(st.just("subscribed again"), st.none()),
    st.tuples(st.just("reconnect"), st.none()),
)


@dataclass
class World:
    """An inbox whose tail keeps a few, a channel that loses and mixes up, a client, and the gateway it is at."""

    top: int = 0
    now: int = 0
    tail: list[int] = field(default_factory=list)
    late: list[int] = field(default_factory=list)
    asked: Reading | None = None
    client: Client = field(default_factory=lambda: Client(at=0, seen=[]))

    def __post_init__(self) -> None:
        self.connect()

    def connect(self) -> None:
        """Perhaps at another gateway: nothing of the old one is left."""
        self.session = Session(self.client.at, now=self.now, pace=Pace())
        self.late.clear()
        self.look(self.client.at)

    def look(self, after: int | None) -> None:
        self.asked = a_reading(self.top, *(n for n in self.tail if n > (after or 0)))

    def do(self, acts: Acts) -> None:
        self.client.take(sent(acts))
        for act in acts:
            if isinstance(act, Ask):
                self.look(act.after)

    def step(self, what: str, how: Any) -> None:
        match what:
            case "item":
                self.item(how)
            case "burst":
                for _ in range(how):
                    self.item("lost")
            case "late ones come":
                how.shuffle(self.late)
                while self.late:
                    self.hear(self.late.pop())
            case "repeat" if self.top:
                self.hear(1 + how % self.top)
            case "time":
                self.wait(how)
            case "answer":
                self.answer(how)
            case "subscribed again":
                self.do(self.session.interrupted())
            case "reconnect":
                self.connect()

    def item(self, how: str) -> None:
        self.top += 1
        self.tail = [*self.tail, self.top][-KEPT:]
        if how == "heard":
            self.hear(self.top)
        elif how == "late":
            self.late.append(self.top)

    def hear(self, sequence: int) -> None:
        self.do(self.session.heard(a_change(sequence), self.now))

    def answer(self, well: bool) -> None:
        if self.asked is not None:
            reading, self.asked = self.asked, None
            self.do(self.session.read(reading, self.now) if well else self.session.unread(self.now))

    def wait(self, ms: int) -> None:
        end = self.now + ms
        while self.session.wakes_at <= end:
            self.now = max(self.now, self.session.wakes_at)
            self.do(self.session.tick(self.now))
            self.session.received(Pong(), self.now)
            if self.asked is None:
                continue
            self.answer(True)
        self.now = end


@given(steps=st.lists(STEPS, max_size=60))
@settings(max_examples=300)
def test_every_client_is_told_every_change_once_and_in_order(steps: list[tuple[str, Any]]) -> None:
    """INB-07. A reset is told only where the tail has forgotten, and says where the stream goes on."""
    world = World()
    for what, how in steps:
        world.step(what, how)
    world.answer(True)
    world.wait(600_000)
    assert world.client.at == world.top
    told, expected = world.client.seen, list(range(1, world.top + 1))
    event(f"resets: {world.client.resets}")
    assert told == (sorted(set(told)) if world.client.resets else expected)


@given(steps=st.lists(STEPS.filter(lambda step: step[0] != "burst"), max_size=KEPT))
def test_nothing_is_left_out_that_the_tail_still_tells(steps: list[tuple[str, Any]]) -> None:
    world = World()
    for what, how in steps:
        world.step(what, how)
    world.answer(True)
    world.wait(600_000)
    assert (world.client.resets, world.client.seen) == (0, list(range(1, world.top + 1)))
