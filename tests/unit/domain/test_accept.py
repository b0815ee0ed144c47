"""What an event must be, and what a producer is told when it is not."""

import json
from typing import Any

import msgspec
import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from notify_streams.domain import ids
from notify_streams.domain.accept import Accepted, Record, Rejected, lowest, why_no_user_id
from schemas.notifications import NotificationV1
from schemas.words import LANE_BYTES, LANES, Lane
from tests.accepting import BODY, CATALOGUE, HEADERS, accepted, binary, outcome_of, words
from tests.builders import DAY, HOUR, NOW, a_record, an_event, ann_content


def test_an_event_becomes_one_notification_per_recipient_in_the_order_named() -> None:
    made = accepted(a_record(an_event(data={"recipients": ["ann", "bob"]})))
    assert [n.user_id for n in made] == ["ann", "bob"]
    assert [n.notification_id for n in made] == [
        ids.notification_id("/shop/orders", "order-123-confirmed", None, user) for user in ("ann", "bob")
    ]


def test_a_notification_carries_all_that_the_event_says() -> None:
    data = {
        "payload": {"order": "123", "total": 19.9},
        "channels": ["email", "inapp", "email"],
        "collapse_key": "c",
        "aggregation_key": "post:9:likes",
        "dedupe_key": "d-1",
        "locale": "fr-CA",
        "actor": {"id": "user-7", "name": "Änn"},
        "object": {"type": "post", "id": "9"},
        "send_at": "2026-09-21T14:13:21Z",
    }
    event = an_event(data=data, time="2026-09-21T16:13:19+02:00", traceparent="00-1-2-01")
    [made] = accepted(a_record(event, tenant="shop"))
    assert made.notification_id == ids.notification_id("/shop/orders", "ignored", "d-1", "ann")
    assert (made.type, made.source, made.event_id, made.dedupe_key) == (
        "order.confirmed",
        "/shop/orders",
        "order-123-confirmed",
        "d-1",
    )
    assert (made.accepted_at, made.origin, made.tenant) == (NOW, "notify.events.normal/0/7", "shop")
    assert (made.channels, made.collapse_key, made.aggregation_key) == (("email", "inapp"), "c", "post:9:likes")
    assert (made.locale, made.traceparent) == ("fr-CA", "00-1-2-01")
    assert (made.event_time, made.send_at) == (NOW - 1_000, NOW + 1_000)
    assert made.content is not None
    expected = ann_content()
    assert (made.content.actor, made.content.object, made.content.address) == (expected.actor, expected.object, None)


@pytest.mark.parametrize("name", ["dedupe_key", "collapse_key", "aggregation_key"])
def test_a_key_of_512_bytes_is_taken_in_both_modes(name: str) -> None:
    key = "é" * 256
    [made] = accepted(a_record(an_event(data={name: key})))
    assert getattr(made, name) == key
    data = orjson.dumps(an_event(data={name: key})["data"])
    assert getattr(accepted(binary(data))[0], name) == key


def test_without_channels_those_of_the_type_are_decided() -> None:
    [made] = accepted(a_record())
    assert made.channels == CATALOGUE.types["order.confirmed"].channels


def test_a_recipient_named_twice_gets_one_notification() -> None:
    """IDM-08"""
    assert len(accepted(a_record(an_event(data={"recipients": ["u1", "u1", "u2", "u1"]})))) == 2


def test_the_subject_stands_for_a_single_recipient() -> None:
    event = an_event(subject="bob")
    del event["data"]["recipients"]
    assert [n.user_id for n in accepted(a_record(event))] == ["bob"]


def test_beside_recipients_the_subject_is_the_producers_own_word() -> None:
    assert [n.user_id for n in accepted(a_record(an_event(subject="orders/" + "9" * 200)))] == ["ann"]


@pytest.mark.parametrize("extra", [{"datacontenttype": "application/json"}, {"dataschema": "x"}, {"comexample": 1}])
def test_unknown_fields_are_ignored(extra: dict[str, Any]) -> None:
    assert accepted(a_record(an_event(**extra, data={"shiny": [1, {"new": None}]})))


def test_structured_and_binary_mode_give_the_same_notification() -> None:
    structured = a_record(an_event(id="e-1", time="2026-09-21T16:13:19Z", subject="s", traceparent="t"))
    in_headers = binary(ce_time=b"2026-09-21T16:13:19Z", ce_subject=b"s", ce_traceparent=b"t", unrelated=b"\xff")
    assert encoded(accepted(structured)) == encoded(accepted(in_headers))


def encoded(made: tuple[NotificationV1, ...]) -> list[bytes]:
    return [msgspec.json.encode(notification) for notification in made]


def test_a_cloudevents_content_type_means_structured_whatever_the_headers() -> None:
    record = a_record(headers={**HEADERS, "ce_id": b"other", "content-type": b"application/cloudevents+json; v=1"})
    assert accepted(record)[0].event_id == "order-123-confirmed"


@pytest.mark.parametrize("broken", [{"content-type": None}, {"unrelated": None}])
def test_a_header_without_a_value_is_no_reason_to_stop(broken: dict[str, Any]) -> None:
    assert accepted(binary(**broken))


BAD_JSON = [b'{"a":', b"", b"[]", b'"text"', b"123", b"null", b"{}{}", b"\xff\xfe{}", b'{"a":"\xff"}', b"\x00"]


@pytest.mark.parametrize("value", BAD_JSON)
def test_what_is_no_json_object_is_refused_with_a_reason(value: bytes) -> None:
    """KAF-01"""
    result = outcome_of(a_record(value))
    assert isinstance(result, Rejected)
    assert result.path.startswith("$")
    assert result.reason


def test_a_byte_order_mark_before_a_good_event_is_ignored() -> None:
    """KAF-01"""
    assert accepted(a_record(b"\xef\xbb\xbf" + orjson.dumps(an_event())))
    assert accepted(binary(b"\xef\xbb\xbf" + BODY))


@pytest.mark.parametrize(
    ("event", "says"),
    [
        (an_event(specversion="0.3"), "$.specversion: expected `str` matching regex '^1\\\\.'"),
        (an_event(id=""), "$.id: expected `str` of length >= 1"),
        (an_event(source=7), "$.source: expected `str`, got `int`"),
        (an_event(type="order.lost"), "$.type: the catalogue has no type 'order.lost'"),
        (an_event(time="2026-09-21T16:13:19"), "$.time: expected `datetime` with a timezone component"),
        (an_event(time="yesterday"), "$.time: invalid RFC3339 encoded datetime"),
        (an_event(data={"send_at": "2026-09-21T16:13"}), "$.data.send_at: invalid RFC3339 encoded datetime"),
        (an_event(data={"expires_at": 5}), "$.data.expires_at: expected `datetime | null`, got `int`"),
        (an_event(data={"recipients": None}), "$.data.recipients: required: at least one user id"),
        (an_event(data={"recipients": []}), "$.data.recipients: expected `array` of length >= 1"),
        (an_event(data={"recipients": "ann"}), "$.data.recipients: expected `array | null`, got `str`"),
        (an_event(data={"recipients": ["a", "b", "c", 4]}), "$.data.recipients[3]: expected `str`, got `int`"),
        (an_event(data={"recipients": ["a", ""]}), "$.data.recipients[1]: expected `str` of length >= 1"),
        (an_event(data={"recipients": ["a", "b\n"]}), "$.data.recipients[1]: a user id has no control characters"),
        (an_event(data={"recipients": ["é" * 65]}), "$.data.recipients[0]: a user id has 1 to 128 bytes"),
        (an_event(data={"recipients": ["u"] * 1001}), "$.data.recipients: 1001 recipients; at most 1000"),
        (an_event(data={"recipients": None, "audience": {"all": True}}), "$.data.audience: audiences are not"),
        (an_event(data={"audience": {"segment": "vip"}}), "$.data.audience: audiences are not"),
        (an_event(data={"channels": ["fax"]}), "$.data.channels[0]: invalid enum value 'fax'"),
        (an_event(data={"channels": []}), "$.data.channels: expected `array` of length >= 1"),
        (an_event(data={"priority": "urgent"}), "$.data.priority: invalid enum value 'urgent'"),
        (an_event(data={"dedupe_key": ""}), "$.data.dedupe_key: expected `str` of length >= 1"),
        (an_event(data={"collapse_key": ""}), "$.data.collapse_key: expected `str` of length >= 1"),
        (an_event(data={"aggregation_key": ""}), "$.data.aggregation_key: expected `str` of length >= 1"),
        (an_event(data={"dedupe_key": "x" * 513}), "$.data.dedupe_key: expected `str` of length <= 512"),
        (an_event(data={"collapse_key": "é" * 257}), "$.data.collapse_key: a key has 1 to 512 bytes"),
        (an_event(data={"aggregation_key": "é" * 257}), "$.data.aggregation_key: a key has 1 to 512 bytes"),
        (an_event(data={"dedupe_key": "é" * 257}), "$.data.dedupe_key: a key has 1 to 512 bytes"),
        (an_event(data={"payload": [1]}), "$.data.payload: expected an object"),
        (an_event(data={"payload": None}), "$.data.payload: expected an object"),
        (an_event(data={"actor": {"name": "Ann"}}), "$.data.actor.id: required"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_fault_is_named_by_field_and_reason(event: dict[str, Any], says: str) -> None:
    assert words(a_record(event)).startswith(says)


@pytest.mark.parametrize("field", ["specversion", "id", "source", "type", "data"])
def test_a_missing_attribute_is_named(field: str) -> None:
    event = an_event()
    del event[field]
    assert words(a_record(event)) == f"$.{field}: required"


def test_a_missing_payload_is_named() -> None:
    event = an_event()
    del event["data"]["payload"]
    assert words(a_record(event)) == "$.data.payload: required"


@pytest.mark.parametrize(
    ("payload", "missing"),
    [({"order": "1"}, "carrier"), ({"carrier": "x"}, "order"), ({"order": None, "carrier": "x"}, "order")],
)
def test_a_variable_that_the_templates_need_is_named(payload: dict[str, Any], missing: str) -> None:
    """TPL-03"""
    result = outcome_of(a_record(an_event(type="order.shipped", data={"payload": payload})))
    assert result == Rejected(f"$.data.payload.{missing}", "the templates of order.shipped need it", "missing_variable")


def test_falsy_values_are_not_missing() -> None:
    """TPL-03"""
    assert accepted(a_record(an_event(type="order.shipped", data={"payload": {"order": 0, "carrier": ""}})))


@pytest.mark.parametrize(
    ("record", "says"),
    [
        (binary(ce_id=None), "$.id: expected `str` of length >= 1"),
        (binary(ce_source=b"\xff"), "$.source: not UTF-8 at byte 0"),
        (binary(ce_time=b"2026-01-01T00:00:00"), "$.time: expected `datetime` with a timezone component"),
        (binary(ce_type=b"order.lost"), "$.type: the catalogue has no type 'order.lost'"),
        (binary(b'{"recipients":["ann",2],"payload":{}}'), "$.data.recipients[1]: expected `str`, got `int`"),
        (binary(b'{"recipients":["ann"]}'), "$.data.payload: required"),
        (binary(b'{"recipients":["ann"],"payload":{"n":NaN}}'), "$.data.payload.n: NaN is no JSON number"),
        (binary(b'{"recipients":'), "$.data: "),
        (binary(b'{"payload":{}}', ce_subject=b"a\nb"), "$.subject: a user id has no control characters"),
        (binary(b'{"payload":{}}', ce_subject=b""), "$.data.recipients: required: at least one user id"),
        (a_record(BODY, headers={"ce_specversion": b"1.0"}), "$.id: required"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_in_binary_mode_the_fields_have_the_same_names(record: Record, says: str) -> None:
    assert words(record).startswith(says)


@pytest.mark.parametrize(
    "time", ["1970-01-01T00:00:00Z", "2026-09-23T16:13:20Z", "9999-12-31T23:59:59Z", "0001-01-01T00:00:00+14:00"]
)
def test_the_producers_clock_drives_nothing(time: str) -> None:
    """KAF-09"""
    [made] = accepted(a_record(an_event(time=time)))
    assert (made.accepted_at, made.expires_at) == (NOW, NOW + DAY)
    assert made.event_time is not None


def test_a_time_in_year_58000_is_refused_by_name() -> None:
    """KAF-09"""
    assert words(a_record(an_event(time="58000-01-01T00:00:00Z"))).startswith("$.time: ")


@pytest.mark.parametrize(
    ("data", "expires_at"),
    [
        ({}, NOW + HOUR),
        ({"expires_at": "2026-09-21T14:43:20Z"}, NOW + HOUR // 2),
        ({"expires_at": "2027-01-01T00:00:00Z"}, NOW + HOUR),
        ({"expires_at": "2020-01-01T00:00:00Z"}, 1_577_836_800_000),
        ({"send_at": "2026-09-21T16:13:20Z"}, NOW + 3 * HOUR),
        ({"send_at": "2020-01-01T00:00:00Z"}, NOW + HOUR),
        ({"send_at": "2026-09-21T16:13:20Z", "expires_at": "2026-09-21T15:13:20Z"}, NOW + HOUR),
    ],
)
def test_the_ttl_runs_from_the_later_of_acceptance_and_send_at_and_expires_at_shortens_it(
    data: dict[str, Any], expires_at: int
) -> None:
    [made] = accepted(a_record(an_event(type="social.like", data=data)))
    assert made.expires_at == expires_at


@given(st.lists(st.sampled_from(LANES), min_size=1))
def test_the_slowest_lane_wins(lanes: list[Lane]) -> None:
    assert LANE_BYTES[lowest(None, *lanes)] == max(LANE_BYTES[lane] for lane in lanes)


@pytest.mark.parametrize(
    ("type_", "priority", "published_on", "lane"),
    [
        ("chat", None, "high", "high"),
        ("chat", "high", "high", "high"),
        ("chat", "low", "high", "low"),
        ("chat", None, "low", "low"),
        ("order.confirmed", "high", "high", "normal"),
        ("social.like", "high", "high", "low"),
    ],
)
def test_an_event_can_only_be_slowed_down(type_: str, priority: str | None, published_on: Lane, lane: Lane) -> None:
    result = outcome_of(a_record(an_event(type=type_, data={"priority": priority}), lane=published_on))
    assert isinstance(result, Accepted)
    assert (result.lane, result.notifications[0].lane) == (lane, lane)


@given(st.binary(max_size=200), st.dictionaries(st.sampled_from([*HEADERS, "content-type"]), st.none() | st.binary()))
def test_no_bytes_and_no_headers_ever_raise(value: bytes, headers: dict[str, bytes | None]) -> None:
    result = outcome_of(a_record(value, headers=headers))
    assert isinstance(result, Accepted) or result.words.startswith("$")


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)
FIELDS = st.sampled_from(["recipients", "payload", "channels", "audience", "send_at", "actor", "locale", "priority"])


@given(
    st.dictionaries(st.sampled_from([*an_event(), "subject", "time"]), JSON),
    st.dictionaries(FIELDS, JSON),
    st.booleans(),
)
def test_no_values_in_known_fields_ever_raise(event: dict[str, Any], data: dict[str, Any], whole: bool) -> None:
    plain = {**an_event(data=data), **({} if whole else event)}
    result = outcome_of(a_record(json.dumps(plain).encode()))
    assert isinstance(result, Accepted) or result.path.startswith("$")


@given(st.integers(0, 400), st.binary(min_size=1, max_size=3))
def test_no_damage_to_a_good_event_ever_raises(at: int, damage: bytes) -> None:
    good = orjson.dumps(an_event())
    outcome_of(a_record(good[:at] + damage + good[at + len(damage) :]))


@given(st.text())
def test_a_user_id_is_1_to_128_bytes_without_control_characters(text: str) -> None:
    size = len(text.encode(errors="surrogatepass"))
    control = any(ord(c) < 32 or 127 <= ord(c) < 160 for c in text)
    assert (why_no_user_id(text) is None) == (1 <= size <= 128 and not control)


def test_the_trace_of_the_event_goes_before_that_of_its_record_and_no_trace_is_long() -> None:
    def traced(headers: dict[str, bytes | None], **event: str) -> str | None:
        [made] = accepted(a_record(an_event(**event), headers=headers))
        return made.traceparent

    assert traced({"traceparent": b"of-the-record"}) == "of-the-record"
    assert traced({"traceparent": b"of-the-record"}, traceparent="of-the-event") == "of-the-event"
    assert traced({"traceparent": b"x" * 129}) is None
    assert traced({}) is None
