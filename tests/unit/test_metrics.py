"""Metrics that would mislead."""

from prometheus_client import REGISTRY

from notify_streams.metrics import QUEUE_AGE, nothing_waits


def test_a_queue_that_is_empty_is_not_as_old_as_what_came_last() -> None:
    age = QUEUE_AGE.labels(role="test", lane="high")
    age.set(90)
    nothing_waits()
    labels = {"role": "test", "lane": "high"}
    assert REGISTRY.get_sample_value("notify_queue_age_seconds", labels) == 0
    age.set(2)
    assert REGISTRY.get_sample_value("notify_queue_age_seconds", labels) == 2
