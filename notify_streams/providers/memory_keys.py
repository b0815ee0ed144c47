"""Delivery keys in this process's memory: for tests, and for HIGH while Redis is away."""

from collections import OrderedDict
from collections.abc import Sequence

from notify_streams.domain.outcomes import is_in_doubt
from notify_streams.ports import Claim
from schemas.deliveries import DeliveryV1
from schemas.outcomes import OutcomeV1

_KEPT = 50_000


class MemoryDeliveryKeys:
    """Implements `ports.DeliveryKeys`; forgets the oldest beyond 50,000. Knows nothing of other processes."""

    def __init__(self) -> None:
        self._ended: OrderedDict[str, OutcomeV1] = OrderedDict()
        self._calling: dict[str, tuple[int, int, str]] = {}
        self._settled: OrderedDict[str, Claim] = OrderedDict()

    async def claim(self, deliveries: Sequence[DeliveryV1]) -> Sequence[Claim]:
        """See ports.DeliveryKeys."""
        return [self._claim(delivery) for delivery in deliveries]

    async def calling(self, deliveries: Sequence[DeliveryV1], now: int, by: Sequence[str] = ()) -> Sequence[bool]:
        """See ports.DeliveryKeys."""
        names = by or [""] * len(deliveries)
        return [self._call(delivery, now, name) for delivery, name in zip(deliveries, names, strict=True)]

    async def uncalled(self, deliveries: Sequence[DeliveryV1], since: Sequence[int]) -> None:
        """See ports.DeliveryKeys."""
        for delivery, at in zip(deliveries, since, strict=True):
            if self._calling.get(delivery.delivery_id, (0, 0, ""))[:2] == (delivery.attempt, at):
                del self._calling[delivery.delivery_id]

    async def ended(self, outcomes: Sequence[OutcomeV1]) -> None:
        """See ports.DeliveryKeys."""
        for outcome in outcomes:
            if outcome.state != "sent" and self._is_past(outcome):
                continue
            self._calling.pop(outcome.delivery_id, None)
            self._settled.pop(outcome.delivery_id, None)
            self._ended[outcome.delivery_id] = outcome
            self._ended.move_to_end(outcome.delivery_id)
        while len(self._ended) > _KEPT:
            self._ended.popitem(last=False)

    async def settle(self, delivery_id: str, at: int, message_id: str | None = None) -> bool:
        """See ports.DeliveryKeys."""
        attempt, _, provider = self._calling.pop(delivery_id, (0, 0, ""))
        known = self._ended.get(delivery_id)
        if not attempt and known is not None and is_in_doubt(known):
            attempt, provider = known.attempt, known.provider
        if not attempt:
            return False
        self._settled[delivery_id] = Claim(
            "settled", since=at, message_id=message_id, provider=provider, attempt=attempt
        )
        while len(self._settled) > _KEPT:
            self._settled.popitem(last=False)
        return True

    def _call(self, delivery: DeliveryV1, now: int, by: str) -> bool:
        free = self._claim(delivery).status == "mine"
        if free:
            self._calling[delivery.delivery_id] = (delivery.attempt, now, by)
        return free

    def _is_past(self, outcome: OutcomeV1) -> bool:
        if outcome.delivery_id in self._settled:
            return True
        attempt, *_ = self._calling.get(outcome.delivery_id, (0, 0, ""))
        known = self._ended.get(outcome.delivery_id)
        ended = known is not None and (known.state == "sent" or known.attempt > outcome.attempt)
        return ended or attempt > outcome.attempt

    def _claim(self, delivery: DeliveryV1) -> Claim:
        if (settled := self._settled.get(delivery.delivery_id)) is not None:
            return settled
        attempt, since, provider = self._calling.get(delivery.delivery_id, (0, 0, ""))
        if attempt == delivery.attempt:
            return Claim("unknown", since=since, provider=provider, attempt=attempt)
        if attempt > delivery.attempt:
            return Claim("done")
        outcome = self._ended.get(delivery.delivery_id)
        if outcome is not None and (outcome.state == "sent" or outcome.attempt >= delivery.attempt):
            return Claim("done", outcome)
        return Claim("mine")
