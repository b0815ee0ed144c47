"""Whatever the registry meets twice, and in whatever order its addresses come: the profiles end up the same."""

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from notify_streams.domain import registry
from notify_streams.domain.addresses import address_key
from notify_streams.domain.endpoints import find, last_asked
from notify_streams.domain.patch import Applied, apply
from schemas.addresses import (
    AddressChange,
    AddressGoneV1,
    AddressState,
    ClaimAddressV1,
    LiftSuppressionV1,
    ReleaseAddressV1,
    SuppressAddressV1,
)
from schemas.commands import UserCommand
from schemas.profiles import NOBODY, Address, ProfileV1
from schemas.words import Channel
from tests.builders import DAY, NOW, a_catalogue

ADDRESSES: dict[Channel, tuple[str, ...]] = {
    "push": ("t" * 64, "u" * 64, "v" * 64),
    "email": ("a@example.com", "b@example.com", "c@example.com"),
}
CATALOGUE = a_catalogue()
REASONS = ("bounce", "complaint", "opt_out", "manual", "mailbox_full")
users, names, numbers = st.sampled_from(("ann", "ben")), st.sampled_from(("x", "y")), st.integers(0, 2)
acts = st.lists(
    st.one_of(
        st.tuples(st.just("claim"), users, names, numbers),
        st.tuples(st.just("release"), users, names, st.just(0)),
        st.tuples(st.just("suppress"), st.sampled_from(REASONS), st.just(""), numbers),
        st.tuples(st.just("lift"), st.sampled_from(REASONS), st.just(""), numbers),
        st.tuples(st.just("gone"), st.just(""), st.just(""), numbers),
    ),
    max_size=14,
)
# Which address is worked on next, how much of its log, and whether its worker lives to write and to commit that.
schedule = st.lists(st.tuples(numbers, st.integers(1, 4), st.sampled_from(("lives", "sent", "wrote"))), max_size=20)


class System:
    """A log per address, the registry over them, and the profiles of those who are told."""

    def __init__(self, channel: Channel) -> None:
        self.channel = channel
        self.keys = [address_key(channel, address) for address in ADDRESSES[channel]]
        self.logs: dict[str, list[AddressChange]] = {key: [] for key in self.keys}
        self.done = dict.fromkeys(self.keys, 0)
        self.states: dict[str, AddressState | None] = dict.fromkeys(self.keys)
        self.profiles: dict[str, ProfileV1] = {}

    def work(self, key: str, count: int, fate: str = "lives") -> None:
        """One batch: its commands are sent, then its state is written, then its place is committed."""
        state, at = self.states[key], self.done[key]
        batch = self.logs[key][at : at + count]
        for offset, change in enumerate(batch, at):
            step = registry.take(state, change, key=key, place=(1, offset), now=NOW)
            state = step.state
            for user, command in step.commands:
                self.tell(user, command)
        if fate != "sent":
            self.states[key] = state
        if fate == "lives":
            self.done[key] += len(batch)

    def tell(self, user: str, command: UserCommand) -> None:
        result = apply(self.profiles.get(user, NOBODY), command, CATALOGUE)
        assert isinstance(result, Applied), result
        self.profiles[user] = result.profile

    def all_worked(self) -> "System":
        for key in self.keys:
            self.work(key, len(self.logs[key]))
        return self

    @property
    def seen(self) -> Any:
        return {
            user: {
                e.endpoint_id: (e.content and e.content.address, e.suppressed, e.suppressed_until) for e in p.endpoints
            }
            for user, p in self.profiles.items()
            if p.endpoints
        }


def a_history(channel: Channel, done: list[tuple[str, str, str, int]]) -> System:
    """As gateways write it: they know the profile, and never ask with an instant that is past."""
    system = System(channel)
    for number, (act, who, name, which) in enumerate(done, 1):
        key, at = system.keys[which], NOW + number
        head: dict[str, Any] = {"channel": channel, "at": at}
        profile = system.profiles.get(who, NOBODY)
        old = find(profile, channel, name)
        owned: dict[str, Any] = {"user_id": who, "endpoint_id": name, "command_id": f"c{number}"}
        if act == "claim":
            assert last_asked(profile, channel, name) < at
            platform = "ios" if channel == "push" else None
            address = Address(ADDRESSES[channel][which])
            write(system, key, ClaimAddressV1(**head, **owned, content=address, platform=platform, by="user"))
            if old is not None and old.content is not None and old.content != address:
                before = address_key(channel, old.content.address)
                write(system, before, ReleaseAddressV1(**head, **owned, quiet=True))
        elif act == "release" and old is not None and old.content is not None:
            write(system, address_key(channel, old.content.address), ReleaseAddressV1(**head, **owned))
        elif act == "suppress":
            until = NOW + DAY if who == "mailbox_full" else None
            write(system, key, SuppressAddressV1(**head, reason=who, until=until))  # type: ignore[arg-type]
        elif act == "lift":
            write(system, key, LiftSuppressionV1(**head, only=who))  # type: ignore[arg-type]
        elif act == "gone":
            write(system, key, AddressGoneV1(**head))
    return system


def write(system: System, key: str, change: AddressChange) -> None:
    """On the log, and done at once."""
    system.logs[key].append(change)
    system.work(key, 1)


@settings(max_examples=2000)
@given(st.sampled_from(("push", "email")), acts, schedule)
def test_kills_and_another_order_of_the_addresses_change_nothing(
    channel: Channel, done: list[tuple[str, str, str, int]], batches: list[tuple[int, int, str]]
) -> None:
    in_order = a_history(channel, done)
    other = System(channel)
    other.logs = in_order.logs
    for which, count, fate in batches:
        other.work(other.keys[which], count, fate)
    other.all_worked()
    assert other.states == in_order.states
    assert other.seen == in_order.seen


@given(st.sampled_from(("push", "email")), acts)
def test_a_token_is_one_persons_and_what_is_held_is_told_to_all_who_have_the_address(
    channel: Channel, done: list[tuple[str, str, str, int]]
) -> None:
    system = a_history(channel, done)
    for key, address in zip(system.keys, ADDRESSES[channel], strict=True):
        state = system.states[key]
        rows = [(user, ends) for user, p in system.seen.items() for ends in p.values() if ends[0] == address]
        if channel == "push":
            assert len(rows) <= 1, rows
        held = registry.suppression(state.held, NOW) if state else None
        told = (None, None) if held is None else (held.reason, held.until)
        assert all((why, until) == told for _, (_, why, until) in rows)
        owners = {owner.user_id for owner in state.owners} if state else set()
        assert {user for user, _ in rows} <= owners


@given(acts)
def test_what_is_held_depends_on_no_owner_and_on_no_order_of_the_same_words(
    done: list[tuple[str, str, str, int]],
) -> None:
    held = [act for act in done if act[0] == "suppress"]
    mixed, alone, back = (
        a_history("email", acts) for acts in ([a for a in done if a[0] != "lift" and a[0] != "gone"], held, held[::-1])
    )
    for key in mixed.keys:
        kept = [
            {h.reason: h.until for h in state.held} if (state := system.states[key]) else {}
            for system in (mixed, alone, back)
        ]
        assert kept[0] == kept[1] == kept[2]
