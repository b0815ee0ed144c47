"""A delivery that is given back says all that its notification said, and becomes the same delivery again."""

from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from notify_streams.domain import fan_out
from notify_streams.domain.decide import decide
from notify_streams.domain.send_back import send_back
from schemas.codec import encode
from schemas.content import Actor, Content, Group, Object
from schemas.decisions import Deliver, StateSlice, Suppress
from schemas.deliveries import DeliveryV1
from schemas.notifications import NotificationV1, decode_notification
from schemas.words import LANES, Reason
from tests.builders import (
    DAY,
    HOUR,
    MAILBOX,
    NOW,
    a_catalogue,
    a_delivery,
    a_notification,
    a_profile,
    a_slice,
    an_endpoint,
    an_id,
)

HOME, WORK = an_endpoint(endpoint_id="home"), an_endpoint(endpoint_id="work")
PROFILE = a_profile(HOME, WORK, zone="Europe/Paris", locale="fr")
WORDS, INSTANTS = st.text(max_size=5), st.integers(NOW, NOW + DAY)

CONTENTS = st.builds(
    Content,
    payload=st.just(msgspec.Raw(b'{"order":"123"}')),
    actor=st.none() | st.builds(Actor, id=WORDS, name=st.none() | WORDS),
    object=st.none() | st.builds(Object, type=WORDS, id=WORDS),
    group=st.none() | st.builds(Group, count=st.integers(1, 9), others=st.integers(0, 9)),
)
NOTIFICATIONS = st.builds(
    NotificationV1,
    notification_id=st.uuids().map(str),
    user_id=WORDS,
    type=st.just("order.confirmed"),
    source=WORDS,
    event_id=WORDS,
    accepted_at=INSTANTS,
    expires_at=INSTANTS,
    origin=WORDS,
    lane=st.sampled_from(LANES),
    channels=st.just(("inapp", "email")),
    excluded=st.sampled_from([(), ("push",), ("push", "sms")]),
    revision=st.integers(0, 3),
    tenant=WORDS,
    send_at=st.none() | INSTANTS,
    due_at=st.none() | INSTANTS,
    members=st.lists(st.uuids().map(str), max_size=3).map(tuple),
    event_time=st.none() | INSTANTS,
    dedupe_key=st.none() | WORDS,
    collapse_key=st.none() | WORDS,
    aggregation_key=st.none() | WORDS,
    locale=st.none() | st.sampled_from(["de", "fr-CA"]),
    broadcast_id=st.none() | WORDS,
    replay=st.none() | WORDS,
    traceparent=st.none() | WORDS,
    content=CONTENTS,
)


def delivered(notification: NotificationV1, at: int = NOW, version: int = 7) -> dict[str, DeliveryV1]:
    """Its mails, by endpoint, when it is decided to go to all."""
    verdict = Deliver(channel="email", endpoint_ids=("home", "work"), hold_from=at + HOUR)
    profile = msgspec.structs.replace(PROFILE, version=version)
    return {d.endpoint_id: d for d in fan_out.deliveries(notification, profile, verdict, at, notification.revision)}


@given(NOTIFICATIONS, st.integers(1, 6), st.sampled_from(["home", "work"]))
def test_what_is_given_back_becomes_this_delivery_again_and_no_other(
    notification: NotificationV1, attempt: int, endpoint: str
) -> None:
    before = msgspec.structs.replace(delivered(notification)[endpoint], attempt=attempt)
    [after] = delivered(send_back(before), NOW + HOUR, 8).values()
    assert after == msgspec.structs.replace(
        before, revision=before.revision + 1, profile_version=8, decided_at=NOW + HOUR, hold_from=NOW + 2 * HOUR
    )


@given(NOTIFICATIONS)
def test_it_is_the_notification_that_it_was_decided_from(notification: NotificationV1) -> None:
    back = send_back(delivered(notification)["work"])
    same = {"channels": notification.channels, "origin": notification.origin, "revision": notification.revision}
    assert (back.channels, back.endpoint_id, back.revision) == (("email",), "work", notification.revision + 1)
    assert msgspec.structs.replace(back, endpoint_id=None, **same) == notification
    assert decode_notification(encode(back)) == back


@given(NOTIFICATIONS)
def test_given_back_again_and_again_nothing_wears_off(notification: NotificationV1) -> None:
    delivery = first = delivered(notification)["home"]
    for round_ in range(1, 4):
        [delivery] = delivered(send_back(delivery)).values()
        assert msgspec.structs.replace(delivery, revision=delivery.revision - round_) == first


def test_its_origin_names_the_delivery_the_revision_and_the_attempt() -> None:
    delivery = a_delivery(revision=2, attempt=3)
    assert send_back(delivery).origin == f"sender/{delivery.delivery_id}/2/3"


@pytest.mark.parametrize("changes", [{"attempt": 2}, {"revision": 1}, {"endpoint_id": "work"}])
def test_what_is_not_the_same_attempt_of_the_same_decision_is_another_record(changes: dict[str, Any]) -> None:
    assert send_back(a_delivery(**changes)).origin != send_back(a_delivery()).origin


def test_met_twice_it_is_given_back_with_the_same_bytes() -> None:
    assert encode(send_back(a_delivery())) == encode(send_back(a_delivery()))


def test_the_address_stays_behind() -> None:
    """The profile has it, and perhaps another one by now."""
    assert MAILBOX.encode() not in encode(send_back(a_delivery()))
    assert send_back(a_delivery(content=None)).content is None


def test_a_digest_that_is_given_back_still_speaks_for_its_members() -> None:
    group = Group(count=2)
    digest = a_delivery(members=("a", "b"), content=Content(group=group))
    back = send_back(digest)
    assert (back.members, back.content and back.content.group) == (("a", "b"), group)


def test_it_is_decided_under_the_profile_as_it_is_by_then() -> None:
    """PRF-01"""
    back = send_back(delivered(a_notification(notification_id=an_id()))["home"])
    off = a_slice(HOME, WORK, version=8, category={"email": False})
    [verdict] = decide(back, off, StateSlice(), a_catalogue(), NOW)
    assert verdict == Suppress(channel="email", reason=Reason.OPTED_OUT_OF_CATEGORY)
