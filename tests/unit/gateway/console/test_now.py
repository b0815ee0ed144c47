"""How the pipeline stands, in words."""

from notify_streams.gateway.console.figures import Snapshot, Window, parsed
from notify_streams.gateway.console.now import now, seconds

WORKER = """# TYPE notify_stage_records counter
notify_stage_records_total{{role="orchestrator",lane="normal"}} {records}
notify_consumer_lag{{role="orchestrator",topic="notifications.normal"}} {lag}
notify_queue_age_seconds{{role="orchestrator",lane="normal"}} {age}
# TYPE notify_deliveries counter
notify_deliveries_total{{channel="inapp",state="sent"}} {records}
"""
SENDER = """notify_consumer_lag{{role="sender-sms",topic="deliveries.sms.high"}} 0
notify_breaker_state{{provider="twilio"}} {state}
notify_provider_alert{{provider="twilio",alert="misconfigured"}} {alert}
# TYPE notify_attempts counter
notify_attempts_total{{channel="sms",provider="twilio",outcome="sent"}} {sent}
notify_attempts_total{{channel="sms",provider="twilio",outcome="retrying"}} {failed}
"""


def window(*, lag: int = 0, age: float = 0.0, state: int = 0, alert: int = 0, failed: int = 0) -> Window:
    then = {
        "w": parsed(WORKER.format(records=0, lag=0, age=0)),
        "s": parsed(SENDER.format(state=0, alert=0, sent=0, failed=0)),
    }
    later = {
        "w": parsed(WORKER.format(records=24_100, lag=lag, age=age)),
        "s": parsed(SENDER.format(state=state, alert=alert, sent=100, failed=failed)),
    }
    return Window(Snapshot(0.0, then), Snapshot(10.0, later))


def test_a_calm_system_is_said_in_one_sentence() -> None:
    found = now(window())
    assert (found.sentence, found.mood) == ("2,410 deliveries a second. 1 of 1 providers healthy.", "ok")
    orchestrator = next(hop for hop in found.hops if hop.role == "orchestrator")
    assert (orchestrator.rate, orchestrator.lag, orchestrator.processes) == (2410.0, 0, 1)


def test_an_open_breaker_is_named_with_its_beginning() -> None:
    found = now(window(state=2), opened={"twilio": 1_796_000_000.0})
    assert "twilio is open" in found.sentence
    assert found.mood == "bad"
    assert (found.providers[0].breaker, found.providers[0].since) == ("open", 1_796_000_000.0)


def test_refused_credentials_are_named() -> None:
    assert "twilio: misconfigured" in now(window(alert=1)).sentence


def test_a_role_that_is_far_behind_is_named() -> None:
    found = now(window(lag=12_345))
    assert "orchestrator is 12,345 records behind" in found.sentence
    assert found.mood == "bad"


def test_old_work_counts_only_where_something_is_left_to_do() -> None:
    assert now(window(age=300.0)).mood == "ok"
    slow = now(window(age=300.0, lag=50))
    assert slow.mood == "warn"
    assert "orchestrator works on what is 5 min old" in slow.sentence


def test_a_provider_that_fails_more_than_one_call_in_a_hundred_is_named() -> None:
    assert now(window(failed=1)).mood == "ok"
    found = now(window(failed=25))
    assert "twilio fails 20.0% of its calls" in found.sentence
    assert found.mood == "warn"


def test_processes_that_do_not_answer_are_named() -> None:
    found = now(window(), silent=("http://127.0.0.1:9/metrics",))
    assert "http://127.0.0.1:9/metrics does not answer" in found.sentence
    assert found.mood == "bad"


def test_without_any_process_it_says_so() -> None:
    empty = Window(Snapshot(0.0, {}), Snapshot(1.0, {}))
    assert now(empty).sentence == "No process of the pipeline has been seen yet."


def test_spans_are_read_at_a_glance() -> None:
    told = [seconds(value) for value in (0.0, 0.08, 0.099, 0.1, 0.64, 9.9, 9.96, 119, 240, 10_800)]
    assert told == ["0 ms", "80 ms", "99 ms", "0.1 s", "0.6 s", "9.9 s", "10 s", "119 s", "4 min", "3 h"]
