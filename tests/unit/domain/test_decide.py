"""Which rule wins, channel by channel."""

from dataclasses import dataclass, field
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from notify_streams.domain import fan_out
from notify_streams.domain.decide import decide, slice_of
from schemas.codec import encode
from schemas.decisions import DecisionV1, Defer, Deliver, ProfileSlice, StateSlice, Suppress, decode_decision
from schemas.profiles import Address, Endpoint, QuietHours
from schemas.words import CHANNELS, Reason
from tests.builders import HOUR, NOW, a_catalogue, a_notification, a_profile, a_slice, a_type, an_endpoint

LATE = NOW + HOUR
CATALOGUE = a_catalogue(channels=("inapp", "email", "push"), narrow=a_type(channels=("inapp",)))
OFF: dict[str, Any] = {"channels": {"email": False}}


@dataclass
class Case:
    """A mail, and what is special about it."""

    says: str
    reason: Reason
    profile: ProfileSlice = field(default_factory=a_slice)
    state: StateSlice = field(default_factory=StateSlice)
    now: int = NOW
    notification: dict[str, Any] = field(default_factory=dict)


def test_every_channel_asked_for_gets_exactly_one_verdict_in_its_order() -> None:
    verdicts = decide(a_notification(channels=("email", "inapp")), a_slice(), StateSlice(), CATALOGUE, NOW)
    assert verdicts == (
        Deliver(channel="email", endpoint_ids=("home",)),
        Deliver(channel="inapp", endpoint_ids=("inbox",)),
    )


@pytest.mark.parametrize(
    "case",
    [
        Case("at the instant it expires", Reason.EXPIRED, now=LATE),
        Case("expired comes before erased", Reason.EXPIRED, a_slice(erased=True), now=LATE),
        Case(
            "erased comes before cancelled", Reason.ERASED, a_slice(erased=True), StateSlice(stopped=Reason.CANCELLED)
        ),
        Case("cancelled", Reason.CANCELLED, a_slice(**OFF), StateSlice(stopped=Reason.CANCELLED)),
        Case(
            "not carried here, though switched off as well",
            Reason.CHANNEL_NOT_OFFERED,
            a_slice(channels={"sms": False}),
            notification={"channels": ("sms",)},
        ),
        Case("not a channel of the type", Reason.CHANNEL_NOT_OFFERED, notification={"type": "narrow"}),
        Case("left out", Reason.CHANNEL_EXCLUDED, a_slice(**OFF), notification={"excluded": ("email",)}),
        Case("channel off", Reason.OPTED_OUT_OF_CHANNEL, a_slice(**OFF)),
        Case("category off", Reason.OPTED_OUT_OF_CATEGORY, a_slice(category={"email": False})),
        Case("both off", Reason.OPTED_OUT_OF_CHANNEL, a_slice(category={"email": False}, **OFF)),
        Case(
            "a category does not switch on what the channel switches off",
            Reason.OPTED_OUT_OF_CHANNEL,
            a_slice(category={"email": True}, **OFF),
        ),
        Case("off comes before nowhere to send", Reason.OPTED_OUT_OF_CHANNEL, ProfileSlice(**OFF)),
        Case("nowhere to send", Reason.NO_ENDPOINT, ProfileSlice()),
        Case("only another channel's endpoint", Reason.NO_ENDPOINT, a_slice(an_endpoint("push", "phone"))),
        Case("not verified", Reason.ENDPOINT_UNVERIFIED, a_slice(an_endpoint(verified=False))),
        Case("suppressed", Reason.ENDPOINT_SUPPRESSED, a_slice(an_endpoint(suppressed="bounced"))),
        Case(
            "one suppressed, one not verified",
            Reason.ENDPOINT_SUPPRESSED,
            a_slice(an_endpoint(suppressed="bounced"), an_endpoint(endpoint_id="work", verified=False)),
        ),
    ],
    ids=lambda case: case.says,
)
def test_the_first_rule_that_applies_wins(case: Case) -> None:
    notification = a_notification(**{"channels": ("email",), **case.notification})
    [verdict] = decide(notification, case.profile, case.state, CATALOGUE, case.now)
    assert verdict == Suppress(channel=notification.channels[0], reason=case.reason)


def test_channels_excluded_by_the_caller_add_to_the_notifications_own() -> None:
    notification = a_notification(excluded=("inapp",))
    verdicts = decide(notification, a_slice(), StateSlice(), CATALOGUE, NOW, excluded=("email",))
    assert [v.reason for v in verdicts if isinstance(v, Suppress)] == [Reason.CHANNEL_EXCLUDED] * 2


@pytest.mark.parametrize("off", [{"channels": {"email": False}}, {"category": {"email": False}}])
def test_mandatory_types_ignore_opt_outs(off: dict[str, Any]) -> None:
    notification = a_notification(type="auth.otp", channels=("email",))
    assert decide(notification, a_slice(**off), StateSlice(), CATALOGUE, NOW) == (
        Deliver(channel="email", endpoint_ids=("home",)),
    )


@pytest.mark.parametrize(
    ("profile", "reason"),
    [
        (a_slice(erased=True), Reason.ERASED),
        (ProfileSlice(), Reason.NO_ENDPOINT),
        (a_slice(an_endpoint(suppressed="bounced")), Reason.ENDPOINT_SUPPRESSED),
        (a_slice(an_endpoint(verified=False)), Reason.ENDPOINT_UNVERIFIED),
    ],
)
def test_mandatory_types_ignore_nothing_else(profile: ProfileSlice, reason: Reason) -> None:
    notification = a_notification(type="auth.otp", channels=("email",))
    assert decide(notification, profile, StateSlice(), CATALOGUE, NOW) == (Suppress(channel="email", reason=reason),)


def test_only_usable_endpoints_of_the_channel_get_a_delivery() -> None:
    profile = a_slice(
        an_endpoint(endpoint_id="home"),
        an_endpoint(endpoint_id="new", verified=False),
        an_endpoint(endpoint_id="dead", suppressed="bounced"),
        an_endpoint("push", "phone"),
        an_endpoint(endpoint_id="work"),
    )
    assert decide(a_notification(channels=("email",)), profile, StateSlice(), CATALOGUE, NOW) == (
        Deliver(channel="email", endpoint_ids=("home", "work")),
    )


def test_send_at_defers_until_then_and_no_longer() -> None:
    notification = a_notification(channels=("inapp",), send_at=NOW + 1000)
    waiting = decide(notification, a_slice(), StateSlice(), CATALOGUE, NOW + 999)
    assert waiting == (Defer(channel="inapp", until=NOW + 1000, reason=Reason.SCHEDULED),)
    assert isinstance(decide(notification, a_slice(), StateSlice(), CATALOGUE, NOW + 1000)[0], Deliver)


def test_what_asks_to_be_sent_only_after_it_has_expired_expires_at_once() -> None:
    """Pinned rule 4 of the cases: nothing is parked beyond its deadline."""
    notification = a_notification(channels=("inapp",), send_at=NOW + 2 * HOUR, expires_at=NOW + HOUR)
    assert decide(notification, a_slice(), StateSlice(), CATALOGUE, NOW) == (
        Suppress(channel="inapp", reason=Reason.EXPIRED),
    )


def test_a_type_that_the_catalogue_does_not_have_is_a_key_error() -> None:
    with pytest.raises(KeyError):
        decide(a_notification(type="gone"), a_slice(), StateSlice(), CATALOGUE, NOW)


SWITCHES = st.dictionaries(st.sampled_from(CHANNELS), st.booleans())
ENDPOINTS = st.builds(
    Endpoint,
    channel=st.sampled_from(CHANNELS),
    endpoint_id=st.sampled_from(["home", "work", "inbox"]),
    verified=st.booleans(),
    suppressed=st.sampled_from([None, "bounced"]),
    content=st.just(Address("ann@example.com")),
)
NOTIFICATIONS = st.builds(
    a_notification,
    channels=st.lists(st.sampled_from(CHANNELS), unique=True).map(tuple),
    excluded=st.lists(st.sampled_from(CHANNELS), max_size=2).map(tuple),
    type=st.sampled_from(["order.confirmed", "auth.otp", "narrow"]),
    send_at=st.none() | st.integers(NOW - 10, NOW + 2 * HOUR),
)
PROFILES = st.builds(
    a_profile,
    channels=SWITCHES,
    categories=st.dictionaries(st.sampled_from(["orders", "security", "social"]), SWITCHES),
    quiet_hours=st.just((QuietHours(start="22:00", end="08:00"),)),
    endpoints=st.lists(ENDPOINTS, max_size=5).map(tuple),
    erased=st.booleans(),
)
STATES = st.builds(StateSlice, stopped=st.sampled_from([None, Reason.CANCELLED, Reason.READ]))
INSTANTS = st.integers(NOW - 10, NOW + 2 * HOUR)


def decision_of(notification: Any, profile: Any, state: StateSlice, now: int) -> DecisionV1:
    seen = slice_of(profile, notification, CATALOGUE.types[notification.type])
    verdicts = decide(notification, seen, state, CATALOGUE, now)
    return fan_out.record(notification, seen, state, verdicts, now=now, catalogue=CATALOGUE.hash, tzdata="2026.6")


@given(NOTIFICATIONS, PROFILES, STATES, INSTANTS)
def test_the_decision_is_total_and_the_same_every_time(n: Any, p: Any, s: StateSlice, now: int) -> None:
    first = decision_of(n, p, s, now)
    assert [verdict.channel for verdict in first.verdicts] == list(n.channels)
    assert encode(first) == encode(decision_of(n, p, s, now))


@given(NOTIFICATIONS, PROFILES, STATES, INSTANTS)
def test_a_decoded_record_decides_the_same_byte_for_byte(n: Any, p: Any, s: StateSlice, now: int) -> None:
    """What `notify verify` does: the record alone, and the catalogue by its hash."""
    read = decode_decision(encode(decision_of(n, p, s, now)))
    assert isinstance(read, DecisionV1)
    again = decide(read.notification, read.profile, read.state, CATALOGUE, read.now)
    assert encode(again) == encode(read.verdicts)


@given(NOTIFICATIONS, PROFILES, STATES, st.integers(LATE, LATE + HOUR))
def test_what_has_expired_is_never_delivered_whatever_else_holds(n: Any, p: Any, s: StateSlice, now: int) -> None:
    assert all(v == Suppress(channel=v.channel, reason=Reason.EXPIRED) for v in decision_of(n, p, s, now).verdicts)


@given(NOTIFICATIONS, PROFILES, STATES, INSTANTS)
def test_whatever_is_delivered_goes_to_usable_endpoints_of_a_channel_that_is_on(
    n: Any, p: Any, s: StateSlice, now: int
) -> None:
    type_ = CATALOGUE.types[n.type]
    for verdict in decision_of(n, p, s, now).verdicts:
        if isinstance(verdict, Deliver):
            assert not p.erased
            assert s.stopped is None
            assert verdict.channel not in n.excluded
            assert type_.mandatory or p.channels.get(verdict.channel, True)
            assert type_.mandatory or p.categories.get(type_.category, {}).get(verdict.channel, True)
            usable = {e.endpoint_id for e in p.endpoints if e.channel == verdict.channel and e.verified}
            assert verdict.channel == "inapp" or set(verdict.endpoint_ids) <= usable


@given(NOTIFICATIONS, PROFILES, STATES, INSTANTS)
def test_a_record_holds_no_address_and_no_origin(n: Any, p: Any, s: StateSlice, now: int) -> None:
    record = decision_of(n, p, s, now)
    assert b"@" not in encode(record.profile)
    assert record.notification == msgspec.structs.replace(n, origin="")


def test_the_slice_leaves_out_what_the_decision_does_not_look_at() -> None:
    profile = a_profile(
        an_endpoint(),
        an_endpoint("sms", "mobile"),
        channels={"sms": False, "email": True},
        categories={"orders": {"email": False, "sms": True}, "social": {"email": False}},
    )
    seen = slice_of(profile, a_notification(channels=("email",)), a_type())
    assert (seen.channels, seen.category) == ({"email": True}, {"email": False})
    assert [(e.channel, e.endpoint_id, e.content) for e in seen.endpoints] == [("email", "home", None)]
