"""Delivery keys in this process's memory: for tests, and for HIGH while Redis is away."""

from collections import OrderedDict
from collections.abc import Sequence

from notify_streams.ports import Claim
from schemas.deliveries import DeliveryV1
from schemas.outcomes import OutcomeV1

_KEPT = 50_000


class MemoryDeliveryKeys:
    """Implements `ports.DeliveryKeys`; forgets the oldest beyond 50,000. Knows nothing of other processes."""

    def __init__(self) -> None:
        self._ended: OrderedDict[str, OutcomeV1] = OrderedDict()
        self._calling: dict[str, tuple[int, int]] = {}

    async def claim(self, deliveries: Sequence[DeliveryV1]) -> Sequence[Claim]:
        """See ports.DeliveryKeys."""
        return [self._claim(delivery) for delivery in deliveries]

    async def calling(self, deliveries: Sequence[DeliveryV1], now: int) -> Sequence[bool]:
        """See ports.DeliveryKeys."""
        return [self._call(delivery, now) for delivery in deliveries]

    async def ended(self, outcomes: Sequence[OutcomeV1]) -> None:
        """See ports.DeliveryKeys."""
        for outcome in outcomes:
            if outcome.state != "sent" and self._is_past(outcome):
                continue
            self._calling.pop(outcome.delivery_id, None)
            self._ended[outcome.delivery_id] = outcome
            self._ended.move_to_end(outcome.delivery_id)
        while len(self._ended) > _KEPT:
            self._ended.popitem(last=False)

    def _call(self, delivery: DeliveryV1, now: int) -> bool:
        free = self._claim(delivery).status == "mine"
        if free:
            self._calling[delivery.delivery_id] = (delivery.attempt, now)
        return free

    def _is_past(self, outcome: OutcomeV1) -> bool:
        attempt, _ = self._calling.get(outcome.delivery_id, (0, 0))
        known = self._ended.get(outcome.delivery_id)
        ended = known is not None and (known.state == "sent" or known.attempt > outcome.attempt)
        return ended or attempt > outcome.attempt

    def _claim(self, delivery: DeliveryV1) -> Claim:
        attempt, since = self._calling.get(delivery.delivery_id, (0, 0))
        if attempt == delivery.attempt:
            return Claim("unknown", since=since)
        if attempt > delivery.attempt:
            return Claim("done")
        outcome = self._ended.get(delivery.delivery_id)
        if outcome is not None and (outcome.state == "sent" or outcome.attempt >= delivery.attempt):
            return Claim("done", outcome)
        return Claim("mine")
