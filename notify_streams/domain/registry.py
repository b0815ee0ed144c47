"""Who has an address and why nothing is sent there, as values: a change of it, and what follows for its users.

A device token has one owner, the last registrant; every other address any number of them. What is held against an
address is the address's own: it holds for all its users, and stays when all of them have left.
"""

import re
from collections.abc import Iterable
from typing import assert_never

import msgspec

from notify_streams.domain.accept import why_no_user_id
from notify_streams.domain.addresses import address_key, why_no_endpoint_id
from schemas.addresses import (
    AddressChange,
    AddressGoneV1,
    AddressState,
    ClaimAddressV1,
    Held,
    Lifted,
    LiftSuppressionV1,
    Owner,
    ReleaseAddressV1,
    ShowAddressV1,
    SuppressAddressV1,
    Suppression,
)
from schemas.commands import DropAddressV1, MarkAddressV1, PutEndpointV1, RemoveEndpointV1, UserCommand
from schemas.words import MAX_MS

MOST_OWNERS = 100
_REMEMBERED_MS = 30 * 86_400_000  # providers repeat their words for days
BY_REGISTRY = "registry"
Place = tuple[int, int]
Given = tuple[str, UserCommand]  # user id, and what that user's profile is told
_After = tuple[tuple[Owner, ...], tuple[Held, ...], tuple[Given, ...]]

# The stronger first: of two that end alike, the one that is told.
_RANKS: dict[Suppression, int] = {"complaint": 4, "opt_out": 3, "manual": 2, "bounce": 1, "mailbox_full": 0}
_STAYS = frozenset({"email", "sms"})  # such an address may come back, and its user wants to see what is wrong with it
_KEY = re.compile("[0-9a-f]{32}")


class Step(msgspec.Struct, frozen=True):
    """What is kept from now on, None for nothing; and what follows, in this order."""

    state: AddressState | None
    commands: tuple[Given, ...] = ()


def why_not(change: AddressChange, key: str, state: AddressState | None) -> str | None:
    """What is wrong with the change of an address with this key; None when it can be taken."""
    if not _KEY.fullmatch(key):
        return "key: an address key has 32 hex digits"
    if change.channel == "inapp" or (state is not None and state.channel != change.channel):
        return f"channel: the address is none of {change.channel}"
    if isinstance(change, ClaimAddressV1 | ReleaseAddressV1):
        fault = why_no_user_id(change.user_id) or why_no_endpoint_id(change.endpoint_id)
        if fault is not None:
            return fault
    if isinstance(change, ClaimAddressV1) and address_key(change.channel, change.content.address) != key:
        return "content.address: the key is that of another address"
    return None


def take(state: AddressState | None, change: AddressChange, *, key: str, place: Place, now: int) -> Step:
    """One change of the address with this key, met at this (generation, offset) of its log. `now` in ms.

    The state must be written only once all that followed was sent: so of a change that it holds nothing follows again.
    The same change over the same state gives the same commands, ids included.
    """
    before = state or AddressState(change.channel)
    if place <= before.applied:
        return Step(state)
    lifted = tuple(lift for lift in before.lifted if lift.at > now - _REMEMBERED_MS)
    met = _Met(before.owners, _in_force(before.held, now), key, f"{key}/{place[0]}/{place[1]}", now, lifted)
    match change:
        case ClaimAddressV1():
            owners, held, commands = _claim(change, met)
        case ReleaseAddressV1():
            owners, held, commands = _release(change, met)
        case AddressGoneV1():
            owners, held, commands = _gone(change, met)
        case SuppressAddressV1():
            spelt = None if change.content is None else change.content.address
            owners, held, commands = _hold(change, met, Held(change.reason, change.until, change.at, change.by, spelt))
        case LiftSuppressionV1():
            left = tuple(h for h in met.held if change.only is not None and h.reason != change.only)
            owners, held, commands = met.owners, left, _marks(change, met, left)
            lifted = _lifted(change, lifted)
        case ShowAddressV1():
            return Step(state)
        case _:
            assert_never(change)
    kept = AddressState(before.channel, owners, held, place, lifted) if owners or held or lifted else None
    return Step(kept, commands)


def suppression(held: Iterable[Held], now: int) -> Held | None:
    """What is told of all that is held at `now` (ms): what holds longest, and of two alike the stronger reason."""
    return max(_in_force(held, now), key=lambda h: (_end(h), _RANKS[h.reason]), default=None)


def put_of(claim: ClaimAddressV1, held: Iterable[Held] = ()) -> PutEndpointV1:
    """What the claimer's profile is told, with what is held (all of it in force) against the address."""
    reason, until = _told(suppression(held, -1))
    return PutEndpointV1(
        command_id=claim.command_id,
        if_match=claim.if_match,
        by=claim.by,
        channel=claim.channel,
        endpoint_id=claim.endpoint_id,
        content=claim.content,
        verified=claim.verified,
        platform=claim.platform,
        suppressed=reason,
        suppressed_until=until,
        at=claim.at,
    )


def removal_of(change: ReleaseAddressV1) -> RemoveEndpointV1:
    """What the profile of whoever releases it is told."""
    return RemoveEndpointV1(
        command_id=change.command_id,
        if_match=change.if_match,
        by=change.by,
        channel=change.channel,
        endpoint_id=change.endpoint_id,
        at=change.at,
    )


class _Met(msgspec.Struct, frozen=True):
    """What a change meets: owners, what is held in force at `now`; and the id of the commands that it gives itself."""

    owners: tuple[Owner, ...]
    held: tuple[Held, ...]
    key: str
    command_id: str
    now: int
    lifted: tuple[Lifted, ...]


def _claim(claim: ClaimAddressV1, met: _Met) -> _After:
    """With the claimer last, of a device token alone; the ones that came first are forgotten beyond a hundred."""
    new = Owner(claim.user_id, claim.endpoint_id, claim.at)
    put = (claim.user_id, put_of(claim, met.held))
    if claim.channel != "push":
        others = (o for o in met.owners if (o.user_id, o.endpoint_id) != (new.user_id, new.endpoint_id))
        return (*others, new)[-MOST_OWNERS:], met.held, (put,)
    dropped = (user for user in _users(met.owners) if user != claim.user_id)
    return (new,), met.held, (put, *_drops(claim, met, dropped))


def _release(change: ReleaseAddressV1, met: _Met) -> _After:
    """What was claimed after it was released stays: with two gateways they may come in this order."""
    named = (change.user_id, change.endpoint_id)
    owners = tuple(o for o in met.owners if (o.user_id, o.endpoint_id) != named or o.at > change.at)
    if change.quiet:
        return owners, met.held, ()
    return owners, met.held, ((change.user_id, removal_of(change)),)


def _gone(change: AddressGoneV1, met: _Met) -> _After:
    """A mailbox or number is held as bounced, anything else forgotten, unless it was claimed since."""
    if change.channel in _STAYS:
        return _hold(change, met, Held("bounce", None, change.at, change.by))
    since = change.at if change.since is None else change.since
    later = frozenset(o.user_id for o in met.owners if o.at > since)
    owners = tuple(o for o in met.owners if o.user_id in later)
    return owners, met.held, _drops(change, met, (user for user in _users(met.owners) if user not in later))


def _hold(change: AddressChange, met: _Met, new: Held) -> _After:
    """What is asked for counts now; what a provider says of a time before it was lifted comes late, or again."""
    is_asked = isinstance(change, SuppressAddressV1) and change.command_id != ""
    late = any(new.at <= lift.at and lift.reason in (None, new.reason) for lift in met.lifted)
    held = met.held if late and not is_asked else _with(met.held, new, met.now)
    return met.owners, held, _marks(change, met, held)


def _lifted(change: LiftSuppressionV1, known: tuple[Lifted, ...]) -> tuple[Lifted, ...]:
    """Each reason once, at its last lift."""
    others = tuple(lift for lift in known if lift.reason != change.only)
    last = max((lift.at for lift in known if lift.reason == change.only), default=0)
    return (*others, Lifted(max(change.at, last), change.only))


def _drops(change: AddressChange, met: _Met, users: Iterable[str]) -> tuple[Given, ...]:
    """Each told of its own claim: the drop may be met again after the user has claimed the address once more."""
    last = {user: max(o.at for o in met.owners if o.user_id == user) for user in users}
    plain = DropAddressV1(command_id=met.command_id, by=BY_REGISTRY, channel=change.channel, address_key=met.key)
    return tuple((user, msgspec.structs.replace(plain, at=at)) for user, at in last.items())


def _with(held: tuple[Held, ...], new: Held, now: int) -> tuple[Held, ...]:
    """Each reason once, until the later of both ends: said again, nothing ends sooner."""
    if _end(new) <= now:
        return held
    old = next((h for h in held if h.reason == new.reason), None)
    if old is None:
        return (*held, new)
    kept = new if _end(new) > _end(old) else old
    return tuple(kept if h is old else h for h in held)


def _in_force(held: Iterable[Held], now: int) -> tuple[Held, ...]:
    return tuple(h for h in held if _end(h) > now)


def _end(held: Held) -> int:
    return MAX_MS + 1 if held.until is None else held.until


def _marks(change: AddressChange, met: _Met, held: tuple[Held, ...]) -> tuple[Given, ...]:
    """To all its users, where they have to know something else than before."""
    was, told = _told(suppression(met.held, -1)), _told(suppression(held, -1))
    if was == told:
        return ()
    mark = MarkAddressV1(
        command_id=met.command_id,
        by=change.by,
        channel=change.channel,
        address_key=met.key,
        suppressed=told[0],
        suppressed_until=told[1],
    )
    return tuple((user, mark) for user in _users(met.owners))


def _told(held: Held | None) -> tuple[Suppression | None, int | None]:
    return (None, None) if held is None else (held.reason, held.until)


def _users(owners: Iterable[Owner]) -> tuple[str, ...]:
    """Each once."""
    return tuple(dict.fromkeys(owner.user_id for owner in owners))
