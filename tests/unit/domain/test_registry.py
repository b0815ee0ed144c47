"""Who has an address, what is held against it, and what its users are told of both."""

from typing import Any

import pytest

from notify_streams.domain.addresses import address_key
from notify_streams.domain.registry import MOST_OWNERS, Step, suppression, take, why_not
from schemas.addresses import (
    AddressChange,
    AddressGoneV1,
    AddressState,
    ClaimAddressV1,
    Held,
    Lifted,
    LiftSuppressionV1,
    ReleaseAddressV1,
    ShowAddressV1,
    SuppressAddressV1,
    Suppression,
)
from schemas.commands import DropAddressV1, MarkAddressV1, PutEndpointV1, RemoveEndpointV1
from schemas.profiles import Address
from schemas.words import Channel
from tests.builders import DAY, HOUR, MAILBOX, NOW

TOKEN = "t" * 64
ADDRESSES: dict[Channel, str] = {
    "push": TOKEN,
    "email": MAILBOX,
    "sms": "+4915112345678",
    "webhook": "https://a.example",
}


def a_claim(
    user: str = "ann", endpoint_id: str = "home", *, channel: Channel = "email", **changes: Any
) -> ClaimAddressV1:
    given = {"at": NOW, "by": "user", "command_id": f"claim-{user}", "content": Address(ADDRESSES[channel]), **changes}
    return ClaimAddressV1(channel=channel, user_id=user, endpoint_id=endpoint_id, **given)


def a_release(user: str = "ann", endpoint_id: str = "home", *, channel: Channel = "email", **changes: Any) -> Any:
    given = {"at": NOW + 1, "command_id": f"release-{user}", **changes}
    return ReleaseAddressV1(channel=channel, user_id=user, endpoint_id=endpoint_id, **given)


def a_suppression(reason: Suppression = "bounce", until: int | None = None, **changes: Any) -> SuppressAddressV1:
    return SuppressAddressV1(**{"channel": "email", "at": NOW, "by": "receipts", **changes}, reason=reason, until=until)


def a_lift(only: Suppression | None = None, at: int = NOW) -> LiftSuppressionV1:
    return LiftSuppressionV1(channel="email", at=at, by="/keys/ops", only=only)


def gone(at: int) -> AddressGoneV1:
    return AddressGoneV1(channel="email", at=at, by="provider/smtp")


class Address_:
    """One address, and what its users were told of it last."""

    def __init__(self, now: int = NOW) -> None:
        self.state: AddressState | None = None
        self.now, self.offset = now, 0
        self.last: Step = Step(None)

    def take(self, *changes: AddressChange) -> "Address_":
        for change in changes:
            key = address_key(change.channel, ADDRESSES[change.channel])
            self.last = take(self.state, change, key=key, place=(1, self.offset), now=self.now)
            self.state, self.offset = self.last.state, self.offset + 1
        return self

    @property
    def owners(self) -> list[tuple[str, str]]:
        return [] if self.state is None else [(o.user_id, o.endpoint_id) for o in self.state.owners]

    @property
    def told(self) -> list[tuple[str, str]]:
        """Who was told what, by the kind of command."""
        return [(user, type(command).__name__.removesuffix("V1")) for user, command in self.last.commands]

    @property
    def marks(self) -> dict[str, tuple[str | None, int | None]]:
        found = {user: c for user, c in self.last.commands if isinstance(c, MarkAddressV1)}
        return {user: (mark.suppressed, mark.suppressed_until) for user, mark in found.items()}

    @property
    def held(self) -> tuple[str, int | None] | None:
        told = suppression(() if self.state is None else self.state.held, self.now)
        return None if told is None else (told.reason, told.until)


def test_a_token_belongs_to_whoever_registered_it_last_and_the_one_before_loses_it() -> None:
    """TOK-06"""
    token = Address_().take(a_claim("ann", "phone", channel="push"))
    assert (token.owners, token.told) == ([("ann", "phone")], [("ann", "PutEndpoint")])
    token.take(a_claim("ben", "mine", channel="push", at=NOW + 5))
    assert token.owners == [("ben", "mine")]
    assert token.told == [("ben", "PutEndpoint"), ("ann", "DropAddress")]
    [put, drop] = [command for _, command in token.last.commands]
    assert isinstance(put, PutEndpointV1)
    assert isinstance(drop, DropAddressV1)
    assert (put.command_id, put.at, drop.address_key) == ("claim-ben", NOW + 5, address_key("push", TOKEN))
    token.take(a_claim("ann", "phone", channel="push", at=NOW + 9))
    assert token.told == [("ann", "PutEndpoint"), ("ben", "DropAddress")]


def test_the_same_user_under_another_name_is_told_nothing_to_drop() -> None:
    """TOK-08: the drop would take the new one too."""
    token = Address_().take(a_claim("ann", "phone", channel="push"), a_claim("ann", "tablet", channel="push"))
    assert (token.owners, token.told) == ([("ann", "tablet")], [("ann", "PutEndpoint")])


def test_a_mailbox_number_or_url_may_be_of_many() -> None:
    for channel in ("email", "sms", "webhook"):
        shared = Address_().take(a_claim("ann", channel=channel), a_claim("ben", channel=channel))
        assert (shared.owners, shared.told) == ([("ann", "home"), ("ben", "home")], [("ben", "PutEndpoint")])


def test_beyond_a_hundred_the_one_that_came_first_is_forgotten() -> None:
    shared = Address_().take(*(a_claim(f"user{n}") for n in range(MOST_OWNERS + 1)))
    assert len(shared.owners) == MOST_OWNERS
    assert (shared.owners[0][0], shared.owners[-1][0]) == ("user1", f"user{MOST_OWNERS}")
    shared.take(a_claim("user1"))
    assert (shared.owners[0][0], shared.owners[-1][0]) == ("user2", "user1")


def test_a_release_forgets_its_owner_and_takes_the_endpoint_away() -> None:
    shared = Address_().take(a_claim("ann"), a_claim("ben"), a_release("ann"))
    assert shared.owners == [("ben", "home")]
    [(user, removal)] = shared.last.commands
    assert (user, removal) == (
        "ann",
        RemoveEndpointV1(command_id="release-ann", channel="email", endpoint_id="home", at=NOW + 1),
    )
    assert shared.take(a_release("ben")).state is None


def test_a_quiet_release_only_forgets_and_one_that_is_older_than_the_claim_not_even_that() -> None:
    mailbox = Address_().take(a_claim("ann", at=NOW), a_release("ann", at=NOW - 1, quiet=True))
    assert (mailbox.owners, mailbox.told) == ([("ann", "home")], [])
    mailbox.take(a_release("ann", at=NOW, quiet=True))
    assert (mailbox.state, mailbox.told) == (None, [])


def test_all_users_of_an_address_are_told_what_is_held_against_it_each_once() -> None:
    shared = Address_().take(a_claim("ann"), a_claim("ann", "work"), a_claim("ben"), a_suppression("complaint"))
    assert shared.marks == {"ann": ("complaint", None), "ben": ("complaint", None)}
    shared.take(a_lift())
    assert shared.marks == {"ann": (None, None), "ben": (None, None)}


def test_what_is_held_survives_delete_and_re_add_and_comes_with_the_claim() -> None:
    mailbox = Address_().take(a_claim("ann"), a_suppression("bounce"), a_release("ann"))
    assert mailbox.held == ("bounce", None)
    mailbox.take(a_claim("ann", at=NOW + 2))
    [(_, put)] = mailbox.last.commands
    assert isinstance(put, PutEndpointV1)
    assert (put.suppressed, put.suppressed_until) == ("bounce", None)
    mailbox.take(a_claim("eve"))
    [(user, put)] = mailbox.last.commands
    assert (user, isinstance(put, PutEndpointV1) and put.suppressed) == ("eve", "bounce")


def test_a_full_mailbox_is_left_alone_for_a_while() -> None:
    mailbox = Address_().take(a_claim("ann"), a_suppression("mailbox_full", NOW + DAY))
    assert mailbox.marks == {"ann": ("mailbox_full", NOW + DAY)}
    mailbox.now = NOW + DAY
    assert mailbox.held is None
    mailbox.take(a_claim("ann", at=NOW + DAY))
    [(_, put)] = mailbox.last.commands
    assert isinstance(put, PutEndpointV1)
    assert (put.suppressed, mailbox.state and mailbox.state.held) == (None, ())


@pytest.mark.parametrize("strong", ["bounce", "complaint", "opt_out", "manual"])
def test_a_full_mailbox_shortens_nothing_that_was_held_before(strong: Suppression) -> None:
    mailbox = Address_().take(a_claim("ann"), a_suppression(strong), a_suppression("mailbox_full", NOW + HOUR))
    assert (mailbox.held, mailbox.marks) == ((strong, None), {})
    mailbox.take(a_lift(strong))
    assert (mailbox.held, mailbox.marks) == (("mailbox_full", NOW + HOUR), {"ann": ("mailbox_full", NOW + HOUR)})


def test_said_again_it_never_ends_sooner_and_what_is_past_is_not_kept() -> None:
    mailbox = Address_().take(a_claim("ann"), a_suppression("mailbox_full", NOW + DAY))
    mailbox.take(a_suppression("mailbox_full", NOW + HOUR), a_suppression("manual", NOW))
    assert (mailbox.held, mailbox.marks) == (("mailbox_full", NOW + DAY), {})
    mailbox.take(a_suppression("mailbox_full", NOW + 2 * DAY))
    assert mailbox.marks == {"ann": ("mailbox_full", NOW + 2 * DAY)}


def test_each_reason_is_lifted_by_itself() -> None:
    """START after STOP must not bring a dead address back, and a cured bounce no opt-out."""
    mailbox = Address_().take(a_suppression("bounce"), a_suppression("opt_out"))
    assert mailbox.held == ("opt_out", None)
    assert mailbox.take(a_lift("opt_out")).held == ("bounce", None)
    assert mailbox.take(a_lift("complaint")).held == ("bounce", None)
    assert mailbox.take(a_lift()).held is None


def test_what_a_provider_says_again_of_before_a_lift_holds_nothing_and_what_is_newer_does() -> None:
    """A bounce that was mended by hand, posted once more; and one that comes after."""
    mailbox = Address_().take(a_claim("ann"), a_suppression("bounce", at=NOW), a_lift(at=NOW + 5))
    for late in (a_suppression("bounce", at=NOW), a_suppression("complaint", at=NOW + 5), gone(at=NOW + 1)):
        assert (mailbox.take(late).held, mailbox.marks) == (None, {})
    assert mailbox.take(a_suppression("bounce", at=NOW + 6)).held == ("bounce", None)


def test_what_somebody_asks_for_counts_now_whatever_the_clocks_say() -> None:
    asked = a_suppression("manual", at=NOW, command_id="c")
    assert Address_().take(a_lift(at=NOW + 5), asked).held == ("manual", None)


def test_a_lift_for_one_reason_makes_only_that_one_late() -> None:
    number = Address_().take(a_lift("opt_out", at=NOW + 5), a_suppression("opt_out", at=NOW))
    assert number.held is None
    assert number.take(a_suppression("bounce", at=NOW)).held == ("bounce", None)


def test_a_lift_is_remembered_for_a_month_without_anybody_who_has_the_address() -> None:
    mailbox = Address_().take(a_lift("opt_out"), a_lift(at=NOW + 1), a_lift("opt_out", at=NOW - 1))
    assert mailbox.state is not None
    assert mailbox.state.lifted == (Lifted(NOW + 1), Lifted(NOW, "opt_out"))
    mailbox.now = NOW + 30 * DAY
    assert mailbox.take(a_release()).state == AddressState("email", applied=(1, 3), lifted=(Lifted(NOW + 1),))
    mailbox.now += 1
    assert mailbox.take(a_release()).state is None


def test_the_strongest_reason_is_the_one_that_is_told() -> None:
    held = tuple(Held(reason, None, NOW) for reason in ("bounce", "manual", "opt_out", "complaint"))
    for at in range(4, 0, -1):
        told = suppression(held[:at], NOW)
        assert told is held[at - 1]
    assert suppression((Held("manual", NOW + 1), Held("bounce", NOW + 2)), NOW) == Held("bounce", NOW + 2)


def test_storage_keeps_the_spelling_of_whoever_asked() -> None:
    """EML-14"""
    mailbox = Address_().take(a_suppression("manual", content=Address("Ann@Example.COM")))
    assert mailbox.state is not None
    assert mailbox.state.held == (Held("manual", None, NOW, "receipts", "Ann@Example.COM"),)


def test_a_dead_token_is_dropped_and_forgotten() -> None:
    """TOK-01"""
    token = Address_().take(a_claim("ann", channel="push"), AddressGoneV1(channel="push", at=NOW + 9))
    assert (token.state, token.told) == (None, [("ann", "DropAddress")])


@pytest.mark.parametrize(("since", "stays"), [(NOW - 1, True), (NOW, False), (NOW + 1, False), (None, False)])
def test_what_was_claimed_after_a_token_died_stays(since: int | None, stays: bool) -> None:
    token = Address_().take(a_claim("ann", channel="push"), AddressGoneV1(channel="push", at=NOW + 9, since=since))
    assert (token.owners, token.told) == (([("ann", "home")], []) if stays else ([], [("ann", "DropAddress")]))


def test_a_word_that_is_older_than_the_claim_drops_nothing() -> None:
    """The call was made before the app registered again, and its answer comes after."""
    token = Address_().take(a_claim("ann", channel="push", at=NOW), AddressGoneV1(channel="push", at=NOW - 1))
    assert (token.owners, token.told) == ([("ann", "home")], [])


@pytest.mark.parametrize("channel", ["email", "sms"])
def test_a_mailbox_or_number_that_is_gone_stays_with_its_user_and_is_held_as_bounced(channel: Channel) -> None:
    """EML-01: it may exist again, and its user has to see what is wrong with it."""
    gone = Address_().take(a_claim("ann", channel=channel), AddressGoneV1(channel=channel, at=NOW, by="sender"))
    assert (gone.owners, gone.held, gone.marks) == ([("ann", "home")], ("bounce", None), {"ann": ("bounce", None)})


def test_a_url_that_is_gone_is_dropped_from_all_who_have_it() -> None:
    gone = Address_().take(a_claim("ann", channel="webhook"), a_claim("ben", channel="webhook"))
    gone.take(AddressGoneV1(channel="webhook", at=NOW + 1))
    assert (gone.state, gone.told) == (None, [("ann", "DropAddress"), ("ben", "DropAddress")])


def test_to_show_it_changes_nothing_and_tells_nobody() -> None:
    mailbox = Address_().take(a_claim("ann"), a_suppression("manual"))
    before = mailbox.state
    mailbox.take(ShowAddressV1(channel="email", at=NOW, command_id="c"))
    assert mailbox.state is not None
    assert before is not None
    assert (mailbox.state.owners, mailbox.state.held, mailbox.told) == (before.owners, before.held, [])
    assert Address_().take(ShowAddressV1(channel="email", at=NOW, command_id="c")).last == Step(None)


def test_a_change_that_the_state_holds_has_no_effect_when_it_comes_again() -> None:
    key, change = address_key("email", MAILBOX), a_claim("ann")
    first = take(None, change, key=key, place=(1, 7), now=NOW)
    assert take(first.state, change, key=key, place=(1, 7), now=NOW) == Step(first.state)
    assert take(first.state, a_claim("ben"), key=key, place=(1, 6), now=NOW) == Step(first.state)
    assert take(first.state, change, key=key, place=(2, 0), now=NOW).commands != ()


def test_over_the_same_state_the_same_commands_follow_with_the_same_ids() -> None:
    key, state = address_key("push", TOKEN), take(None, a_claim("ann", channel="push"), **of("push")).state
    again = [take(state, a_claim("ben", channel="push"), key=key, place=(1, 9), now=NOW) for _ in range(2)]
    assert again[0] == again[1]
    assert [command.command_id for _, command in again[0].commands] == ["claim-ben", f"{key}/1/9"]


def of(channel: Channel, offset: int = 0) -> Any:
    return {"key": address_key(channel, ADDRESSES[channel]), "place": (1, offset), "now": NOW}


@pytest.mark.parametrize(
    ("change", "key", "says"),
    [
        (a_claim(), "ann@example.com", "key: "),
        (a_claim(), "0A" * 16, "key: "),
        (a_claim(), "0a" * 16, "content.address: "),
        (a_claim(user="a\nb"), address_key("email", MAILBOX), "a user id has no control characters"),
        (a_claim(endpoint_id=".."), address_key("email", MAILBOX), "an endpoint's id "),
        (a_suppression(channel="inapp"), "0a" * 16, "channel: "),
        (a_suppression(channel="sms"), "0a" * 16, "channel: "),
    ],
)
def test_a_change_that_cannot_be_of_its_key_is_refused_in_words(change: AddressChange, key: str, says: str) -> None:
    fault = why_not(change, key, AddressState("email"))
    assert fault is not None
    assert fault.startswith(says)
    assert MAILBOX not in fault


def test_any_other_change_is_taken() -> None:
    assert why_not(a_claim(), address_key("email", MAILBOX), None) is None
    assert why_not(a_suppression(), address_key("email", MAILBOX), AddressState("email")) is None
