"""Profiles: what lies in the table is what everybody can read on the topic."""

import pytest

from schemas.profiles import NOBODY, decode_profile
from tables.profiles import Profiles
from tests.builders import a_profile
from tests.fakes import Recording, Table


@pytest.fixture
def profiles(table: Table) -> Profiles:
    return Profiles(table, "notify.")


def test_somebody_unknown_has_the_defaults(profiles: Profiles) -> None:
    assert profiles.load(0, b"ann") is NOBODY


def test_a_profile_comes_back_as_it_was_stored(profiles: Profiles, outgoing: Recording) -> None:
    profiles.store(2, b"ann", a_profile(locale="fr"), outgoing)
    assert profiles.load(2, b"ann") == a_profile(locale="fr")


def test_its_changelog_is_keyed_by_the_plain_user_id_and_holds_the_profile(
    profiles: Profiles, outgoing: Recording
) -> None:
    profiles.store(2, "änn".encode(), a_profile(), outgoing)
    [record] = outgoing.records
    assert (record.key, record.partition) == ("änn".encode(), 2)
    assert decode_profile(record.value or b"") == a_profile()
