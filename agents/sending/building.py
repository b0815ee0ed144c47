"""One lane of a channel's sender, put together."""

from collections.abc import Callable, Mapping, Sequence

import msgspec

from agents.clock import Clock, wall_clock
from agents.sending.composing import Compose
from agents.sending.course import Course
from agents.sending.keyring import Keyring
from agents.sending.lines import Line, Lines
from agents.sending.order import Order
from agents.sending.permits import Permits
from agents.sending.saying import Saying, Terms
from agents.sending.sender import Sender
from agents.sending.slots import Slots
from agents.sending.standing import Standing
from agents.sending.waits import Waits
from notify_streams.ports import DeliveryKeys, Limiter, Provider, Unread
from schemas.stops import Gate
from schemas.words import Lane


class Shared(msgspec.Struct, frozen=True, kw_only=True):
    """What the lanes of one channel share in a process. `standings` by provider; `concurrency` calls per lane and
    provider; `own_limiter` is this process's share of each rate. With `unread` messages say how many are.
    """

    terms: Terms
    concurrency: int
    standings: Mapping[str, Standing]
    keys: DeliveryKeys
    own_memory: DeliveryKeys
    limiter: Limiter
    own_limiter: Limiter
    waits: Waits
    compose: Compose
    gate: Callable[[int, bytes], Gate]
    jitter: Callable[[], float]
    clock: Clock = wall_clock
    unread: Unread | None = None


def a_lane(shared: Shared, providers: Sequence[Provider], lane: Lane) -> Sender:
    """The sender of one lane, with these providers of its own in the order of the chain."""
    lines = Lines([_line(shared, provider, lane) for provider in providers], lane)
    keyring = Keyring(shared.keys, shared.own_memory, shared.waits)
    order = Order(shared.waits)
    saying = Saying(shared.terms, lane, lines, shared.waits, jitter=shared.jitter, clock=shared.clock)
    course = Course(
        shared.terms,
        lane,
        lines,
        keyring,
        order,
        shared.waits,
        saying,
        compose=shared.compose,
        gate=shared.gate,
        jitter=shared.jitter,
        clock=shared.clock,
    )
    return Sender(course, saying, keyring, order, shared.terms, shared.unread)


def _line(shared: Shared, provider: Provider, lane: Lane) -> Line:
    standing = shared.standings[provider.name]

    def paused(for_ms: int) -> None:
        standing.pause(shared.clock() + for_ms)

    permits = Permits(provider.name, lane, shared.limiter, shared.own_limiter, shared.waits, paused)
    return Line(provider, standing, Slots(shared.concurrency, shared.waits), permits)
