"""What a user command makes of a profile."""

import itertools
from typing import Any

import msgspec
import pytest

from notify_streams.domain.addresses import why_no_address
from notify_streams.domain.patch import Applied, Conflict, Invalid, apply
from schemas.catalogue import Catalogue, Category, NotificationType
from schemas.commands import (
    CancelV1,
    EraseUserV1,
    PatchPreferencesV1,
    Preferences,
    PutEndpointV1,
    RemoveEndpointV1,
    UserCommand,
)
from schemas.profiles import NOBODY, Address, ProfileV1
from schemas.words import CHANNELS, Channel

CATALOGUE = Catalogue(
    hash="h",
    channels=CHANNELS,
    fallback_locale="en",
    types={
        "security.alert": NotificationType(category="security", channels=("inapp", "email"), mandatory=True),
        "order.confirmed": NotificationType(category="orders", channels=("inapp", "email")),
        "social.like": NotificationType(category="social", channels=("inapp", "push")),
    },
    categories={"security": Category(), "orders": Category(), "social": Category()},
)


def a_patch(if_match: int | None = None, **fields: Any) -> PatchPreferencesV1:
    return PatchPreferencesV1(command_id="c", if_match=if_match, patch=msgspec.convert(fields, Preferences))


def an_endpoint(address: str = "Ann@Example.com", *, by: str = "keys/shop", **fields: Any) -> PutEndpointV1:
    given = {"channel": "email", "endpoint_id": "home", "verified": False, **fields}
    return PutEndpointV1(command_id="c", by=by, content=Address(address), **given)


def applied(profile: ProfileV1, *commands: UserCommand) -> ProfileV1:
    for command in commands:
        result = apply(profile, command, CATALOGUE)
        assert isinstance(result, Applied), result
        profile = result.profile
    return profile


def errors(command: UserCommand, profile: ProfileV1 = NOBODY) -> list[str]:
    result = apply(profile, command, CATALOGUE)
    assert isinstance(result, Invalid), result
    return [e.pointer for e in result.errors]


def test_each_change_raises_the_version_and_no_change_keeps_the_profile() -> None:
    once = applied(NOBODY, a_patch(channels={"email": False}))
    assert once.version == 1
    assert applied(once, a_patch(channels={"email": False})) is once
    assert applied(once, a_patch()) is once


def test_a_second_switch_leaves_the_first_off() -> None:
    """PRF-02."""
    profile = applied(NOBODY, a_patch(categories={"social": {"email": False}}))
    profile = applied(profile, a_patch(categories={"social": {"push": False}}))
    assert profile.categories == {"social": {"email": False, "push": False}}


@pytest.mark.parametrize(
    ("category", "channel", "on"), [*itertools.product(("orders", "social"), CHANNELS, (True, False))]
)
def test_every_cell_is_stored_as_written(category: str, channel: Channel, on: bool) -> None:
    """PRF-09."""
    profile = applied(NOBODY, a_patch(categories={category: {channel: on}}))
    assert profile.categories[category][channel] is on


def test_null_resets_a_cell_a_category_a_map_and_a_list() -> None:
    full = applied(
        NOBODY,
        a_patch(
            locale="fr",
            channels={"email": False},
            categories={"social": {"email": False, "push": False}, "orders": {"email": False}},
            quiet_hours=[{"start": "22:00", "end": "08:00"}],
            digest={"email": {"social": "daily"}},
        ),
    )
    cell = applied(full, a_patch(categories={"social": {"email": None}}))
    assert cell.categories == {"social": {"push": False}, "orders": {"email": False}}
    assert applied(full, a_patch(categories={"social": None})).categories == {"orders": {"email": False}}
    rest = applied(full, a_patch(locale=None, channels=None, categories=None, quiet_hours=None, digest=None))
    assert rest == ProfileV1(version=2)


def test_a_mandatory_category_cannot_be_switched_off_and_the_error_names_it() -> None:
    """PRF-06."""
    result = apply(NOBODY, a_patch(categories={"security": {"email": False, "sms": True}}), CATALOGUE)
    assert isinstance(result, Invalid)
    assert [(e.pointer, "category security is mandatory" in e.detail) for e in result.errors] == [
        ("/categories/security/email", True)
    ]


def test_a_mandatory_category_comes_at_once() -> None:
    assert errors(a_patch(digest={"email": {"security": "daily"}})) == ["/digest/email/security"]
    assert applied(NOBODY, a_patch(digest={"email": {"social": "daily"}})).digest == {"email": {"social": "daily"}}


def test_an_unknown_category_is_named_by_a_pointer() -> None:
    assert errors(a_patch(categories={"a/b~c": {"email": False}})) == ["/categories/a~1b~0c"]


@pytest.mark.parametrize(
    "zone", ["", None, "Etc/Unknown", "Etc/GMT 12", "GMT+5", "America/new_york", "../../zone", "z" * 300, "Factory"]
)
def test_a_zone_that_is_none_is_refused(zone: str | None) -> None:
    """QH-10."""
    assert errors(a_patch(zone=zone)) == ["/zone"]


@pytest.mark.parametrize("zone", ["US/Eastern", "Etc/GMT+12", "Europe/Kyiv"])
def test_a_zone_of_the_database_is_stored(zone: str) -> None:
    """QH-10."""
    assert applied(NOBODY, a_patch(zone=zone)).zone == zone


@pytest.mark.parametrize("locale", ["", "../fr", "french", "fr_FR", "fr-" + "x" * 9])
def test_a_locale_that_is_none_is_refused(locale: str) -> None:
    assert errors(a_patch(locale=locale)) == ["/locale"]


def test_quiet_hours_with_equal_ends_are_refused() -> None:
    windows = [{"start": "22:00", "end": "08:00"}, {"start": "08:00", "end": "08:00"}]
    assert errors(a_patch(quiet_hours=windows)) == ["/quiet_hours/1/end"]
    assert errors(a_patch(quiet_hours=[{"start": "24:00", "end": "08:00"}])) == ["/quiet_hours/0/start"]
    assert applied(NOBODY, a_patch(quiet_hours=[{"start": "00:00", "end": "24:00"}])).version == 1


def test_errors_are_listed_together_and_nothing_is_stored() -> None:
    assert errors(a_patch(zone="", locale="!", channels={"email": False}, digest_at="24:00")) == [
        "/zone",
        "/locale",
        "/digest_at",
    ]


def test_another_version_is_a_conflict_before_anything_else() -> None:
    assert apply(ProfileV1(version=3), a_patch(2, zone=""), CATALOGUE) == Conflict(3)
    assert applied(ProfileV1(version=3), a_patch(3, locale="fr")).version == 4


def test_an_endpoint_is_added_replaced_and_removed_in_place() -> None:
    profile = applied(NOBODY, an_endpoint(), an_endpoint("+4915112345678", channel="sms", endpoint_id="phone"))
    moved = applied(profile, an_endpoint("new@example.com"))
    assert [(e.endpoint_id, e.content and e.content.address) for e in moved.endpoints] == [
        ("home", "new@example.com"),
        ("phone", "+4915112345678"),
    ]
    gone = applied(moved, RemoveEndpointV1(command_id="c", channel="email", endpoint_id="home"))
    assert [e.endpoint_id for e in gone.endpoints] == ["phone"]
    assert applied(gone, RemoveEndpointV1(command_id="c", channel="email", endpoint_id="home")) is gone


def test_a_users_repeat_keeps_verified_and_another_address_loses_it() -> None:
    verified = applied(NOBODY, an_endpoint(verified=True))
    assert applied(verified, an_endpoint("ANN@example.com", by="user")).endpoints[0].verified
    assert not applied(verified, an_endpoint("eve@example.com", by="user")).endpoints[0].verified
    assert not applied(verified, an_endpoint(by="keys/shop")).endpoints[0].verified


def test_a_suppression_outlives_a_repeat_of_the_same_address_only() -> None:
    profile = applied(NOBODY, an_endpoint(verified=True))
    bounced = msgspec.structs.replace(
        profile, endpoints=(msgspec.structs.replace(profile.endpoints[0], suppressed="bounced"),)
    )
    assert applied(bounced, an_endpoint("ann@example.com", verified=True)).endpoints[0].suppressed == "bounced"
    assert applied(bounced, an_endpoint("ann@example.org", verified=True)).endpoints[0].suppressed is None


def test_push_needs_a_platform_and_nothing_else_has_one() -> None:
    assert errors(an_endpoint("t" * 64, channel="push")) == ["/platform"]
    assert errors(an_endpoint(platform="ios")) == ["/platform"]
    assert applied(NOBODY, an_endpoint("t" * 64, channel="push", platform="ios")).version == 1


def test_a_user_has_a_bounded_number_of_endpoints() -> None:
    profile = applied(NOBODY, *(an_endpoint(endpoint_id=str(n)) for n in range(32)))
    assert errors(an_endpoint(endpoint_id="one more"), profile) == ["/endpoint_id"]
    assert applied(profile, an_endpoint("other@example.com", endpoint_id="0")).version == 33


def test_erasure_leaves_the_version_and_a_cancellation_leaves_everything() -> None:
    profile = applied(NOBODY, a_patch(locale="fr"), an_endpoint())
    assert applied(profile, EraseUserV1(command_id="c")) == ProfileV1(version=3, erased=True)
    assert applied(profile, CancelV1(command_id="c", notification_id="n")) is profile


@pytest.mark.parametrize(
    ("channel", "address"),
    [
        ("email", "ann@example.com"),
        ("email", "o'brien+news@mail.example.co.uk"),
        ("email", "ann@bücher.example"),
        ("sms", "+4915112345678"),
        ("webhook", "https://hooks.example.com/a?b=c"),
        ("push", "d" * 64),
        ("push", '{"endpoint":"https://push.example/1","keys":{"p256dh":"a","auth":"b"}}'),
    ],
)
def test_an_address_is_taken(channel: Channel, address: str) -> None:
    assert why_no_address(channel, address) is None


@pytest.mark.parametrize(
    ("channel", "address"),
    [
        ("email", "ann"),
        ("email", "@example.com"),
        ("email", "ann@localhost"),
        ("email", "ann@10.0.0.1"),
        ("email", "ann@-x.example"),
        ("email", "a..b@example.com"),
        ("email", "ann@example.com\r\nBcc: eve@example.com"),
        ("email", "Ann <ann@example.com>"),
        ("email", "a" * 65 + "@example.com"),
        ("email", "ann@" + "x" * 64 + ".example"),
        ("sms", "015112345678"),
        ("sms", "+49151123ext4"),
        ("webhook", "ftp://example.com"),
        ("webhook", "https://user:pass@example.com"),
        ("webhook", "https://[::1"),
        ("push", "short"),
        ("push", "{}"),
        ("inapp", "anything"),
    ],
)
def test_an_address_is_refused(channel: Channel, address: str) -> None:
    assert why_no_address(channel, address) is not None
