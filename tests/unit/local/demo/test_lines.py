"""What the files become on their way: sources of the run, instants from its start, the three forms of an event."""

import json
from datetime import UTC, datetime
from typing import Any

import msgspec
import pytest

from notify_streams.local.demo.lines import EventRecord, Line, Run, post, read, record

AT = datetime(2026, 11, 30, 10, 0, tzinfo=UTC)
RUN = Run.starting(AT)
EVENT = {
    "specversion": "1.0",
    "id": "order-1",
    "source": "/shop/orders",
    "type": "order.confirmed",
    "data": {"recipients": ["user-01"], "payload": {}},
}


def a_line(**fields: Any) -> Line:
    return msgspec.convert(fields, Line)


def value_of(event: EventRecord | None) -> Any:
    assert event is not None
    assert event.value is not None
    return json.loads(event.value)


def test_a_run_is_named_by_the_second_of_its_start() -> None:
    assert RUN.name == "20261130-100000"
    assert Run.starting(datetime(2026, 11, 30, 10, 0, 1, tzinfo=UTC)).name != RUN.name


def test_an_event_comes_from_a_source_of_the_run() -> None:
    sent = record(a_line(topic="low", event=EVENT), RUN)
    assert sent.lane == "low"
    assert value_of(sent)["source"] == "/demo/20261130-100000/shop/orders"
    assert RUN.is_mine(value_of(sent)["source"])


@pytest.mark.parametrize("source", ["/demo/20261130-10000/shop", "/demo/20261130-1000001/shop", "/keys/demo-2026"])
def test_other_sources_are_not_of_the_run(source: str) -> None:
    assert not RUN.is_mine(source)


def test_instants_count_from_the_start_of_the_run() -> None:
    data = value_of(record(a_line(event=EVENT, expires_in_s=-60, send_in_s=4), RUN))["data"]
    assert data["expires_at"] == "2026-11-30T09:59:00+00:00"
    assert data["send_at"] == "2026-11-30T10:00:04+00:00"


def test_binary_mode_carries_its_source_in_a_header() -> None:
    headers = {"ce_specversion": "1.0", "ce_id": "order-1", "ce_source": "/shop/orders", "ce_type": "order.confirmed"}
    sent = record(a_line(binary={"headers": headers, "data": EVENT["data"]}), RUN)
    assert sent.headers["ce_source"] == b"/demo/20261130-100000/shop/orders"
    assert sent.headers["content-type"] == b"application/json"
    assert value_of(sent) == EVENT["data"]


def test_raw_text_goes_out_as_it_is() -> None:
    assert record(a_line(topic="normal", raw="not json at all"), RUN).value == b"not json at all"


def test_a_null_is_a_tombstone() -> None:
    assert record(a_line(topic="normal", null=True), RUN).value is None


def test_the_short_form_is_met_by_ingest_under_the_key_of_the_run() -> None:
    short = {"type": "order.confirmed", "recipients": ["user-01"], "payload": {}}
    sent = post(a_line(short=short, idempotency_key="till-1"), RUN)
    assert json.loads(sent.body) == short
    assert sent.headers["Idempotency-Key"] == "till-1"
    met = value_of(sent.event)
    assert (met["id"], met["source"]) == ("till-1", "/keys/demo-20261130-100000")
    assert RUN.is_mine(met["source"])


def test_the_short_form_without_a_key_becomes_no_event() -> None:
    assert post(a_line(short={"type": "order.confirmed"}), RUN).event is None


def test_every_line_of_the_files_can_be_sent() -> None:
    assert all(record(line, RUN) for line in read("hour.jsonl"))
    assert all(post(line, RUN) for line in read("hour_http.jsonl"))
