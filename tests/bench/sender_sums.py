"""What measured limits and lanes come to, as values."""

from collections.abc import Sequence

from tests.bench.latencies import percentile


def limit_error(per_s: float, limit: float) -> float:
    """How far a rate is off its limit, to either side, as a share of the limit."""
    return abs(per_s - limit) / limit


def summary(took: Sequence[float]) -> tuple[float, float, float]:
    """p50, p95 and p99 of these seconds, in any order."""
    ordered = sorted(took)
    return percentile(ordered, 0.5), percentile(ordered, 0.95), percentile(ordered, 0.99)
