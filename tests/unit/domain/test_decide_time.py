"""Quiet hours, digests and opt-outs as people set them, on the clocks of where they live."""

from typing import Any

import msgspec
import pytest

from notify_streams.domain import patch
from notify_streams.domain.decide import decide, slice_of
from notify_streams.domain.fan_out import timers
from notify_streams.domain.meeting import leave, meet
from notify_streams.domain.stopping import changed
from schemas.catalogue import Budget, Catalogue, Category, NotificationType, Windows
from schemas.commands import PatchPreferencesV1, Preferences
from schemas.decisions import Collect, Defer, Deliver, StateSlice, Suppress, Verdict
from schemas.notifications import NotificationV1
from schemas.profiles import ProfileV1, QuietHours
from schemas.user_state import EMPTY
from schemas.words import CHANNELS, Channel, Reason
from tests.builders import DAY, HOUR, MINUTE, NOW, a_catalogue, a_notification, a_profile, a_type, an_endpoint
from tests.clocks import at

CATALOGUE = a_catalogue(social_like=a_type(category="social", digestible=True))
NIGHT = QuietHours(start="22:00", end="07:00")
NOISY = tuple(channel for channel in CHANNELS if channel != "inapp")


def somebody(**changes: Any) -> ProfileV1:
    """With an endpoint on every channel."""
    return a_profile(*(an_endpoint(channel, "e") for channel in NOISY), **changes)


def one(now: int, **changes: Any) -> NotificationV1:
    return a_notification(**{"channels": ("push",), "accepted_at": now, "expires_at": now + 2 * DAY, **changes})


def verdicts(
    profile: ProfileV1, now: int, catalogue: Catalogue = CATALOGUE, state: StateSlice | None = None, **changes: Any
) -> tuple[Verdict, ...]:
    notification = one(now, **changes)
    seen = slice_of(profile, notification, catalogue.types[notification.type])
    return decide(notification, seen, state or StateSlice(), catalogue, now)


def pushed(profile: ProfileV1, moment: str, catalogue: Catalogue = CATALOGUE, **changes: Any) -> str:
    """What becomes of a push at an instant: send, or hold until when."""
    [verdict] = verdicts(profile, at(moment), catalogue, **changes)
    if isinstance(verdict, Defer):
        assert verdict.reason is Reason.QUIET_HOURS
        return f"hold until {(verdict.until - at('2026-01-01T00:00Z')) // MINUTE}"
    assert isinstance(verdict, Deliver)
    return "send"


def held_until(moment: str) -> str:
    return f"hold until {(at(moment) - at('2026-01-01T00:00Z')) // MINUTE}"


def test_a_night_in_a_half_hour_zone_is_held_and_let_go_once() -> None:
    """QH-01."""
    profile, release = somebody(zone="Asia/Kolkata", quiet_hours=(NIGHT,)), "2026-06-11T01:30:00Z"
    instants = ["2026-06-10T16:29:59Z", "2026-06-10T16:30:00Z", "2026-06-11T01:29:59Z", release]
    assert [pushed(profile, moment) for moment in instants] == ["send", *[held_until(release)] * 2, "send"]
    [before, *_] = verdicts(profile, at(instants[0]))
    assert before == Deliver(channel="push", endpoint_ids=("e",), hold_from=at(instants[1]))


def test_what_was_held_comes_back_by_one_timer_and_is_sent() -> None:
    """QH-01: released once."""
    profile, release = somebody(zone="Asia/Kolkata", quiet_hours=(NIGHT,)), at("2026-06-11T01:30:00Z")
    now = at("2026-06-10T16:30:00Z")
    [timer] = timers(one(now), verdicts(profile, now), 0)
    assert timer.due_at == release
    assert isinstance(verdicts(profile, release)[0], Deliver)


def test_a_window_saved_in_winter_is_of_the_summers_clocks_in_summer() -> None:
    """QH-03."""
    evening = QuietHours(start="19:00", end="23:00")
    command = PatchPreferencesV1(command_id="c", patch=Preferences(zone="America/New_York", quiet_hours=(evening,)))
    saved = patch.apply(somebody(), command, CATALOGUE)  # in January; it knows no date
    assert isinstance(saved, patch.Applied)
    release = "2026-07-02T03:00:00Z"
    instants = ["2026-07-01T22:59:59Z", "2026-07-01T23:00:00Z", "2026-07-02T02:59:59Z", release]
    assert [pushed(saved.profile, moment) for moment in instants] == ["send", *[held_until(release)] * 2, "send"]


def test_who_has_no_zone_lives_by_the_tenants_and_else_by_the_catalogues() -> None:
    """QH-12: an installation for India, with one tenant in Berlin (CEST)."""
    profile = somebody(quiet_hours=(NIGHT,))
    catalogue = msgspec.structs.replace(CATALOGUE, zone="Asia/Kolkata", zones={"shop": "Europe/Berlin"})
    evening, later = "2026-06-10T17:00:00Z", "2026-06-10T20:30:00Z"
    assert pushed(profile, evening, catalogue) == held_until("2026-06-11T01:30:00Z")
    assert pushed(profile, evening, catalogue, tenant="other") == held_until("2026-06-11T01:30:00Z")
    assert pushed(profile, evening, catalogue, tenant="shop") == "send"
    assert pushed(profile, later, catalogue, tenant="shop") == held_until("2026-06-11T05:00:00Z")
    assert pushed(somebody(quiet_hours=(NIGHT,), zone="Etc/UTC"), evening, catalogue, tenant="shop") == "send"


@pytest.mark.parametrize(
    ("start", "end", "minutes"),
    [("08:00", "08:00", 0), ("00:00", "00:00", 0), ("22:00", "24:00", 120), ("02:00", "01:59", 1439)],
)
def test_equal_ends_are_never_and_the_rest_is_as_long_as_the_clock_says(start: str, end: str, minutes: int) -> None:
    """QH-12: every minute of a day, decided."""
    profile = somebody(quiet_hours=(QuietHours(start=start, end=end),))
    day = at("2026-06-10T00:00Z")
    held = [isinstance(verdicts(profile, day + minute * MINUTE)[0], Defer) for minute in range(1440)]
    assert sum(held) == minutes


def test_what_quiet_hours_outlast_expires_at_once_and_says_so() -> None:
    profile = somebody(zone="Etc/UTC", quiet_hours=(NIGHT,))
    now, morning = at("2026-06-10T23:00Z"), at("2026-06-11T07:00Z")
    assert verdicts(profile, now, expires_at=morning) == (Suppress(channel="push", reason=Reason.QUIET_PAST_EXPIRY),)
    assert verdicts(profile, now, expires_at=morning + 1) == (
        Defer(channel="push", until=morning, reason=Reason.QUIET_HOURS),
    )


def test_a_second_channel_switched_off_leaves_the_first_one_off() -> None:
    """PRF-02: two calls for one category; the inbox entry follows its own setting."""
    profile = somebody()
    for channel in ("email", "push"):
        command = PatchPreferencesV1(command_id=channel, patch=Preferences(categories={"social": {channel: False}}))
        applied = patch.apply(profile, command, a_catalogue_with_social())
        assert isinstance(applied, patch.Applied)
        profile = applied.profile
    assert profile.categories == {"social": {"email": False, "push": False}}
    decided = verdicts(profile, NOW, type="social.like", channels=("inapp", "email", "push", "sms"))
    off = Reason.OPTED_OUT_OF_CATEGORY
    assert decided[1:3] == (Suppress(channel="email", reason=off), Suppress(channel="push", reason=off))
    assert [type(verdict) for verdict in (decided[0], decided[3])] == [Deliver, Deliver]


def test_a_new_type_in_a_category_with_nothing_but_a_name_is_not_mandatory() -> None:
    """PRF-04."""
    catalogue = Catalogue(
        hash="c0ffee",
        channels=CHANNELS,
        fallback_locale="en",
        types={"pets.news": NotificationType(category="pets", channels=CHANNELS)},
        categories={"pets": Category()},
    )
    everything_off = somebody(channels=dict.fromkeys(CHANNELS, False))
    decided = verdicts(everything_off, NOW, catalogue, type="pets.news", channels=CHANNELS)
    assert decided == tuple(Suppress(channel=c, reason=Reason.OPTED_OUT_OF_CHANNEL) for c in CHANNELS)


def test_switching_on_again_releases_nothing_of_what_was_suppressed_meanwhile() -> None:
    """PRF-10: off for seven days, 40 events in between, then on; one more is the only one that is sent."""
    off, state, sent = somebody(channels={"push": False}), EMPTY, 0
    history = [(f"{number:08x}-2222-5333-8444-555555555555", NOW + number * 4 * HOUR) for number in range(41)]
    for number, (id_, now) in enumerate(history):
        profile = off if number < 40 else somebody(version=off.version + 1)
        if number == 40:
            followed = changed(state, profile, now)
            assert followed.timers == ()
            state = followed.state
        notification = one(now, notification_id=id_)
        met = meet(state, notification, profile.version, now)
        decided = verdicts(profile, met.now, notification_id=id_)
        state = leave(state, notification, met, profile.version, decided)
        assert list(timers(notification, decided, met.revision)) == []
        sent += sum(isinstance(verdict, Deliver) for verdict in decided)
    assert sent == 1


@pytest.mark.parametrize(
    ("frequency", "until"), [("hourly", "2026-06-10T10:30:00Z"), ("daily", "2026-06-11T02:30:00Z")]
)
def test_a_digest_comes_at_the_users_full_hour_or_time_of_day(frequency: Any, until: str) -> None:
    profile = somebody(zone="Asia/Kolkata", digest={"push": {"social": frequency}})
    [verdict] = verdicts(profile, at("2026-06-10T10:00:00Z"), type="social.like")
    assert verdict == Collect(channel="push", window="digest/social", until=at(until), reason=Reason.DIGEST)


def test_a_digest_comes_at_the_time_that_the_user_chose_else_at_the_catalogues() -> None:
    catalogue = msgspec.structs.replace(CATALOGUE, windows=Windows(digest_at="18:15"))
    now = at("2026-06-10T10:00:00Z")
    for changes, until in (({}, "2026-06-10T18:15:00Z"), ({"digest_at": "06:00"}, "2026-06-11T06:00:00Z")):
        profile = somebody(digest={"push": {"social": "daily"}}, **changes)
        [verdict] = verdicts(profile, now, catalogue, type="social.like")
        assert isinstance(verdict, Collect)
        assert verdict.until == at(until)


@pytest.mark.parametrize(
    ("type_", "chosen", "expected"),
    [
        ("social.like", None, "2026-06-11T08:00:00Z"),
        ("social.like", "hourly", "2026-06-10T11:00:00Z"),
        ("order.confirmed", None, None),
    ],
)
def test_what_exceeds_the_budget_waits_for_the_next_digest_where_its_type_has_one(
    type_: str, chosen: Any, expected: str | None
) -> None:
    profile = somebody(digest={"push": {"social": chosen}} if chosen else {})
    catalogue = msgspec.structs.replace(CATALOGUE, budget=Budget(hour=3))
    inbox, push = verdicts(
        profile,
        at("2026-06-10T10:00:00Z"),
        catalogue,
        StateSlice(hour=3, day=3),
        type=type_,
        channels=("inapp", "push"),
    )
    assert isinstance(inbox, Deliver)
    if expected is None:
        assert push == Suppress(channel="push", reason=Reason.BUDGET_SPENT)
    else:
        assert push == Collect(channel="push", window="digest/social", until=at(expected), reason=Reason.BUDGET_SPENT)


def test_a_digest_that_is_ready_in_quiet_hours_waits_like_anything_else() -> None:
    profile = somebody(zone="Etc/UTC", quiet_hours=(NIGHT,), digest={"push": {"social": "hourly"}})
    [verdict] = verdicts(profile, at("2026-06-10T23:00Z"), type="social.like", members=("m",))
    assert verdict == Defer(channel="push", until=at("2026-06-11T07:00Z"), reason=Reason.QUIET_HOURS)


@pytest.mark.parametrize("channel", NOISY)
def test_every_noisy_channel_has_quiet_hours_and_a_window_may_be_of_some(channel: Channel) -> None:
    everywhere = somebody(zone="Etc/UTC", quiet_hours=(NIGHT,))
    elsewhere = somebody(zone="Etc/UTC", quiet_hours=(QuietHours(start="22:00", end="07:00", channels=("inapp",)),))
    now = at("2026-06-10T23:00Z")
    assert isinstance(verdicts(everywhere, now, channels=(channel,))[0], Defer)
    assert isinstance(verdicts(elsewhere, now, channels=(channel,))[0], Deliver)


def a_catalogue_with_social() -> Catalogue:
    return msgspec.structs.replace(CATALOGUE, categories={**CATALOGUE.categories, "social": Category()})
