"""`notify reconcile` over everything that a run has published."""

import time

from notify_streams import bootstrap
from notify_streams.ports import Records
from notify_streams.records.account import Account
from notify_streams.records.reconcile import reconcile
from notify_streams.settings import Settings


async def reconciled(settings: Settings, records: Records, *, since: int) -> Account:
    """From `since` (ms) until now, nothing excused."""
    return await reconcile(
        settings.kafka,
        records,
        bootstrap.catalogue(settings),
        bootstrap.limits(settings),
        since=since,
        until=round(time.time() * 1000) + 1,
        clock=lambda: round(time.time() * 1000),
        grace_ms=0,
    )
