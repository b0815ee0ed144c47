"""What happened between two looks at the processes' metrics."""

import pytest

from notify_streams.gateway.console.figures import Snapshot, Window, parsed

COUNTER = 'notify_attempts_total{{channel="email",outcome="{outcome}",provider="{provider}"}} {value}\n'
HEAD = "# TYPE notify_end_to_end_seconds histogram\n"


def observed(*counts: int) -> str:
    """So many at most 0.1, 0.5 and 2 s, and in all."""
    lines = (
        f'notify_end_to_end_seconds_bucket{{lane="high",le="{bound}"}} {count}\n'
        for bound, count in zip(("0.1", "0.5", "2.0", "+Inf"), counts, strict=True)
    )
    return HEAD + "".join(lines)


def attempts(**values: float) -> str:
    return "# TYPE notify_attempts counter\n" + "".join(
        COUNTER.format(outcome=outcome, provider="smtp", value=value) for outcome, value in values.items()
    )


def window(then: dict[str, str], now: dict[str, str], *, seconds: float = 10.0) -> Window:
    return Window(
        Snapshot(100.0, {name: parsed(text) for name, text in then.items()}),
        Snapshot(100.0 + seconds, {name: parsed(text) for name, text in now.items()}),
    )


def test_a_rate_is_what_all_processes_counted_in_between() -> None:
    found = window({"a": attempts(sent=100), "b": attempts(sent=7)}, {"a": attempts(sent=150), "b": attempts(sent=17)})
    assert found.rate("notify_attempts_total") == 6.0
    assert found.rates("notify_attempts_total", "outcome") == {"sent": 6.0}
    assert found.rate("notify_attempts_total", provider="ses") == 0.0


def test_a_restart_begins_at_nought_and_who_was_not_there_before_counts_from_the_next_look() -> None:
    found = window({"a": attempts(sent=1000)}, {"a": attempts(sent=30), "new": attempts(sent=5000)})
    assert found.rate("notify_attempts_total") == 3.0


def test_a_label_that_is_new_counts_from_nought() -> None:
    found = window({"a": attempts(sent=10)}, {"a": attempts(sent=10, failed=20)})
    assert found.rates("notify_attempts_total", "outcome") == {"sent": 0.0, "failed": 2.0}


@pytest.mark.parametrize(
    ("counts", "share", "value"),
    [
        ((0, 10, 10, 10), 0.5, 0.3),
        ((10, 10, 10, 10), 0.5, 0.05),
        ((5, 5, 5, 10), 0.99, 2.0),
        ((0, 0, 0, 4), 0.5, 2.0),
        ((2, 4, 6, 8), 0.25, 0.1),
    ],
)
def test_a_quantile_lies_in_its_bucket_and_beyond_the_last_bound_is_that_bound(
    counts: tuple[int, int, int, int], share: float, value: float
) -> None:
    found = window({"a": observed(0, 0, 0, 0)}, {"a": observed(*counts)})
    assert found.quantile("notify_end_to_end_seconds", share) == pytest.approx(value)
    assert found.quantile("notify_end_to_end_seconds", share, lane="low") is None


def test_of_no_observation_there_is_no_quantile() -> None:
    text = observed(3, 3, 3, 3)
    assert window({"a": text}, {"a": text}).quantile("notify_end_to_end_seconds", 0.5) is None


def test_gauges_are_as_they_are_now() -> None:
    lag = 'notify_consumer_lag{{role="inbox",topic="x"}} {}\n'
    found = window({"a": lag.format(1)}, {"a": lag.format(5), "b": lag.format(7)})
    assert found.total("notify_consumer_lag", role="inbox") == 12
    assert found.greatest("notify_consumer_lag", role="inbox") == 7
    assert found.total("notify_consumer_lag", role="ingest") is None


def test_what_is_not_the_projects_own_is_left_out() -> None:
    assert parsed("python_gc_objects_collected_total 3\nnotify_connections 4\n") == {("notify_connections", ()): 4.0}


def test_what_is_no_exposition_is_refused() -> None:
    with pytest.raises(ValueError, match=r"."):
        parsed("<html>no metrics here</html>")
