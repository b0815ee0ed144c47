"""The three forms of an event, and pointers into them."""

import json

import pytest
from multidict import CIMultiDict

from notify_streams.domain.accept import Rejected
from notify_streams.gateway.envelopes import envelope_of, pointer_of, problem_of
from notify_streams.gateway.problems import Problem

SHORT = {"type": "order.confirmed", "recipients": ["ann"], "payload": {"n": 9007199254740993}, "time": "x"}


def test_the_short_form_becomes_a_structured_event_with_its_payload_untouched() -> None:
    body = json.dumps(SHORT, separators=(",", ":")).encode()
    envelope = envelope_of(CIMultiDict({"Idempotency-Key": "k-1"}), body, "/keys/shop")
    assert envelope.flat
    assert envelope.value == (
        b'{"specversion":"1.0","id":"k-1","source":"/keys/shop","type":"order.confirmed","time":"x",'
        b'"data":{"recipients":["ann"],"payload":{"n":9007199254740993}}}'
    )


def test_the_short_form_cannot_name_another_source() -> None:
    body = json.dumps(SHORT | {"source": "/bank", "id": "mine"}).encode()
    value = json.loads(envelope_of(CIMultiDict({"Idempotency-Key": "k"}), body, "/keys/shop").value)
    assert (value["source"], value["id"]) == ("/keys/shop", "k")


def test_attributes_in_headers_are_percent_decoded_and_part_of_the_digest() -> None:
    headers = CIMultiDict({"Content-Type": "application/json", "CE-specversion": "1.0", "Ce-Id": "caf%C3%A9"})
    one = envelope_of(headers, b"{}", "/keys/shop")
    assert one.headers["ce_id"] == "café".encode()
    headers["ce-id"] = "other"
    assert envelope_of(headers, b"{}", "/keys/shop").digest != one.digest


def test_a_traceparent_goes_along() -> None:
    headers = CIMultiDict({"Content-Type": "application/cloudevents+json", "traceparent": "00-a-b-01"})
    assert envelope_of(headers, b"{}", "/keys/shop").headers["traceparent"] == b"00-a-b-01"


@pytest.mark.parametrize("key", ["", "x" * 256, "a\tb"])
def test_a_key_that_cannot_be_an_id_is_refused(key: str) -> None:
    with pytest.raises(Problem, match="idempotency_key_required"):
        envelope_of(CIMultiDict({"Idempotency-Key": key}), b"{}", "/keys/shop")


@pytest.mark.parametrize(
    ("path", "flat", "pointer"),
    [
        ("$", False, ""),
        ("$.data.recipients[3]", False, "/data/recipients/3"),
        ("$.data.recipients[3]", True, "/recipients/3"),
        ("$.type", True, "/type"),
        ("$.data.payload.a/b", False, "/data/payload/a~1b"),
        ("$.channels[...]", False, "/channels/*"),
    ],
)
def test_a_path_becomes_a_pointer_into_the_callers_body(path: str, flat: bool, pointer: str) -> None:
    assert pointer_of(path, flat=flat) == pointer


@pytest.mark.parametrize(
    ("code", "reason", "status"),
    [
        ("event_too_large", "", 413),
        ("expansion_too_large", "", 413),
        ("too_deep", "", 400),
        ("invalid_json", "", 400),
        ("invalid_event", "expected an object", 422),
        ("unknown_type", "", 422),
    ],
)
def test_each_refusal_has_its_status(code: str, reason: str, status: int) -> None:
    assert problem_of(Rejected("$.data", reason, code), flat=False).body.status == status


def test_the_tenant_is_the_keys_and_makes_no_other_event_of_it() -> None:
    headers = CIMultiDict({"Content-Type": "application/cloudevents+json", "notify-tenant": "forged"})
    plain = envelope_of(headers, b"{}", "/keys/shop")
    assert "notify-tenant" not in plain.of_tenant("").headers
    assert plain.of_tenant("shop").headers["notify-tenant"] == b"shop"
    assert plain.of_tenant("shop").digest == plain.digest
