"""User commands in; profiles, answers and what went astray out."""

from typing import Any

import pytest

from agents.commands import Commands
from notify_streams.streaming.deadletters import DeadLetters
from notify_streams.streaming.keyed import NoUser
from notify_streams.streaming.outgoing import TooLarge
from schemas.codec import encode
from schemas.commands import PatchPreferencesV1, Preferences, PutEndpointV1, decode_result
from schemas.profiles import NOBODY, Address, ProfileV1, decode_profile
from schemas.stops import decode_stop
from tables.profiles import Profiles
from tables.user_state import UserStates
from tests.builders import a_catalogue
from tests.fakes import Clock, Recording, Table, an_app, arrived

CATALOGUE = a_catalogue()


@pytest.fixture
def commands(state_table: Table, profile_table: Table, clock: Clock) -> Commands:
    dead = DeadLetters("commands", 20)
    states, profiles = UserStates(state_table, "notify."), Profiles(profile_table, "notify.")
    return Commands(an_app(), states, profiles, CATALOGUE, dead, generation=1, clock=clock)


def a_patch(locale: str = "fr", **changes: Any) -> bytes:
    return encode(PatchPreferencesV1(command_id=f"to-{locale}", patch=Preferences(locale=locale), **changes))


def at_home(commands: Commands, value: bytes | None, user: bytes = b"ann", offset: int = 7) -> Any:
    return arrived(value, user, partition=commands.partitions.of(user), offset=offset)


def test_a_command_changes_the_profile_and_is_answered(commands: Commands, outgoing: Recording) -> None:
    home = commands.partitions.of(b"ann")
    answer = commands.take(at_home(commands, a_patch()), outgoing)
    assert answer is not None
    partition, key, result = answer
    assert (partition, key, result.command_id, result.status, result.version) == (home, b"ann", "to-fr", "applied", 1)
    assert commands.profiles.load(home, b"ann").locale == "fr"
    assert [r.topic for r in outgoing.records] == ["stops", "profiles"]
    assert {(r.partition, r.key) for r in outgoing.records} == {(home, b"ann")}
    assert decode_stop(outgoing.of("stops")[0]).version == 1
    assert decode_profile(outgoing.of("profiles")[0]).locale == "fr"


def test_the_same_record_again_is_answered_the_same_and_tells_the_senders_again(
    commands: Commands, outgoing: Recording
) -> None:
    first = commands.take(at_home(commands, a_patch()), outgoing)
    again = Recording()
    assert commands.take(at_home(commands, a_patch()), again) == first
    assert again.topics() == ["stops", "profiles"]


def test_a_refused_command_is_remembered_and_changes_no_version(commands: Commands, outgoing: Recording) -> None:
    answer = commands.take(at_home(commands, a_patch("!")), outgoing)
    assert answer is not None
    assert (answer[2].status, answer[2].version) == ("invalid", 0)


@pytest.mark.parametrize("user", ["ann", "user-42", "a b", "änn", "名", "x" * 128])
def test_a_command_astray_is_sent_on_once_and_as_it_came_and_is_taken_where_it_then_is(
    commands: Commands, outgoing: Recording, user: str
) -> None:
    """Whatever partitioner its writer has; what is sent on is at home, so it cannot go round."""
    key = user.encode()
    home = commands.partitions.of(key)
    for partition in {0, 1, 2, 3} - {home}:
        astray = arrived(a_patch(), key, partition=partition, headers=[("traceparent", b"00-1")])
        assert commands.take(astray, outgoing) is None
        assert commands.profiles.load(partition, key) == NOBODY
    assert {(r.topic, r.partition, r.key, r.value) for r in outgoing.records} == {
        ("user-commands", home, key, a_patch())
    }
    assert [r.headers for r in outgoing.records] == [{"traceparent": b"00-1"}] * 3
    there = Recording()
    answer = commands.take(arrived(a_patch(), key, partition=home), there)
    assert answer is not None
    assert (answer[0], answer[2].status) == (home, "applied")
    assert "user-commands" not in there.topics()


def test_a_null_value_resets_the_user_and_every_gateway_hears_of_it(commands: Commands, outgoing: Recording) -> None:
    """KAF-02"""
    commands.take(at_home(commands, a_patch()), outgoing)
    answer = commands.take(at_home(commands, None, offset=8), outgoing)
    assert answer is not None
    assert (answer[2].command_id, answer[2].version, answer[2].profile) == ("", 2, ProfileV1(version=2))
    profile = commands.profiles.load(commands.partitions.of(b"ann"), b"ann")
    assert (profile.locale, profile.version) == (None, 2)


def test_a_null_value_astray_is_sent_on_too(commands: Commands, outgoing: Recording) -> None:
    home = commands.partitions.of(b"ann")
    commands.take(arrived(None, b"ann", partition=(home + 1) % 4), outgoing)
    [record] = outgoing.records
    assert (record.topic, record.partition, record.value) == ("user-commands", home, None)


@pytest.mark.parametrize(
    ("key", "says"),
    [
        (None, "key: a user id has 1 to 128 bytes"),
        (b"", "key: a user id has 1 to 128 bytes"),
        (b"\xff", "key: not UTF-8 at byte 0"),
        (b"a\nb", "key: a user id has no control characters"),
        (b"x" * 129, "key: a user id has 1 to 128 bytes"),
    ],
)
@pytest.mark.parametrize("value", [a_patch(), None])
def test_a_key_that_is_no_user_id_is_its_writers_fault(
    commands: Commands, outgoing: Recording, key: bytes | None, says: str, value: bytes | None
) -> None:
    with pytest.raises(NoUser) as raised:
        commands.take(arrived(value, key), outgoing)
    assert (str(raised.value), outgoing.records) == (says, [])


@pytest.mark.parametrize(
    "value",
    [b"", b"{", b"[]", b"{}", b'{"schema":"erase-everything.v1"}', b'{"schema":"put-endpoint.v1","command_id":"c"}'],
)
def test_a_value_that_is_no_command_is_its_writers_fault_and_changes_nothing(
    commands: Commands, outgoing: Recording, profile_table: Table, value: bytes
) -> None:
    with pytest.raises(ValueError, match=r"."):
        commands.take(at_home(commands, value), outgoing)
    assert (outgoing.records, profile_table.content(commands.partitions.of(b"ann"))) == ([], {})


def test_an_endpoint_becomes_part_of_the_profile(commands: Commands, outgoing: Recording) -> None:
    command = PutEndpointV1(
        command_id="c", channel="email", endpoint_id="home", content=Address("ann@example.com"), verified=True
    )
    commands.take(at_home(commands, encode(command)), outgoing)
    [endpoint] = commands.profiles.load(commands.partitions.of(b"ann"), b"ann").endpoints
    assert (endpoint.endpoint_id, endpoint.verified) == ("home", True)


def answered(commands: Commands, outgoing: Recording, *, limit: int) -> Recording:
    """What is published of a command's answer where records are at most `limit` bytes long."""
    event = at_home(commands, a_patch())
    answer = commands.take(event, outgoing)
    assert answer is not None
    told = Recording(limit)
    commands.tell(event, answer, told)
    return told


def test_an_answer_that_is_too_long_for_a_record_goes_without_the_profile(
    commands: Commands, outgoing: Recording
) -> None:
    whole, short = (answered(commands, outgoing, limit=limit) for limit in (1024, 120))
    results = [decode_result(told.of("command-results")[0]) for told in (whole, short)]
    assert [(r.command_id, r.version, r.profile is None) for r in results] == [("to-fr", 1, False), ("to-fr", 1, True)]


def test_an_answer_that_cannot_be_sent_is_a_dead_letter_and_the_change_stays(
    commands: Commands, outgoing: Recording
) -> None:
    class Refusing(Recording):
        def add(self, topic: str, *args: Any, **kwargs: Any) -> None:
            if topic == "command-results":
                raise TooLarge("a record of ours")
            super().add(topic, *args, **kwargs)

    event = at_home(commands, a_patch())
    answer = commands.take(event, outgoing)
    assert answer is not None
    told = Refusing()
    commands.tell(event, answer, told)
    [letter] = told.records
    assert (letter.topic, letter.value, letter.headers["notify-error-class"]) == (
        "dead-letters",
        a_patch(),
        b"TooLarge",
    )
    assert commands.profiles.load(commands.partitions.of(b"ann"), b"ann").locale == "fr"
