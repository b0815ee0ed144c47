"""The providers of one channel and lane, in the order of the chain, each with its slots and permits."""

from collections.abc import Collection, Sequence
from typing import NamedTuple

from agents.sending.permits import Permits
from agents.sending.slots import Slots
from agents.sending.standing import Standing
from notify_streams.domain.routing import By, Route, is_left, route
from notify_streams.ports import Message, Provider
from schemas.deliveries import DeliveryV1
from schemas.words import Lane


class Line(NamedTuple):
    """One provider, as one lane reaches it."""

    provider: Provider
    standing: Standing
    slots: Slots
    permits: Permits

    def takes_calls(self, lane: Lane, now: int) -> bool:
        """Whether it is worth asking."""
        return self.standing.takes_calls(lane, now) and not self.slots.is_stuck


class Lines:
    """All of them; their names are different."""

    def __init__(self, lines: Sequence[Line], lane: Lane) -> None:
        self._lines = {line.provider.name: line for line in lines}
        self._lane: Lane = lane

    def __getitem__(self, name: str) -> Line:
        return self._lines[name]

    def named(self, name: str) -> Line:
        """That one; the first of the chain where there is none of that name any more."""
        return self._lines.get(name) or next(iter(self._lines.values()))

    def chain(self, delivery: DeliveryV1, message: Message) -> tuple[str, ...]:
        """Who carries it, in order; alone the provider that may have it already."""
        carriers = tuple(name for name, line in self._lines.items() if line.provider.takes(message))
        return (delivery.by,) if delivery.by in carriers else carriers

    def harm_nobody(self, chain: Sequence[str]) -> bool:
        """Whether a batch that waits for these keeps no other provider waiting."""
        return len(chain) == len(self._lines)

    def route(self, chain: Sequence[str], avoid: Collection[str], now: int) -> Route:
        """To whom it goes at `now` (ms)."""
        first = self._lines[chain[0]] if chain else None
        if first is not None and first.takes_calls(self._lane, now) and chain[0] not in avoid:
            return By(chain[0])
        return route(chain, avoid=avoid, closed_to=self._closed(chain, now))

    def another_left(self, chain: Sequence[str], avoid: Collection[str], now: int) -> bool:
        """Whether there is one that has not failed it and takes calls."""
        return is_left(chain, avoid=avoid, closed_to=self._closed(chain, now))

    def opens_at(self, chain: Sequence[str], now: int) -> int:
        """When the first of them may take calls again (ms)."""
        return min((self._lines[name].standing.opens_at(self._lane, now) for name in chain), default=now)

    def first_closed(self, chain: Sequence[str], now: int) -> Standing:
        """The one that opens first."""
        return min((self._lines[name].standing for name in chain), key=lambda s: s.opens_at(self._lane, now))

    def _closed(self, chain: Sequence[str], now: int) -> frozenset[str]:
        return frozenset(name for name in chain if not self._lines[name].takes_calls(self._lane, now))
