"""Ids that are the same however often they are made."""

import json
from uuid import UUID, uuid5

import pytest
from hypothesis import given
from hypothesis import strategies as st

from notify_streams.domain.ids import delivery_id, notification_id, time_uuid

NAMESPACE = UUID("5f0c2f7e-3d5b-5c0e-9a60-6c1f6e0a7d11")
INSTANTS = st.integers(0, 4_102_444_800_000)  # 1970 to 2100, ms


def recomputed(*parts: str) -> str:
    return str(uuid5(NAMESPACE, json.dumps(parts, separators=(",", ":"), ensure_ascii=False)))


@pytest.mark.parametrize(
    ("made", "golden"),
    [
        (
            notification_id("/shop/orders", "order-123-confirmed", None, "user-42"),
            "cbc3a707-016d-5c8e-a878-e5121d41b976",
        ),
        (
            notification_id("/shop/orders", "order-123-confirmed", "order-123", "user-42"),
            "d81664a2-a0b0-5014-a0af-7d97f86c3a7a",
        ),
        (notification_id("/sœurs", 'a "quoted" \\ id', None, "änn\t😀"), "1ac40112-9242-5249-87d2-557c547463c0"),
        (delivery_id("0c8f4a5e-2b1d-5a3c-9f00-aa11bb22cc33", "email", "home"), "4b45ab0a-5b33-5336-8ba8-6fee32500ace"),
        (delivery_id("0c8f4a5e-2b1d-5a3c-9f00-aa11bb22cc33", "inapp", "inbox"), "b3f20583-334e-574c-8666-800fea67db6c"),
        (
            str(time_uuid(1_790_000_000_000, "0c8f4a5e-2b1d-5a3c-9f00-aa11bb22cc33")),
            "98fc0000-b5c6-11f1-bc60-f52b934b83e8",
        ),
        (str(time_uuid(0, "")), "13814000-1dd2-11b2-a4a6-a0577479b2b4"),
    ],
)
def test_ids_of_released_versions_stay_what_they_were(made: str, golden: str) -> None:
    assert made == golden


@given(st.text(), st.text(), st.text())
def test_an_event_id_is_the_uuid5_of_its_json_array(source: str, event: str, user: str) -> None:
    assert notification_id(source, event, None, user) == recomputed("event", source, event, user)


@given(st.text(), st.text(), st.text(), st.text())
def test_with_a_dedupe_key_the_event_id_does_not_matter(source: str, event: str, key: str, user: str) -> None:
    assert notification_id(source, event, key, user) == recomputed("dedupe_key", source, key, user)


@given(st.text(), st.text(), st.text())
def test_a_delivery_id_is_the_uuid5_of_its_json_array(notification: str, channel: str, endpoint: str) -> None:
    assert delivery_id(notification, channel, endpoint) == recomputed(notification, channel, endpoint)


def test_no_boundary_between_parts_can_be_shifted() -> None:
    assert notification_id("a", "bc", None, "d") != notification_id("ab", "c", None, "d")
    assert notification_id('a","b', "c", None, "d") != notification_id("a", 'b","c', None, "d")


def test_a_dedupe_key_is_another_identity_than_an_event_id_of_the_same_spelling() -> None:
    assert notification_id("/s", "x", None, "ann") != notification_id("/s", "other", "x", "ann")


@given(INSTANTS, st.text())
def test_a_time_uuid_is_version_1_and_says_its_instant(at_ms: int, seed: str) -> None:
    made = time_uuid(at_ms, seed)
    assert (made.version, made.variant) == (1, "specified in RFC 4122")
    assert (made.time - 0x01B21DD213814000) // 10_000 == at_ms


@given(INSTANTS, st.text(), st.text())
def test_the_same_seed_gives_the_same_time_uuid_and_another_one_another(at_ms: int, one: str, other: str) -> None:
    assert (time_uuid(at_ms, one) == time_uuid(at_ms, other)) == (one == other)
