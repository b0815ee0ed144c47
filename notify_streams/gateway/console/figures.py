"""What processes say of themselves at two instants, and what happened in between. Pure."""

from collections import defaultdict
from collections.abc import Iterator, Mapping
from math import inf, isnan

import msgspec
from prometheus_client.parser import text_string_to_metric_families

Labels = tuple[tuple[str, str], ...]
Samples = Mapping[tuple[str, Labels], float]


class Snapshot(msgspec.Struct, frozen=True):
    """Samples by process at one instant (s, monotonic); a process that did not answer is missing."""

    at: float
    by_process: Mapping[str, Samples]


def parsed(text: str) -> Samples:
    """The Prometheus text format; the project's own metrics only. Raises ValueError for anything else."""
    return {
        (sample.name, tuple(sorted(sample.labels.items()))): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
        if sample.name.startswith("notify_") and not isnan(sample.value)
    }


class Window:
    """From one snapshot to a later one. Labels given by keyword narrow what is looked at."""

    def __init__(self, then: Snapshot, now: Snapshot) -> None:
        self.then, self.now = then, now
        self.seconds = max(1e-9, now.at - then.at)

    def rate(self, name: str, **labels: str) -> float:
        """How much a counter grew per second, over all processes. A restart begins at nought."""
        return sum(grown for _, grown in self._grown(name, labels)) / self.seconds

    def rates(self, name: str, by: str, **labels: str) -> dict[str, float]:
        """The same by the values of one label."""
        found: dict[str, float] = defaultdict(float)
        for at, grown in self._grown(name, labels):
            found[dict(at).get(by, "")] += grown / self.seconds
        return dict(found)

    def values(self, name: str, **labels: str) -> list[tuple[dict[str, str], float]]:
        """The gauges of that name as they are now, one per process and set of labels."""
        return [
            (dict(at), value)
            for samples in self.now.by_process.values()
            for (known, at), value in samples.items()
            if known == name and _fits(at, labels)
        ]

    def total(self, name: str, **labels: str) -> float | None:
        """Their sum; None where nobody has it."""
        values = [value for _, value in self.values(name, **labels)]
        return sum(values) if values else None

    def greatest(self, name: str, **labels: str) -> float | None:
        """The greatest of them; None where nobody has it."""
        return max((value for _, value in self.values(name, **labels)), default=None)

    def quantile(self, name: str, share: float, **labels: str) -> float | None:
        """Of a histogram's observations in between, in straight lines within its buckets; None where there were none.

        What is beyond the last bound counts as that bound.
        """
        counts: dict[float, float] = defaultdict(float)
        for at, grown in self._grown(f"{name}_bucket", labels):
            counts[_bound(dict(at)["le"])] += grown
        total = counts.get(inf, 0.0)
        if not total:
            return None
        wanted, below, before = share * total, 0.0, 0.0
        for bound in sorted(counts):
            if counts[bound] >= wanted:
                if bound == inf or counts[bound] == before:
                    return below
                return below + (bound - below) * (wanted - before) / (counts[bound] - before)
            below, before = bound, counts[bound]
        return below

    def _grown(self, name: str, labels: Mapping[str, str]) -> Iterator[tuple[Labels, float]]:
        for process, samples in self.now.by_process.items():
            earlier = self.then.by_process.get(process)
            if earlier is None:
                continue  # it may have counted for days before anybody looked
            for (known, at), value in samples.items():
                if known == name and _fits(at, labels):
                    before = earlier.get((known, at), 0.0)
                    yield at, value - before if value >= before else value


def _fits(at: Labels, wanted: Mapping[str, str]) -> bool:
    return not wanted or wanted.items() <= dict(at).items()


def _bound(text: str) -> float:
    return inf if text == "+Inf" else float(text)
