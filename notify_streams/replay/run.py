"""A replay from its first record to its account."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from time import perf_counter
from uuid import UUID

from msgspec.structs import replace

from notify_streams.ports import Records
from notify_streams.replay.account import Account, Found
from notify_streams.replay.derive import Derived, Raw
from notify_streams.replay.fence import Clock, judge
from notify_streams.replay.plan import Selection, Span
from notify_streams.replay.sources import Source
from schemas.notifications import NotificationV1
from schemas.words import CHANNELS, Channel

Progress = Callable[[int, int], None]
_LOOKED_UP_AT_ONCE = 500
_INDEX_BITS = 7  # of 64: the lowest bits of a pair's print are its channel


class Run:
    """One pass over a source. What was met once is remembered: 8 bytes and Python's own for each pair."""

    def __init__(
        self, selection: Selection, read: Callable[[Raw], Derived], records: Records, clock: Callable[[], Clock]
    ) -> None:
        self.account = Account()
        self._selection, self._read, self._records, self._clock = selection, read, records, clock
        self._seen: set[int] = set()

    async def run(self, source: Source, spans: Mapping[int, Span], progress: Progress | None = None) -> Account:
        """The whole of it; `progress` is told offsets done and all. Raises Unavailable."""
        started, at = perf_counter(), {partition: first for partition, (first, _) in spans.items()}
        all_ = sum(end - first for first, end in spans.values())
        async for fetched in source.read(spans):
            fresh = [one for raw in fetched.records for one in self._take(raw)]
            for start in range(0, len(fresh), _LOOKED_UP_AT_ONCE):
                await self._look_up(fresh[start : start + _LOOKED_UP_AT_ONCE])
            at[fetched.partition] = fetched.position
            if progress is not None:
                progress(sum(at[p] - first for p, (first, _) in spans.items()), all_)
        self.account.seconds = perf_counter() - started
        return self.account

    def _take(self, raw: Raw) -> Sequence[NotificationV1]:
        """Count one record; what of it has not been met before."""
        account, derived = self.account, self._read(raw)
        account.read += 1
        if isinstance(derived, str):
            account.asides[derived] += 1
            return ()
        wanted = [one for one in derived if self._selection.takes(one)]
        account.taken += bool(wanted)
        account.filtered += not wanted
        account.notifications += len(wanted)
        return list(self._fresh(wanted))

    def _fresh(self, wanted: Sequence[NotificationV1]) -> Iterator[NotificationV1]:
        for notification in wanted:
            base = UUID(notification.notification_id).int >> 64 & ~_INDEX_BITS
            new: list[Channel] = []
            for channel in notification.channels:
                print_ = base | CHANNELS.index(channel)
                if print_ in self._seen:
                    self.account.add(channel, "repeated")
                else:
                    self._seen.add(print_)
                    new.append(channel)
            if new:
                yield replace(notification, channels=tuple(new))

    async def _look_up(self, notifications: Sequence[NotificationV1]) -> None:
        facts = await self._records.facts_of([n.notification_id for n in notifications])
        clock, account = self._clock(), self.account
        for notification in notifications:
            terms = judge(notification, facts[notification.notification_id], clock)
            for channel, term in terms.items():
                account.add(channel, term)
            missing = tuple(channel for channel, term in terms.items() if term == "missing")
            if missing:
                account.name(Found(notification.notification_id, notification.user_id, notification.type, missing))
