"""Every event of a span against the facts: what was accepted must have ended, or wait for something known."""

from collections.abc import Callable, Sequence
from time import perf_counter
from uuid import UUID

import msgspec

from notify_streams.domain.accept import Limits, Rejected, accept
from notify_streams.domain.status import NotificationStatus, fold, is_settled
from notify_streams.ports import Records
from notify_streams.settings import Kafka
from schemas.catalogue import Catalogue
from schemas.notifications import NotificationV1

from .account import LISTED, Account, still_open
from .event_log import Logged, Progress, events

MOST = 5_000_000  # notifications remembered to tell duplicates: about 80 bytes each
_LOOKED_UP_AT_ONCE = 500
_SECOND_LOOKS = 100_000
_SAMPLES = 1 << 16


class TooMany(RuntimeError):
    """The span holds more notifications than one run remembers: narrow it, or take a sample."""


async def reconcile(
    kafka: Kafka,
    records: Records,
    catalogue: Catalogue,
    limits: Limits,
    *,
    since: int,
    until: int,
    clock: Callable[[], int],
    grace_ms: int = 120_000,
    sample: float = 1.0,
    progress: Progress | None = None,
) -> Account:
    """The account of [since, until) in ms. Raises Unavailable, TooMany.

    `sample` is the share of events (by their identity) that is looked up. What is unsettled is looked up once more
    at the end, so that a run beside live traffic does not report what was merely under way.
    """
    started = perf_counter()
    run = _Run(records, catalogue, limits, Account(since=since, until=until, sample=sample), clock, grace_ms)
    async for batch in events(kafka, since=since, until=until, progress=progress):
        fresh = [notification for logged in batch for notification in run.take(logged)]
        for at in range(0, len(fresh), _LOOKED_UP_AT_ONCE):
            crowded = len(run.unsettled) >= _SECOND_LOOKS
            run.unsettled += await run.settle(fresh[at : at + _LOOKED_UP_AT_ONCE], last=crowded)
    for at in range(0, len(run.unsettled), _LOOKED_UP_AT_ONCE):
        await run.settle(run.unsettled[at : at + _LOOKED_UP_AT_ONCE], last=True)
    run.account.seconds = perf_counter() - started
    return run.account


class _Run:
    """What one run remembers."""

    def __init__(
        self,
        records: Records,
        catalogue: Catalogue,
        limits: Limits,
        account: Account,
        clock: Callable[[], int],
        grace_ms: int,
    ) -> None:
        self.account = account
        self.unsettled: list[NotificationV1] = []
        self._records, self._catalogue, self._limits = records, catalogue, limits
        self._clock, self._grace_ms = clock, grace_ms
        self._seen: set[int] = set()

    def take(self, logged: Logged) -> Sequence[NotificationV1]:
        """Count one record; the notifications that it is the first to make."""
        account = self.account
        account.published += 1
        if logged.tombstone:
            account.tombstones += 1
            return ()
        accepted = accept(logged.record, self._catalogue, self._limits)
        if isinstance(accepted, Rejected):
            account.rejected += 1
            account.rejections[accepted.code] += 1
            return ()
        prints = [(UUID(n.notification_id).int >> 64, n) for n in accepted.notifications]
        if prints[0][0] % _SAMPLES >= account.sample * _SAMPLES:
            account.unsampled += 1
            return ()
        fresh = [notification for print_, notification in prints if print_ not in self._seen]
        self._seen.update(print_ for print_, _ in prints)
        if len(self._seen) > MOST:
            raise TooMany(f"more than {MOST} notifications: choose a shorter span, or --sample")
        account.accepted += bool(fresh)
        account.duplicates += not fresh
        account.notifications += len(fresh)
        return fresh

    async def settle(self, notifications: Sequence[NotificationV1], *, last: bool) -> list[NotificationV1]:
        """Look up and count them; those that are not settled are returned instead, or at `last` reported."""
        found = await self._records.facts_of([n.notification_id for n in notifications])
        now, again = self._clock(), []
        for notification in notifications:
            status = fold(notification.notification_id, found[notification.notification_id])
            settled = status is not None and is_settled(status, overdue_before=now - self._grace_ms)
            if not settled and not last:
                again.append(msgspec.structs.replace(notification, content=None))
                continue
            if status is not None:
                self.account.add(status)
            if not settled:
                self._report(notification, found_status=status, now=now)
        return again

    def _report(self, notification: NotificationV1, *, found_status: NotificationStatus | None, now: int) -> None:
        case, account = still_open(notification, found_status), self.account
        if case.heard_at < now - self._grace_ms:
            account.unaccounted_count += 1
            listed = account.unaccounted
        else:
            account.in_flight_count += 1
            listed = account.in_flight
        if len(listed) < LISTED:
            listed.append(case)
