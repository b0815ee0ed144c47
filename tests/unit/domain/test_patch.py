"""What a user command makes of a profile."""

import itertools
from typing import Any

import msgspec
import pytest

from notify_streams.domain.patch import Applied, Conflict, Invalid, apply
from schemas.catalogue import Catalogue, Category, NotificationType
from schemas.commands import (
    CancelV1,
    EraseUserV1,
    FieldError,
    PatchPreferencesV1,
    Preferences,
    PutEndpointV1,
    RemoveEndpointV1,
    UserCommand,
    decode_command,
)
from schemas.profiles import NOBODY, Address, ProfileV1, TimeOfDay
from schemas.words import CHANNELS, Channel

CATALOGUE = Catalogue(
    hash="h",
    channels=CHANNELS,
    fallback_locale="en",
    types={
        "security.alert": NotificationType(category="security", channels=("inapp", "email"), mandatory=True),
        "order.confirmed": NotificationType(category="orders", channels=("inapp", "email")),
        "social.like": NotificationType(category="social", channels=("inapp", "push", "email"), digestible=True),
        "social.call": NotificationType(category="social", channels=("sms",)),
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
    ("category", "channel", "on"),
    [
        *itertools.product(["orders"], ("inapp", "email"), (True, False)),
        *itertools.product(["social"], ("inapp", "email", "push", "sms"), (True, False)),
    ],
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
    result = apply(NOBODY, a_patch(categories={"security": {"email": False, "inapp": True}}), CATALOGUE)
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


@pytest.mark.parametrize("locale", ["", "../fr", "french", "fr_FR", "fr-" + "x" * 9, "fr" + "-x" * 5, "fr\n"])
def test_a_locale_that_is_none_is_refused(locale: str) -> None:
    assert errors(a_patch(locale=locale)) == ["/locale"]


def test_quiet_hours_with_equal_ends_are_refused() -> None:
    windows = [{"start": "22:00", "end": "08:00"}, {"start": "08:00", "end": "08:00"}]
    assert errors(a_patch(quiet_hours=windows)) == ["/quiet_hours/1/end"]
    assert errors(a_patch(quiet_hours=[{"start": "24:00", "end": "08:00"}])) == ["/quiet_hours/0/start"]
    assert applied(NOBODY, a_patch(quiet_hours=[{"start": "00:00", "end": "24:00"}])).version == 1


@pytest.mark.parametrize("on", [True, False])
def test_a_switch_for_a_channel_that_nothing_of_the_category_is_sent_by_is_refused(on: bool) -> None:
    wanted = a_patch(categories={"orders": {"email": False, "push": on, "webhook": None}})
    assert errors(wanted) == ["/categories/orders/push"]


@pytest.mark.parametrize(
    ("channel", "category", "words"),
    [
        ("inapp", "social", "the inbox makes no noise: it has no digests"),
        ("sms", "social", "nothing of category social that is sent by sms can be in a digest"),
        ("webhook", "social", "nothing of category social that is sent by webhook can be in a digest"),
        ("email", "orders", "nothing of category orders that is sent by email can be in a digest"),
    ],
)
def test_a_digest_that_can_never_be_is_refused_and_what_comes_at_once_anyway_may_be_said(
    channel: Channel, category: str, words: str
) -> None:
    result = apply(NOBODY, a_patch(digest={channel: {category: "daily"}}), CATALOGUE)
    assert result == Invalid((FieldError(f"/digest/{channel}/{category}", words),))
    assert applied(NOBODY, a_patch(digest={channel: {category: "instant"}})).version == 1


def test_null_resets_also_what_the_catalogue_no_longer_offers() -> None:
    old = ProfileV1(
        categories={"orders": {"push": False}, "gone": {"email": False}}, digest={"inapp": {"orders": "daily"}}
    )
    reset = a_patch(categories={"orders": {"push": None}, "gone": None}, digest={"inapp": {"orders": None}})
    assert applied(old, reset) == ProfileV1(version=1)


def test_quiet_hours_of_the_inbox_are_refused_in_words() -> None:
    window = {"start": "22:00", "end": "08:00", "channels": ["push", "inapp"]}
    result = apply(NOBODY, a_patch(quiet_hours=[window]), CATALOGUE)
    assert result == Invalid(
        (FieldError("/quiet_hours/0/channels/1", "the inbox makes no noise: it has no quiet hours"),)
    )


def test_days_and_channels_of_a_window_are_named_once() -> None:
    window = {"start": "22:00", "end": "08:00", "days": ["mon", "tue", "mon"], "channels": ["push", "push"]}
    assert errors(a_patch(quiet_hours=[window])) == ["/quiet_hours/0/days", "/quiet_hours/0/channels"]
    every = {"days": ["mon", "tue", "wed", "thu", "fri", "sat", "sun"], "channels": ["push", "sms", "email", "webhook"]}
    assert applied(NOBODY, a_patch(quiet_hours=[{**window, **every}])).version == 1


@pytest.mark.parametrize("field", ["days", "channels"])
def test_a_window_cannot_name_more_than_there_are(field: str) -> None:
    many = {"days": ["mon"] * 8, "channels": ["push"] * 6}[field]
    with pytest.raises(msgspec.ValidationError, match="length <="):
        a_patch(quiet_hours=[{"start": "22:00", "end": "08:00", field: many}])


@pytest.mark.parametrize(
    "wrong", ["08:00\n", "24:00\n", "0\u0668:00", "08:0\u0660", "8:00", "24:01", "\n08:00", "08:00:00", ""]
)
def test_a_time_of_day_is_five_characters_and_its_digits_are_those_of_ascii(wrong: str) -> None:
    with pytest.raises(msgspec.ValidationError):
        a_patch(digest_at=wrong)
    with pytest.raises(msgspec.ValidationError):
        a_patch(quiet_hours=[{"start": "22:00", "end": wrong}])


def test_readers_of_the_json_schema_take_the_same_times_of_day() -> None:
    """Their `$` stands at the end alone, and their digits may be others than Python's."""
    schema = msgspec.json.schema(TimeOfDay)
    assert schema["maxLength"] == 5
    assert "\\d" not in schema["pattern"]


def test_an_answer_stays_short_however_much_is_wrong() -> None:
    """20,000 wrong names were an answer of 1.5 MB, more than a record may have."""
    wrong = {f"{'x' * 5000}{n}": {"email": False} for n in range(100)}
    result = apply(NOBODY, a_patch(categories=wrong), CATALOGUE)
    assert isinstance(result, Invalid)
    assert [len(result.errors), result.errors[-1]] == [21, FieldError("", "80 more")]
    assert max(len(e.pointer) for e in result.errors) == len("/categories/") + 100
    assert result.errors[0].pointer.endswith("x…")


def test_twenty_errors_are_told_one_by_one() -> None:
    assert errors(a_patch(categories={str(n): {"email": False} for n in range(20)})) == [
        f"/categories/{n}" for n in range(20)
    ]


def test_a_commands_id_is_short_as_its_answer_repeats_it() -> None:
    plain = msgspec.json.encode(a_patch(locale="fr"))
    assert decode_command(plain.replace(b'"c"', b'"' + b"c" * 128 + b'"')).command_id == "c" * 128
    with pytest.raises(msgspec.ValidationError, match="command_id"):
        decode_command(plain.replace(b'"c"', b'"' + b"c" * 129 + b'"'))


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


def test_whether_an_address_is_suppressed_the_command_says() -> None:
    """The registry gives it, which knows every address; the profile alone could forget it at a delete."""
    profile = applied(NOBODY, an_endpoint(verified=True, suppressed="bounce", suppressed_until=9_000))
    assert (profile.endpoints[0].suppressed, profile.endpoints[0].suppressed_until) == ("bounce", 9_000)
    assert applied(profile, an_endpoint(verified=True)).endpoints[0].suppressed is None


def test_push_needs_a_platform_and_nothing_else_has_one() -> None:
    assert errors(an_endpoint("t" * 64, channel="push")) == ["/platform"]
    assert errors(an_endpoint(platform="ios")) == ["/platform"]
    assert applied(NOBODY, an_endpoint("t" * 64, channel="push", platform="ios")).version == 1


@pytest.mark.parametrize("name", ["", "x" * 129, "a/b", "a\nb", "\x7f", "\x85", ".", ".."])
def test_an_endpoint_that_no_path_could_name_is_refused(name: str) -> None:
    assert errors(an_endpoint(endpoint_id=name)) == ["/endpoint_id"]


@pytest.mark.parametrize("name", ["x", "x" * 128, "my phone", "a.b", "...", "téléphone", "a:b@c+d~e_f-g"])
def test_an_endpoints_name_is_the_users_own(name: str) -> None:
    assert applied(NOBODY, an_endpoint(endpoint_id=name)).endpoints[0].endpoint_id == name


def test_a_user_has_a_bounded_number_of_endpoints() -> None:
    profile = applied(NOBODY, *(an_endpoint(endpoint_id=str(n)) for n in range(32)))
    assert errors(an_endpoint(endpoint_id="one more"), profile) == ["/endpoint_id"]
    assert applied(profile, an_endpoint("other@example.com", endpoint_id="0")).version == 33


def test_erasure_leaves_the_version_and_a_cancellation_leaves_everything() -> None:
    profile = applied(NOBODY, a_patch(locale="fr"), an_endpoint())
    assert applied(profile, EraseUserV1(command_id="c")) == ProfileV1(version=3, erased=True)
    assert applied(profile, CancelV1(command_id="c", notification_id="n")) is profile
