"""Which accepted notifications have not come to an end, asked of the facts in Cassandra."""

import asyncio
import time
from collections.abc import Callable, Mapping

from notify_streams.domain.status import ChannelStatus, NotificationStatus, fold, is_final
from notify_streams.ports import Records, Unavailable
from tests.system.traffic import Event

_AT_ONCE, _LOOK_S = 500, 1.0


class Finality:
    """Remembers what was final, and asks for the rest only."""

    def __init__(self, records: Records, accepted: Mapping[str, Event]) -> None:
        self._records, self._accepted = records, accepted
        self._final: set[str] = set()
        self.last: list[Event] = []
        self.latest: Event | None = None

    async def open(self) -> list[Event]:
        """Those that are not final now. Raises Unavailable."""
        asked = [event for id_, event in list(self._accepted.items()) if id_ not in self._final]
        for at in range(0, len(asked), _AT_ONCE):
            part = asked[at : at + _AT_ONCE]
            facts = await self._records.facts_of([event.notification_id for event in part])
            for event in part:
                status = fold(event.notification_id, facts[event.notification_id])
                if status is not None and is_final(status):
                    self._final.add(event.id)
        self.last = [event for event in asked if event.id not in self._final]
        return self.last

    async def reached(self, *, limit_s: float, of: Callable[[], set[str]]) -> float | None:
        """Seconds until all events that `of` names now are final; None when `limit_s` was not enough."""
        began, names = time.monotonic(), of()
        self.latest = None
        while time.monotonic() - began < limit_s:
            try:
                late = [event for event in await self.open() if event.id in names]
                if not late:
                    return time.monotonic() - began
                self.latest = late[0]
            except Unavailable:
                pass
            await asyncio.sleep(_LOOK_S)
        return None

    async def describe(self, event: Event) -> str:
        """What is known of one that is not final, in a line."""
        facts = (await self._records.facts_of([event.notification_id]))[event.notification_id]
        status = fold(event.notification_id, facts)
        if status is None:
            return f"{event.id} {event.lane} {event.notification_id}: nothing is recorded"
        channels = "; ".join(_in_words(status, channel) for channel in status.channels)
        return f"{event.id} {event.lane} {event.notification_id}: {channels} {' '.join(status.flags)}"


def _in_words(status: NotificationStatus, channel: ChannelStatus) -> str:
    attempts = [
        f"{attempt.state} {attempt.detail} after {(attempt.at - status.accepted_at) / 1000:.1f} s"
        for delivery in channel.deliveries
        for attempt in delivery.attempts
    ]
    return f"{channel.channel} {channel.state} ({', '.join(attempts)})"
