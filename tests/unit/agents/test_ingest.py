"""Events in; notifications on their users' partitions, or one dead letter, out."""

import orjson
import pytest
from aiokafka.partitioner import murmur2

from agents.ingest import Ingest
from notify_streams.domain.accept import Limits
from notify_streams.streaming.deadletters import DeadLetters
from schemas.notifications import decode_notification
from schemas.words import LANES, Lane
from tests.builders import NOW, a_catalogue, a_type, an_event
from tests.fakes import PARTITIONS, Clock, Recording, an_app, arrived

CATALOGUE = a_catalogue(order_shipped=a_type(required=("carrier",)))


@pytest.fixture
def ingest(clock: Clock) -> Ingest:
    return Ingest(an_app(), CATALOGUE, Limits(), DeadLetters("ingest", 20), clock=clock)


def test_each_recipient_gets_a_notification_on_the_partition_of_its_user(ingest: Ingest, outgoing: Recording) -> None:
    users = [f"user-{n}" for n in range(20)]
    ingest.take(arrived(orjson.dumps(an_event(data={"recipients": users}))), "normal", outgoing)
    assert [record.key for record in outgoing.records] == [user.encode() for user in users]
    assert all(r.partition == (murmur2(r.key) & 0x7FFFFFFF) % PARTITIONS for r in outgoing.records)
    assert outgoing.topics() == ["notifications.normal"]


def test_the_tenant_is_the_keys_unless_the_settings_name_one_for_the_source(clock: Clock) -> None:
    tenants = {"/shop/*": "shop", "*": "rest"}
    ingest = Ingest(an_app(), CATALOGUE, Limits(), DeadLetters("ingest", 20), tenants=tenants, clock=clock)
    plain = Ingest(an_app(), CATALOGUE, Limits(), DeadLetters("ingest", 20), clock=clock)
    headers = [("notify-tenant", b"of-key"), ("traceparent", b"00-a-b-01")]
    for role, tenant in ((ingest, "shop"), (plain, "of-key")):
        outgoing = Recording()
        role.take(arrived(orjson.dumps(an_event()), headers=headers), "normal", outgoing)
        [made] = [decode_notification(value) for value in outgoing.of("notifications.normal")]
        assert (made.tenant, made.traceparent) == (tenant, "00-a-b-01")


def test_a_notification_says_when_and_where_its_event_was_appended(ingest: Ingest, outgoing: Recording) -> None:
    """KAF-09: the broker's append time, not the producer's."""
    event = arrived(
        orjson.dumps(an_event(time="2001-01-01T00:00:00Z")), topic="notify.events.high", partition=3, offset=41
    )
    ingest.take(event, "high", outgoing)
    [value] = outgoing.of("notifications.normal")
    made = decode_notification(value)
    assert (made.accepted_at, made.origin, made.lane) == (NOW, "notify.events.high/3/41", "normal")


@pytest.mark.parametrize("lane", LANES)
def test_on_whatever_lane_it_came_the_slowest_counts(ingest: Ingest, outgoing: Recording, lane: Lane) -> None:
    ingest.take(arrived(orjson.dumps(an_event(type="auth.otp"))), lane, outgoing)
    assert outgoing.topics() == [f"notifications.{lane}"]


def test_a_null_value_is_skipped(ingest: Ingest, outgoing: Recording) -> None:
    """KAF-02"""
    ingest.take(arrived(None), "normal", outgoing)
    assert outgoing.records == []


@pytest.mark.parametrize("key", [None, b"", b"anything", "schlüssel".encode()])
def test_the_producer_may_key_its_events_as_it_likes(ingest: Ingest, outgoing: Recording, key: bytes | None) -> None:
    ingest.take(arrived(orjson.dumps(an_event()), key), "normal", outgoing)
    assert outgoing.topics() == ["notifications.normal"]


@pytest.mark.parametrize(
    ("value", "key", "kind", "says"),
    [
        (b"\x00\xff", b"k", "invalid_json", "$: not UTF-8 at byte 1"),
        (b'{"a":', b"k", "invalid_json", "$: Input data was truncated"),
        (b"[]", b"k", "invalid_event", "$: expected `object`, got `array`"),
        (orjson.dumps(an_event(type="x")), b"k", "unknown_type", "$.type: the catalogue has no type 'x'"),
        (orjson.dumps(an_event(data={"recipients": ["u"] * 1001})), b"k", "too_many_recipients", "$.data.recipients"),
        (orjson.dumps(an_event(data={"recipients": [1]})), b"k", "invalid_event", "$.data.recipients[0]"),
        (b" " * 300_000, b"k", "event_too_large", "$: 300000 bytes"),
        (orjson.dumps(an_event()), b"\xff", "invalid_key", "key: not UTF-8 at byte 0"),
        (orjson.dumps(an_event(time="2026-01-01T00:00:00")), b"k", "invalid_event", "$.time: expected"),
        (orjson.dumps(an_event(type="order.shipped")), b"k", "missing_variable", "$.data.payload.carrier"),
        (b"[" * 40_000, b"k", "too_deep", "$: nested deeper than 32 levels"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_each_fault_is_one_dead_letter_that_names_the_field_and_nothing_else(
    ingest: Ingest, outgoing: Recording, value: bytes, key: bytes, kind: str, says: str
) -> None:
    """KAF-01, KAF-14, SEC-10"""
    ingest.take(arrived(value, key), "normal", outgoing)
    [letter] = outgoing.records
    assert (letter.topic, letter.key, letter.value) == ("dead-letters", key, value)
    assert letter.headers["notify-error-class"] == kind.encode()
    assert letter.headers["notify-error"].decode().startswith(says)


def test_binary_mode_is_read_from_the_records_headers(ingest: Ingest, outgoing: Recording) -> None:
    names = {"specversion": "1.0", "id": "e-1", "source": "/s", "type": "order.confirmed"}
    headers = [(f"ce_{name}", text.encode()) for name, text in names.items()]
    ingest.take(arrived(b'{"recipients":["ann"],"payload":{}}', headers=headers), "normal", outgoing)
    [value] = outgoing.of("notifications.normal")
    assert decode_notification(value).event_id == "e-1"


def test_the_same_record_again_gives_the_same_bytes(ingest: Ingest) -> None:
    first, second = Recording(), Recording()
    for outgoing in (first, second):
        ingest.take(arrived(orjson.dumps(an_event())), "normal", outgoing)
    assert first.records == second.records
