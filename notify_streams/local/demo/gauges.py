"""What the programs count of themselves, read from their /metrics."""

import asyncio
from collections.abc import Mapping

import aiohttp
import msgspec
from prometheus_client.parser import text_string_to_metric_families

from notify_streams.local.health import metrics


class Counts(msgspec.Struct, frozen=True, kw_only=True):
    """Since the start of the programs. `lag` is in records, over what ingest and the orchestrator read."""

    accepted: int = 0
    tombstones: int = 0
    decided: int = 0
    dropped: int = 0
    inbox: int = 0
    lag: int = 0

    def since(self, before: "Counts") -> "Counts":
        """The difference; the lag as it is."""
        counted = ("accepted", "tombstones", "decided", "dropped", "inbox")
        return Counts(lag=self.lag, **{name: getattr(self, name) - getattr(before, name) for name in counted})


async def counts(http: aiohttp.ClientSession, programs: Mapping[str, str]) -> Counts:
    """From base addresses by name; zeros of a program that does not answer."""
    roles = ("ingest", "orchestrator", "inbox")
    texts = await asyncio.gather(*(metrics(http, programs[role] + "/metrics") for role in roles))
    ingest, orchestrator, inbox = (_samples(text) for text in texts)
    return Counts(
        accepted=_sum(ingest, "notify_events_total", outcome="accepted"),
        tombstones=_sum(ingest, "notify_events_total", outcome="tombstone"),
        decided=_sum(orchestrator, "notify_stage_records_total"),
        dropped=_sum(orchestrator, "notify_duplicates_total", stage="orchestrator"),
        inbox=_sum(inbox, "notify_deliveries_total", state="sent"),
        lag=_sum(ingest, "notify_consumer_lag") + _sum(orchestrator, "notify_consumer_lag"),
    )


_Samples = list[tuple[str, dict[str, str], float]]


def _samples(text: str) -> _Samples:
    return [(s.name, s.labels, s.value) for family in text_string_to_metric_families(text) for s in family.samples]


def _sum(samples: _Samples, name: str, **labels: str) -> int:
    return round(sum(value for known, own, value in samples if known == name and labels.items() <= own.items()))
