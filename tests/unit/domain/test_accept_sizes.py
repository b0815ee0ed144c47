"""How large, how deep and how precise an event may be."""

import time

import orjson
import pytest

from notify_streams.domain.accept import Rejected
from tests.accepting import accepted, binary, nested, outcome_of, with_payload, words
from tests.builders import a_record, an_event


@pytest.mark.parametrize(
    ("number", "reason"),
    [
        (b"NaN", "NaN is no JSON number"),
        (b"Infinity", "Infinity is no JSON number"),
        (b"-Infinity", "-Infinity is no JSON number"),
        (b"1e400", "number 1e400 is out of range"),
        (b"-1e400", "number -1e400 is out of range"),
        (b"1" * 5000, "a number of 5000 digits is out of range"),
    ],
)
@pytest.mark.parametrize(("before", "after", "path"), [(b"", b"", ""), (b'[1,{"deep":', b"}]", "[1].deep")])
def test_numbers_that_json_does_not_have_are_refused_by_name(
    number: bytes, reason: str, before: bytes, after: bytes, path: str
) -> None:
    """KAF-06, KAF-07"""
    value = with_payload(b'{"order":"1","amount":' + before + number + after + b"}")
    assert words(a_record(value)) == f"$.data.payload.amount{path}: {reason}"


@pytest.mark.parametrize("number", [b"9007199254740993", b"18446744073709551616", b"0.1", b"1.50", b"-0.0", b"1E2"])
def test_numbers_travel_digit_for_digit(number: bytes) -> None:
    """KAF-07"""
    [made] = accepted(a_record(with_payload(b'{"order":"1","n":' + number + b"}")))
    assert made.content is not None
    assert bytes(made.content.payload) == b'{"order":"1","n":' + number + b"}"


@pytest.mark.parametrize(
    ("value", "path"),
    [
        (with_payload(b'{"order":"\\ud800x"}'), "$.data.payload.order"),
        (with_payload(b'{"\\udc00":1}'), "$.data.payload"),
        (orjson.dumps(an_event()).replace(b'"ann"', b'"\\ud83dann"'), "$.data.recipients[0]"),
    ],
)
def test_half_a_surrogate_pair_is_no_text(value: bytes, path: str) -> None:
    assert words(a_record(value)) == f"{path}: half of a surrogate pair is no text"


@pytest.mark.parametrize("levels", [1, 31, 32])
def test_a_payload_of_32_levels_is_taken(levels: int) -> None:
    """SEC-10"""
    assert accepted(a_record(with_payload(nested(levels))))
    assert accepted(binary(b'{"recipients":["ann"],"payload":' + nested(levels) + b"}"))


@pytest.mark.parametrize("levels", [33, 34, 90, 110, 20_000])
def test_a_deeper_payload_is_refused_by_our_own_limit(levels: int) -> None:
    """SEC-10"""
    for record in (
        a_record(with_payload(nested(levels))),
        binary(b'{"recipients":["ann"],"payload":' + nested(levels) + b"}"),
    ):
        result = outcome_of(record)
        assert isinstance(result, Rejected)
        assert (result.reason, result.code) == ("nested deeper than 32 levels", "too_deep")


@pytest.mark.parametrize(
    "value",
    [
        b"[" * 40 + b'"' + b'\\"' * 100_000,
        b"[" * 40 + b'"' * 200_000,
        b"{" * 200_000,
        with_payload(b'{"order":1,' + b",".join(b'"k%05d":{}' % n for n in range(18_000)) + b"}"),
    ],
    ids=["quotes behind backslashes", "quotes", "braces", "many keys"],
)
def test_no_bytes_take_long_to_refuse(value: bytes) -> None:
    """SEC-10. The first of them once took minutes."""
    started = time.perf_counter()
    outcome_of(a_record(value))
    assert time.perf_counter() - started < 1


def padded_to(size: int) -> bytes:
    plain = with_payload(b'{"order":""}')
    return with_payload(b'{"order":"' + b"x" * (size - len(plain)) + b'"}')


def test_an_event_of_256_kib_is_taken_and_one_byte_more_is_not() -> None:
    """KAF-14"""
    limit = 256 * 1024
    assert accepted(a_record(padded_to(limit - 1)))
    assert accepted(a_record(padded_to(limit)))
    result = outcome_of(a_record(padded_to(limit + 1)))
    assert result == Rejected("$", "262145 bytes; an event has at most 262144", "event_too_large")


def test_a_foreign_record_of_three_megabytes_is_refused_for_its_size() -> None:
    """KAF-14"""
    assert words(a_record(b"\x00" * 3_000_000)) == "$: 3000000 bytes; an event has at most 262144"


def test_attributes_in_headers_count_as_the_events_size() -> None:
    assert words(binary(ce_comexample=b"x" * 300_000)).endswith("an event has at most 262144")


def test_a_fan_out_never_outgrows_its_limit() -> None:
    """KAF-14"""
    many = an_event(data={"recipients": [f"u{n}" for n in range(1000)], "payload": {"order": "x" * 17_000}})
    result = outcome_of(a_record(many))
    assert isinstance(result, Rejected)
    assert (result.path, result.code) == ("$.data.recipients", "expansion_too_large")
