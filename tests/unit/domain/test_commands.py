"""A command met on the log: applied once, answered as often as it is asked."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agents.commands import BATCH
from notify_streams.domain.commands import carry_out, reset
from schemas.commands import CancelV1, CommandResultV1, EraseUserV1, PatchPreferencesV1, Preferences, UserCommand
from schemas.profiles import NOBODY, ProfileV1
from tests.builders import a_catalogue, a_profile

CATALOGUE = a_catalogue()


def a_patch(locale: str = "fr", **changes: Any) -> PatchPreferencesV1:
    return PatchPreferencesV1(command_id=f"to-{locale}", patch=Preferences(locale=locale), **changes)


def carried(
    profile: ProfileV1, command: UserCommand, offset: int = 41, generation: int = 1
) -> tuple[ProfileV1, CommandResultV1]:
    return carry_out(profile, command, "ann", CATALOGUE, generation=generation, offset=offset)


def test_a_change_is_applied_under_the_next_version_and_answered_with_the_whole_profile() -> None:
    profile, result = carried(a_profile(version=7), a_patch())
    assert (profile.locale, profile.version) == ("fr", 8)
    assert (result.command_id, result.user_id, result.status, result.version) == ("to-fr", "ann", "applied", 8)
    assert result.profile is not None
    assert (result.profile.locale, result.profile.version, result.profile.applied) == ("fr", 8, ())


def test_a_conflict_changes_nothing_and_says_the_version_that_holds() -> None:
    profile, result = carried(a_profile(version=7), a_patch(if_match=3))
    assert (profile.locale, profile.version) == (None, 7)
    assert (result.status, result.version, result.profile) == ("conflict", 7, None)


def test_an_invalid_command_changes_nothing_and_says_what_is_wrong() -> None:
    profile, result = carried(a_profile(version=7), a_patch(locale="!"))
    assert (profile.locale, profile.version, result.status) == (None, 7, "invalid")
    assert [error.pointer for error in result.errors] == ["/locale"]


@pytest.mark.parametrize("command", [a_patch(), a_patch(locale="!"), a_patch(if_match=3), CancelV1(command_id="c")])
def test_the_same_place_on_the_log_is_applied_once_and_answered_the_same_again(command: UserCommand) -> None:
    once, first = carried(a_profile(version=7), command)
    twice, second = carried(once, command)
    assert twice is once
    assert second == first


def test_a_repeat_after_further_changes_says_the_version_of_then_and_no_profile_of_now() -> None:
    profile, first = carried(a_profile(version=7), a_patch("fr"), offset=41)
    profile, _ = carried(profile, a_patch("de"), offset=42)
    again, result = carried(profile, a_patch("fr"), offset=41)
    assert again.locale == "de"
    assert (result.status, result.version, result.profile) == (first.status, first.version, None)


def test_the_same_offset_of_another_generation_is_another_command() -> None:
    profile, _ = carried(a_profile(version=7), a_patch("fr"), offset=41, generation=1)
    assert carried(profile, a_patch("de"), offset=41, generation=2)[0].locale == "de"


def test_a_cancel_is_refused_by_this_version() -> None:
    assert carried(a_profile(), CancelV1(command_id="c"))[1].status == "invalid"


def test_each_command_of_the_largest_batch_finds_its_own_answer_when_all_come_again() -> None:
    """A worker killed between a batch's profiles and its answers meets the whole batch again."""
    commands: list[UserCommand] = [a_patch(if_match=3), *(a_patch("fr" if n % 2 else "de") for n in range(BATCH - 1))]
    profile, answers = a_profile(version=7), []
    for offset, command in enumerate(commands):
        profile, result = carried(profile, command, offset=offset)
        answers.append((result.command_id, result.status, result.version))
    for offset, command in enumerate(commands):
        again, result = carried(profile, command, offset=offset)
        assert again is profile
        assert (result.command_id, result.status, result.version) == answers[offset]
    assert answers[0][1] == "conflict"


@given(st.integers(33, 80))
def test_the_list_of_commands_stays_short_and_older_ones_count_as_applied(count: int) -> None:
    profile = NOBODY
    for offset in range(count):
        profile, _ = carried(profile, a_patch("fr" if offset % 2 else "de"), offset=offset)
    assert len(profile.applied) == 32
    again, result = carried(profile, a_patch("it"), offset=0)
    assert (again, result.status) == (profile, "applied")


@given(st.lists(st.sampled_from(["fr", "de", "!", "it"]), min_size=1, max_size=20), st.integers(0, 19))
def test_replayed_from_any_place_of_the_log_the_profile_is_the_same(locales: list[str], back: int) -> None:
    profile = NOBODY
    for offset, locale in enumerate(locales):
        profile, _ = carried(profile, a_patch(locale), offset=offset)
    replayed = profile
    for offset, locale in [*enumerate(locales)][back:]:
        replayed, _ = carried(replayed, a_patch(locale), offset=offset)
    assert replayed == profile


def test_a_null_value_takes_the_user_back_to_defaults_under_a_new_version() -> None:
    """KAF-02"""
    profile = reset(a_profile(version=7, locale="fr"), generation=1, offset=41)
    assert (profile.locale, profile.endpoints, profile.version) == (None, (), 8)


def test_a_null_value_met_again_changes_nothing() -> None:
    """KAF-02"""
    profile = reset(a_profile(version=7), generation=1, offset=41)
    profile, _ = carried(profile, a_patch(), offset=42)
    assert reset(profile, generation=1, offset=41) is profile


def test_an_erased_user_still_remembers_what_was_applied() -> None:
    profile, _ = carried(a_profile(version=7), a_patch(), offset=41)
    profile, _ = carried(profile, EraseUserV1(command_id="e"), offset=42)
    assert (profile.erased, profile.endpoints, profile.version) == (True, (), 9)
    assert carried(profile, a_patch(), offset=41)[0] is profile


def test_a_reset_does_not_bring_an_erased_user_back() -> None:
    assert reset(a_profile(version=7, erased=True), generation=1, offset=41).erased
