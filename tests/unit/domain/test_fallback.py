"""Channels that stand in for each other: only the first that can is used, the next one when it has failed."""

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from agents.deciding import Rules
from notify_streams.domain import meeting
from notify_streams.domain.dedup import Sighting
from notify_streams.domain.send_back import fall_back, send_back
from schemas.catalogue import Catalogue
from schemas.decisions import Deliver
from schemas.deliveries import DeliveryV1, decode_delivery
from schemas.notifications import NotificationV1, decode_notification
from schemas.profiles import Address, Endpoint, ProfileV1, QuietHours
from schemas.user_state import EMPTY, UserState
from schemas.words import CHANNELS, Channel, Reason
from tests.builders import HOUR, NOW, a_catalogue, a_notification, a_profile, a_type, an_endpoint

OTP: tuple[Channel, ...] = ("sms", "push", "email")
CATALOGUE = a_catalogue(auth_otp=a_type(category="security", mandatory=True, channels=("inapp", *OTP), fallback=OTP))
PHONE, DEVICE, BOX = (
    an_endpoint("sms", "phone"),
    an_endpoint("push", "device", platform="ios"),
    an_endpoint("email", "home"),
)


def an_otp(**changes: object) -> NotificationV1:
    return msgspec.structs.replace(
        a_notification(type="auth.otp", channels=("inapp", *OTP)),
        **changes,
    )


def decided(
    notification: NotificationV1,
    profile: ProfileV1,
    state: UserState = EMPTY,
    catalogue: Catalogue = CATALOGUE,
    now: int = NOW,
) -> tuple[dict[Channel, Reason | None], list[DeliveryV1], list[NotificationV1], UserState]:
    """Reasons by channel (None: delivered), the deliveries that are no inbox entries, what timers bring back."""
    met = meeting.meet(state, notification, profile.version, now)
    if met.sighting is Sighting.DUPLICATE:
        return {}, [], [], state
    if met.channels != notification.channels or met.revision != notification.revision:
        notification = msgspec.structs.replace(notification, channels=met.channels, revision=met.revision)
    after = Rules(catalogue, "").decided(notification, profile, state, met, lambda _: ())
    reasons = {v.channel: None if isinstance(v, Deliver) else v.reason for v in after.verdicts}
    sent = [decode_delivery(value) for topic, value in after.records if topic.startswith("deliveries.")]
    timers = [msgspec.json.decode(value) for topic, value in after.records if topic == "timers"]
    back = [decode_notification(msgspec.json.encode(timer["payload"])) for timer in timers]
    return reasons, [d for d in sent if d.channel != "inapp"], back, after.state


def test_a_password_goes_by_text_and_by_push_only_when_that_has_failed() -> None:
    profile = a_profile(PHONE, DEVICE, BOX)
    reasons, [text], _, state = decided(an_otp(), profile)
    spare = Reason.FALLBACK
    assert reasons == {"inapp": None, "sms": None, "push": spare, "email": spare}
    assert (text.channel, text.fallback) == ("sms", ("push", "email"))
    reasons, [push], _, state = decided(fall_back(text), profile, state)
    assert (reasons, push.channel, push.fallback) == ({"push": None, "email": spare}, "push", ("email",))
    assert (push.platform, push.attempt, push.endpoint_id) == ("ios", 1, "device")
    reasons, [mail], _, state = decided(fall_back(push), profile, state)
    assert (reasons, mail.channel, mail.fallback) == ({"email": None}, "email", ())


def test_two_phones_that_fail_are_stood_in_for_once() -> None:
    profile = a_profile(PHONE, an_endpoint("sms", "other", content=Address("+15550101")), DEVICE)
    _, [one, two], _, state = decided(an_otp(), profile)
    _, [push], _, state = decided(fall_back(one), profile, state)
    assert push.channel == "push"
    assert decided(fall_back(two), profile, state)[1] == []
    assert decided(fall_back(one), profile, state)[1] == [push]  # the same record once more repeats its effects


def test_where_the_first_has_no_address_the_next_is_the_first() -> None:
    reasons, [push], _, _ = decided(an_otp(), a_profile(DEVICE, BOX))
    assert (reasons["sms"], push.channel, push.fallback) == (Reason.NO_ENDPOINT, "push", ("email",))


def test_what_the_event_did_not_offer_never_stands_in() -> None:
    _, [text], _, _ = decided(an_otp(channels=("sms", "email")), a_profile(PHONE, DEVICE, BOX))
    assert text.fallback == ("email",)


def test_given_back_and_decided_again_it_keeps_what_stands_in() -> None:
    profile = a_profile(PHONE, DEVICE, BOX)
    _, [text], _, state = decided(an_otp(), profile)
    held = msgspec.structs.replace(text, attempt=3, uncounted=1, by="twilio")
    _, [again], _, _ = decided(send_back(held), profile, state)
    assert (again.fallback, again.attempt, again.uncounted, again.by) == (("push", "email"), 3, 1, "twilio")


def test_what_quiet_hours_put_off_comes_back_with_what_stands_in() -> None:
    catalogue = a_catalogue(auth_otp=a_type(channels=OTP, fallback=OTP))
    quiet = (QuietHours(start="00:00", end="23:59", channels=("sms",)),)
    profile = a_profile(PHONE, DEVICE, BOX, quiet_hours=quiet, zone="UTC")
    notification = an_otp(channels=OTP, expires_at=NOW + 48 * HOUR)
    reasons, sent, [later], state = decided(notification, profile, catalogue=catalogue)
    assert (reasons["sms"], sent, later.channels, later.fallback) == (Reason.QUIET_HOURS, [], ("sms",), OTP)
    awake = msgspec.structs.replace(profile, quiet_hours=())
    _, [text], _, _ = decided(later, awake, state, catalogue, later.due_at or 0)
    assert (text.channel, text.fallback) == ("sms", ("push", "email"))


ENDPOINTS = st.lists(
    st.sampled_from([PHONE, DEVICE, BOX, an_endpoint("sms", "old", verified=False), an_endpoint("webhook", "hook")]),
    unique=True,
)


@given(ENDPOINTS, st.permutations(OTP), st.sets(st.sampled_from(CHANNELS)))
def test_of_channels_that_stand_in_for_each_other_one_at_most_is_used(
    endpoints: list[Endpoint], fallback: list[Channel], excluded: set[Channel]
) -> None:
    type_ = a_type(category="security", mandatory=True, channels=CHANNELS, fallback=tuple(fallback))
    notification = an_otp(channels=CHANNELS, excluded=tuple(excluded))
    profile = msgspec.structs.replace(a_profile(), endpoints=tuple(endpoints))
    reasons, sent, _, _ = decided(notification, profile, catalogue=a_catalogue(auth_otp=type_))
    used = {d.channel for d in sent} & set(fallback)
    assert len(used) <= 1
    able = [c for c in fallback if c in {e.channel for e in endpoints if e.verified} and c not in excluded]
    assert used == set(able[:1])
    assert [c for c in fallback if reasons[c] is Reason.FALLBACK] == [c for c in fallback if c in able[1:]]
    for delivery in sent:
        assert not set(delivery.fallback) & excluded
        assert delivery.channel not in delivery.fallback
