"""What commands about endpoints and addresses make of a profile."""

from typing import Any

import msgspec
import pytest

from notify_streams.domain.addresses import address_key
from notify_streams.domain.patch import Applied, apply
from schemas.commands import (
    DropAddressV1,
    MarkAddressV1,
    PutEndpointV1,
    RemoveEndpointV1,
    UserCommand,
    VerifyEndpointV1,
)
from schemas.profiles import NOBODY, Address, ProfileV1
from schemas.words import Channel
from tests.builders import HOUR, MAILBOX, NOW, a_catalogue

TOKEN, OTHER = "t" * 64, "u" * 64
KEY = address_key("push", TOKEN)


def put(
    endpoint_id: str = "phone", address: str = TOKEN, *, channel: Channel = "push", **changes: Any
) -> PutEndpointV1:
    platform = "ios" if channel == "push" else None
    given = {"command_id": "c", "by": "user", "platform": platform, **changes}
    return PutEndpointV1(channel=channel, endpoint_id=endpoint_id, content=Address(address), **given)


def remove(endpoint_id: str = "phone", at: int = 0, channel: Channel = "push") -> RemoveEndpointV1:
    return RemoveEndpointV1(command_id="c", channel=channel, endpoint_id=endpoint_id, at=at)


def after(*commands: UserCommand, profile: ProfileV1 = NOBODY) -> ProfileV1:
    for command in commands:
        result = apply(profile, command, a_catalogue())
        assert isinstance(result, Applied), result
        profile = result.profile
    return profile


def rows(profile: ProfileV1) -> dict[str, str]:
    return {e.endpoint_id: e.content.address if e.content else "" for e in profile.endpoints}


def test_a_token_is_one_row_however_often_and_under_whatever_names_it_is_put() -> None:
    """TOK-08"""
    profile = after(put("a"), put("b"), put("b"), put("c"), put("a"), put("other", OTHER))
    assert rows(profile) == {"a": TOKEN, "other": OTHER}
    assert rows(after(put("a", OTHER), profile=profile)) == {"a": OTHER}


def test_a_device_is_verified_by_having_the_token() -> None:
    assert [e.verified for e in after(put(), put("home", MAILBOX, channel="email")).endpoints] == [True, False]


def test_a_mailbox_may_be_there_under_two_names() -> None:
    assert len(after(put("a", MAILBOX, channel="email"), put("b", MAILBOX, channel="email")).endpoints) == 2


def test_what_was_asked_for_earlier_and_comes_later_changes_nothing() -> None:
    newer = after(put("phone", OTHER, at=NOW + 2))
    assert after(put("phone", TOKEN, at=NOW), remove(at=NOW + 1), profile=newer) is newer
    assert rows(after(put("phone", TOKEN, at=NOW + 3), profile=newer)) == {"phone": TOKEN}


def test_a_claim_from_before_a_removal_does_not_bring_it_back() -> None:
    gone = after(put(at=NOW), remove(at=NOW + 1))
    assert after(put(at=NOW), profile=gone) is gone
    assert after(put("phone", OTHER, at=NOW + 1), profile=gone) is gone
    assert rows(after(put(at=NOW + 2), profile=gone)) == {"phone": TOKEN}


def test_a_removal_of_what_is_not_there_is_remembered_all_the_same() -> None:
    """The claim is still on its way: it was answered 202."""
    gone = after(remove(at=NOW + 1))
    assert (gone.version, rows(after(put(at=NOW), profile=gone))) == (0, {})


def test_without_an_instant_everything_is_now() -> None:
    profile = after(put(at=NOW))
    assert rows(after(remove(), profile=profile)) == {}
    assert rows(after(put("phone", OTHER), profile=profile)) == {"phone": OTHER}


def test_what_differs_by_its_instants_alone_is_no_new_version() -> None:
    """An app that puts its token at every start: nothing that waits has to be decided again for it."""
    once = after(put(at=NOW))
    again = after(put(at=NOW + HOUR), profile=once)
    assert (again.version, again.endpoints[0].at) == (once.version, NOW + HOUR)
    assert after(put(at=NOW + HOUR, platform="android"), profile=once).version == once.version + 1


def test_only_the_last_removals_are_remembered() -> None:
    profile = after(*(remove(str(n), at=NOW) for n in range(20)), remove("0", at=NOW + 1), remove("19", at=NOW))
    assert [r.endpoint_id for r in profile.removed] == [*map(str, range(5, 20)), "0"]


@pytest.mark.parametrize("command", [put("phone", OTHER, at=NOW), remove(at=NOW), remove()])
def test_every_change_raises_the_version_so_that_what_waits_is_decided_again(command: UserCommand) -> None:
    profile = after(put())
    assert after(command, profile=profile).version == profile.version + 1


def test_a_code_verifies_the_endpoint_while_it_has_the_address_that_the_code_was_sent_to() -> None:
    profile = after(put("home", MAILBOX, channel="email"))
    shown = VerifyEndpointV1(
        command_id="c", channel="email", endpoint_id="home", address_key=address_key("email", MAILBOX)
    )
    verified = after(shown, profile=profile)
    assert (verified.endpoints[0].verified, verified.version) == (True, 2)
    moved = after(put("home", "eve@example.com", channel="email"), profile=profile)
    assert after(shown, profile=moved) is moved
    assert after(msgspec.structs.replace(shown, endpoint_id="work"), profile=profile) is profile


def test_a_mark_reaches_every_endpoint_with_the_address_and_no_other() -> None:
    profile = after(
        put("home", MAILBOX, channel="email"),
        put("work", MAILBOX.upper(), channel="email"),
        put("other", "eve@example.com", channel="email"),
    )
    key = address_key("email", MAILBOX)
    mark = MarkAddressV1(
        command_id="c", channel="email", address_key=key, suppressed="mailbox_full", suppressed_until=NOW
    )
    marked = after(mark, profile=profile)
    assert [(e.suppressed, e.suppressed_until) for e in marked.endpoints] == [("mailbox_full", NOW)] * 2 + [
        (None, None)
    ]
    assert marked.version == profile.version + 1
    assert after(mark, profile=marked) is marked
    lifted = after(MarkAddressV1(command_id="c", channel="email", address_key=key), profile=marked)
    assert [e.suppressed for e in lifted.endpoints] == [None] * 3


def test_a_drop_takes_every_endpoint_with_the_address_and_no_other() -> None:
    profile = after(put(), put("other", OTHER))
    dropped = after(DropAddressV1(command_id="c", channel="push", address_key=KEY), profile=profile)
    assert (rows(dropped), dropped.version) == ({"other": OTHER}, profile.version + 1)
    assert after(DropAddressV1(command_id="c", channel="push", address_key=KEY), profile=dropped) is dropped


def test_what_was_asked_for_before_a_token_went_elsewhere_does_not_come_in_its_place() -> None:
    """Another name of the same user took it over, or another user did: `phone` had moved on from OTHER to TOKEN."""
    taken_over = after(put("phone", at=NOW + 2), put("tablet", at=NOW + 3))
    assert rows(after(put("phone", OTHER, at=NOW + 1), profile=taken_over)) == {"tablet": TOKEN}
    dropped = after(put("phone", at=NOW + 2), DropAddressV1(command_id="c", channel="push", address_key=KEY))
    assert rows(after(put("phone", OTHER, at=NOW + 1), profile=dropped)) == {}
    assert rows(after(put("phone", at=NOW + 3), profile=dropped)) == {"phone": TOKEN}


def test_a_drop_that_comes_again_leaves_alone_what_was_claimed_since() -> None:
    """Its worker was killed: claim, drop and claim come a second time, and the last one stays."""
    first, drop = put(at=NOW), DropAddressV1(command_id="c", channel="push", address_key=KEY, at=NOW)
    second = put(at=NOW + 2)
    once = after(first, drop, second)
    assert after(first, drop, second, profile=once) is once
    assert rows(once) == {"phone": TOKEN}
    assert rows(after(first, drop, first, drop)) == {}


def test_a_claim_that_comes_late_still_takes_its_token_from_the_name_before() -> None:
    """`phone` had `tablet`'s token, and has another one since; the addresses came in another order."""
    late = after(put("phone", OTHER, at=NOW + 3), put("tablet", at=NOW + 1), put("phone", at=NOW + 2))
    assert rows(late) == {"phone": OTHER}
    newer = after(put("phone", OTHER, at=NOW + 3), put("tablet", at=NOW + 4), put("phone", at=NOW + 2))
    assert rows(newer) == {"phone": OTHER, "tablet": TOKEN}
