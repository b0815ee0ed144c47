from notify_streams.local.health import Flow, total

TEXT = """# HELP notify_consumer_lag records not yet worked off
# TYPE notify_consumer_lag gauge
notify_consumer_lag{role="inbox",topic="a"} 3.0
notify_consumer_lag{role="inbox",topic="b"} 4.0
notify_consumer_lag_other 100.0
notify_stage_records_total{stage="in box"} 1e3
"""


def test_a_total_is_over_all_labels_and_no_other_name() -> None:
    assert total(TEXT, "notify_consumer_lag") == 7
    assert total(TEXT, "notify_stage_records_total") == 1000
    assert total(TEXT, "notify_events_total") is None


def test_a_rate_needs_two_looks_and_is_never_negative() -> None:
    before = Flow(at=10, records=100)
    assert Flow(at=12, records=150).rate(before) == 25
    assert Flow(at=12, records=20).rate(before) == 0
    assert Flow(at=12).rate(before) is None
