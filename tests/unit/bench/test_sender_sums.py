"""Sums of `scripts/bench senders`."""

import pytest

from tests.bench.sender_sums import limit_error, summary


@pytest.mark.parametrize(("per_s", "error"), [(500.0, 0.0), (495.0, 0.01), (505.0, 0.01), (0.0, 1.0)])
def test_the_error_of_a_limit_counts_to_either_side(per_s: float, error: float) -> None:
    assert limit_error(per_s, 500.0) == pytest.approx(error)


def test_a_summary_does_not_depend_on_the_order_of_what_was_measured() -> None:
    took = [float(n) for n in range(1, 1001)]
    p50, p95, p99 = summary(took)
    assert summary(took[::-1]) == (p50, p95, p99)
    assert (p50, p95, p99) == pytest.approx((500, 950, 990), abs=2)
