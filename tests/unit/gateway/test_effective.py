"""What a user is shown, and that it is what decides."""

import itertools

import msgspec
import pytest

from notify_streams.domain.decide import decide, slice_of
from notify_streams.domain.patch import Applied, apply
from notify_streams.gateway.preferences import effective
from schemas.catalogue import Catalogue, Category, NotificationType
from schemas.commands import PatchPreferencesV1, Preferences
from schemas.decisions import Deliver, StateSlice, Suppress
from schemas.profiles import Endpoint, ProfileV1
from schemas.words import Channel, Reason
from tests.builders import NOW, a_notification

BARE: Catalogue = msgspec.convert(
    {
        "hash": "h",
        "channels": ["inapp", "email", "push"],
        "fallback_locale": "en",
        "types": {"club.news": {"category": "club", "channels": ["inapp", "email", "push"]}},
        "categories": {"club": {}},
    },
    Catalogue,
)
CHANNELS: tuple[Channel, ...] = ("inapp", "email", "push")
ENDPOINTS = tuple(Endpoint(channel=c, endpoint_id=c, verified=True) for c in CHANNELS[1:])


def patched(profile: ProfileV1, catalogue: Catalogue = BARE, **fields: object) -> ProfileV1:
    patch = msgspec.convert(fields, Preferences)
    result = apply(profile, PatchPreferencesV1(command_id="c", patch=patch), catalogue)
    assert isinstance(result, Applied), result
    return result.profile


def reached(profile: ProfileV1, catalogue: Catalogue = BARE, type_: str = "club.news") -> dict[Channel, Reason | None]:
    """Per channel, why not."""
    notification = a_notification(type=type_, channels=CHANNELS)
    profile = msgspec.structs.replace(profile, endpoints=ENDPOINTS)
    of_it = slice_of(profile, notification, catalogue.types[type_])
    verdicts = decide(notification, of_it, StateSlice(), catalogue, NOW)
    assert all(isinstance(verdict, Deliver | Suppress) for verdict in verdicts)
    return {v.channel: v.reason if isinstance(v, Suppress) else None for v in verdicts}


def test_a_category_with_nothing_but_a_name_is_not_mandatory() -> None:
    """PRF-04."""
    off = patched(ProfileV1(), channels=dict.fromkeys(CHANNELS, False))
    assert effective(off, BARE).mandatory == ()
    assert reached(off) == dict.fromkeys(CHANNELS, Reason.OPTED_OUT_OF_CHANNEL)


def test_a_second_channel_switched_off_leaves_the_first_off_and_the_inbox_alone() -> None:
    """PRF-02."""
    profile = patched(patched(ProfileV1(), categories={"club": {"email": False}}), categories={"club": {"push": False}})
    assert effective(profile, BARE).categories["club"] == {"inapp": True, "email": False, "push": False}
    off = Reason.OPTED_OUT_OF_CATEGORY
    assert reached(profile) == {"inapp": None, "email": off, "push": off}


@pytest.mark.parametrize(("channel_on", "category_on"), [*itertools.product((True, False), repeat=2)])
def test_off_anywhere_is_off(channel_on: bool, category_on: bool) -> None:
    profile = patched(ProfileV1(), channels={"email": channel_on}, categories={"club": {"email": category_on}})
    assert (reached(profile)["email"] is None) is (channel_on and category_on)


def test_a_switch_for_what_is_no_longer_sent_by_that_channel_is_not_shown() -> None:
    profile = ProfileV1(categories={"club": {"sms": False, "push": False}, "gone": {"email": False}})
    assert effective(profile, BARE).categories == {"club": {"inapp": True, "email": True, "push": False}}


def test_what_a_catalogue_made_mandatory_later_is_shown_on_and_is_sent() -> None:
    """PRF-06."""
    profile = patched(ProfileV1(), categories={"club": {"email": False}})
    strict = msgspec.structs.replace(
        BARE,
        types={"club.news": NotificationType(category="club", channels=CHANNELS, mandatory=True)},
        categories={"club": Category()},
    )
    shown = effective(profile, strict)
    assert (shown.mandatory, shown.categories["club"]) == (("club",), dict.fromkeys(CHANNELS, True))
    assert set(reached(profile, strict).values()) == {None}


def test_it_names_categories_and_says_what_can_wait_for_a_digest() -> None:
    catalogue: Catalogue = msgspec.convert(
        {
            "hash": "h",
            "channels": ["inapp", "email", "push"],
            "fallback_locale": "en",
            "types": {
                "club.news": {"category": "club", "channels": ["inapp", "email"], "digestible": True},
                "club.call": {"category": "club", "channels": ["push"]},
                "door.code": {"category": "door", "channels": ["email"], "mandatory": True, "digestible": True},
            },
            "categories": {"club": {"titles": {"en": "Club", "de": "Verein"}}, "door": {}},
        },
        Catalogue,
    )
    shown = effective(ProfileV1(), catalogue)

    assert shown.titles == {"club": {"en": "Club", "de": "Verein"}}
    assert shown.digestible == {"email": ("club",)}
