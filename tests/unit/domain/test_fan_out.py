"""What follows from a decision."""

from typing import Any

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from notify_streams.domain.fan_out import deliveries, record, timers
from notify_streams.domain.ids import delivery_id
from notify_streams.domain.send_back import send_back
from schemas.codec import encode
from schemas.content import Actor, Content, Object, Sealed
from schemas.decisions import Collect, Defer, Deliver, StateSlice, Suppress, Verdict
from schemas.notifications import NotificationV1, decode_notification
from schemas.profiles import Address, Endpoint
from schemas.words import CHANNELS, Channel, Reason
from tests.builders import A_NOTIFICATION, HOUR, NOW, a_notification, a_profile, a_slice, an_endpoint, ann_content

SECRET = "secret-mailbox@example.com"


def to(*endpoint_ids: str, channel: Channel = "email", hold_from: int | None = None) -> Deliver:
    return Deliver(channel=channel, endpoint_ids=endpoint_ids, hold_from=hold_from)


def defer(channel: Channel, until: int) -> Defer:
    return Defer(channel=channel, until=until, reason=Reason.SCHEDULED)


def test_one_delivery_per_endpoint_each_with_its_own_id_and_address() -> None:
    profile = a_profile(an_endpoint(), an_endpoint(endpoint_id="work", content=Address("ann@work.example")))
    made = list(deliveries(a_notification(), profile, to("home", "work"), NOW + 5, 0))
    assert [d.delivery_id for d in made] == [delivery_id(A_NOTIFICATION, "email", e) for e in ("home", "work")]
    assert [d.content.address for d in made if d.content] == ["ann@example.com", "ann@work.example"]


def test_a_delivery_carries_what_its_sender_needs_to_know() -> None:
    notification = a_notification(
        lane="high",
        tenant="shop",
        due_at=NOW + 9,
        collapse_key="c",
        aggregation_key="a",
        broadcast_id="b",
        replay="r",
        traceparent="00-1-2-01",
        content=ann_content(),
    )
    profile = a_profile(locale="fr-CA", zone="Europe/Paris")
    [made] = deliveries(notification, profile, to("home", hold_from=NOW + HOUR), NOW + 5, 3)
    assert (made.user_id, made.type, made.channel, made.endpoint_id) == ("ann", "order.confirmed", "email", "home")
    assert (made.accepted_at, made.expires_at, made.decided_at) == (NOW, NOW + HOUR, NOW + 5)
    assert (made.lane, made.attempt, made.revision, made.profile_version) == ("high", 1, 3, 7)
    assert (made.hold_from, made.due_at, made.locale, made.zone) == (NOW + HOUR, NOW + 9, "fr-CA", "Europe/Paris")
    assert (made.source, made.tenant, made.collapse_key, made.aggregation_key) == ("/shop/orders", "shop", "c", "a")
    assert (made.broadcast_id, made.replay, made.traceparent) == ("b", "r", "00-1-2-01")
    assert made.content is not None
    assert (made.content.actor, made.content.object) == (Actor("user-7", "Änn"), Object("post", "9"))


def test_what_is_sealed_goes_on_as_it_is_and_comes_back_as_it_was() -> None:
    sealed = Sealed("k", "bm9uY2U=", "ZGF0YQ==")
    [made] = deliveries(a_notification(sealed=sealed), a_profile(an_endpoint()), to("home"), NOW, 0)
    assert made.sealed == sealed
    assert send_back(made).sealed == sealed


def test_the_events_locale_wins_over_the_profiles() -> None:
    [made] = deliveries(a_notification(locale="de"), a_profile(locale="fr"), to("home"), NOW, 0)
    assert made.locale == "de"


def test_the_inbox_has_no_address() -> None:
    [made] = deliveries(a_notification(), a_profile(), to("inbox", channel="inapp"), NOW, 0)
    assert made.content == a_notification().content


def test_a_mailbox_whose_endpoint_id_is_inbox_keeps_its_address() -> None:
    [made] = deliveries(a_notification(), a_profile(an_endpoint(endpoint_id="inbox")), to("inbox"), NOW, 0)
    assert made.content is not None
    assert made.content.address == "ann@example.com"


@given(st.lists(st.sampled_from(CHANNELS), min_size=1, unique=True))
def test_an_address_stands_in_the_content_and_nowhere_else(channels: list[Channel]) -> None:
    profile = a_profile(*(Endpoint(channel=c, endpoint_id="e", content=Address(SECRET)) for c in channels))
    for channel in channels:
        for made in deliveries(a_notification(), profile, to("e", channel=channel), NOW, 0):
            assert SECRET.encode() not in encode(msgspec.structs.replace(made, content=None))
            assert (SECRET.encode() in encode(made)) == (channel != "inapp")


def test_a_notification_without_content_gets_a_delivery_with_the_address_alone() -> None:
    [made] = deliveries(a_notification(content=None), a_profile(), to("home"), NOW, 0)
    assert made.content == Content(address="ann@example.com")


def test_nothing_is_timed_where_nothing_waits() -> None:
    assert list(timers(a_notification(), (to("home"),), 0)) == []


def test_a_timer_brings_back_the_waiting_channels_alone_with_its_own_origin_and_the_next_revision() -> None:
    notification = a_notification(channels=("inapp", "email", "push"), lane="high")
    verdicts: tuple[Verdict, ...] = (
        to("inbox", channel="inapp"),
        defer("email", NOW + 10),
        defer("push", NOW + 10),
    )
    [timer] = timers(notification, verdicts, 2)
    assert timer.timer_id == f"decide/{A_NOTIFICATION}/email+push"
    assert (timer.due_at, timer.revision, timer.target, timer.lane) == (NOW + 10, 3, "notifications.high", "high")
    back = decode_notification(bytes(timer.payload))
    assert (back.channels, back.revision, back.due_at) == (("email", "push"), 3, NOW + 10)
    assert back.origin == f"timer/{timer.timer_id}/3"
    assert encode(back.content) == encode(notification.content)


def test_a_timers_id_does_not_depend_on_the_order_in_which_an_event_names_its_channels() -> None:
    verdicts = (defer("push", NOW + 10), defer("email", NOW + 10))
    [timer] = timers(a_notification(channels=("push", "email")), verdicts, 0)
    assert timer.timer_id == f"decide/{A_NOTIFICATION}/email+push"
    assert decode_notification(bytes(timer.payload)).channels == ("push", "email")


def test_channels_that_wait_for_different_instants_have_timers_of_their_own() -> None:
    made = list(timers(a_notification(), (defer("email", NOW + 10), defer("push", NOW + 20)), 0))
    assert [(t.timer_id.rpartition("/")[2], t.due_at) for t in made] == [("email", NOW + 10), ("push", NOW + 20)]


def test_made_again_everything_is_the_same_byte_for_byte() -> None:
    def made() -> list[bytes]:
        again = [*deliveries(a_notification(), a_profile(), to("home"), NOW, 1)]
        return [*map(encode, again), *map(encode, timers(a_notification(), (defer("push", NOW + 9),), 1))]

    assert made() == made()


def sent_back(endpoint_id: str = "work", **changes: Any) -> NotificationV1:
    """What its sender makes of the second attempt at a delivery."""
    plain = {"channels": ("email",), "endpoint_id": endpoint_id, "attempt": 2, "revision": 1}
    return a_notification(**{**plain, "origin": f"sender/{endpoint_id}/0/2", **changes})


def test_of_an_endpoint_that_came_back_only_that_gets_a_delivery_with_the_attempt_that_was_due() -> None:
    profile = a_profile(an_endpoint(), an_endpoint(endpoint_id="work"))
    [made] = deliveries(sent_back(), profile, to("home", "work"), NOW, 1)
    assert (made.endpoint_id, made.attempt, made.revision) == ("work", 2, 1)
    assert made.delivery_id == delivery_id(A_NOTIFICATION, "email", "work")


def test_for_an_endpoint_that_is_no_more_all_others_get_one_from_the_first_attempt_on() -> None:
    """Senders drop what they have sent; to none of them may be too few."""
    made = list(deliveries(sent_back("gone"), a_profile(), to("home", "work"), NOW, 1))
    assert [(d.endpoint_id, d.attempt) for d in made] == [("home", 1), ("work", 1)]


def test_given_back_and_decided_to_be_delivered_it_is_the_same_delivery_again() -> None:
    """But for revision and instant: what the sender needs has not got lost on the way."""
    notification = a_notification(
        channels=("email",),
        tenant="shop",
        locale="de",
        collapse_key="c",
        aggregation_key="a",
        broadcast_id="b",
        replay="r",
        members=("m1", "m2"),
        excluded=("push",),
        due_at=NOW + 9,
        content=ann_content(),
    )
    profile = a_profile(locale="fr", zone="Europe/Paris")
    [first] = deliveries(notification, profile, to("home"), NOW, 0)
    [again] = deliveries(send_back(first), profile, to("home"), NOW + 5, 1)
    assert msgspec.structs.replace(again, revision=0, decided_at=NOW) == first


def test_what_came_back_and_waits_has_a_timer_of_its_endpoint_and_keeps_attempt_and_endpoint() -> None:
    made = [t for e in ("home", "work") for t in timers(sent_back(e), (defer("email", NOW + 10),), 1)]
    assert [t.timer_id for t in made] == [f"decide/{A_NOTIFICATION}/email@{e}" for e in ("home", "work")]
    back = decode_notification(bytes(made[1].payload))
    assert (back.endpoint_id, back.attempt, back.revision) == ("work", 2, 2)
    assert back.origin == f"timer/decide/{A_NOTIFICATION}/email@work/2"


def test_what_waits_in_a_window_or_is_suppressed_has_no_timer_here() -> None:
    collected = Collect(channel="push", window="digest/orders", until=NOW + 10, reason=Reason.DIGEST)
    assert list(timers(a_notification(), (collected, Suppress(channel="email", reason=Reason.READ)), 0)) == []


def test_a_decisions_record_is_the_same_whatever_partition_its_event_was_on() -> None:
    def recorded(origin: str) -> bytes:
        notification = a_notification(origin=origin)
        made = record(
            notification, a_slice(), StateSlice(), (to("home"),), now=NOW, catalogue="c0ffee", tzdata="2026.6"
        )
        return encode(made)

    assert recorded("notify.events.normal/0/7") == recorded("notify.events.normal/41/7000")
