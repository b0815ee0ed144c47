"""What commands about endpoints and addresses make of a user's endpoints."""

from collections.abc import Callable

import msgspec

from notify_streams.domain.addresses import address_key
from schemas.commands import DropAddressV1, MarkAddressV1, PutEndpointV1, RemoveEndpointV1, VerifyEndpointV1
from schemas.profiles import Endpoint, ProfileV1, Removed
from schemas.words import MAX_MS, Channel

BY_USER = "user"
MOST = 32
_MOST_REMOVED = 16
_replace = msgspec.structs.replace


def put(profile: ProfileV1, command: PutEndpointV1) -> ProfileV1:
    """In the old one's place, else last; of a device token that is there under another name, in its stead.

    A user's own repeat keeps `verified`, and an app that has a token needs no code to show that it is its own. One
    that was asked for before what is there, or was removed since, changes nothing but who had its token before.
    Whether the address is suppressed the command says, which the registry gives.
    """
    old = find(profile, command.channel, command.endpoint_id)
    key = address_key(command.channel, command.content.address)
    is_past = command.at != 0 and command.at <= last_asked(profile, command.channel, command.endpoint_id)
    if command.channel == "push":
        before = command.at if is_past else MAX_MS + 1
        profile = _without(profile, lambda e: e is not old and e.at < before and has(e, "push", key))
    if is_past:
        return profile
    same = old is not None and has(old, command.channel, key)
    new = Endpoint(
        channel=command.channel,
        endpoint_id=command.endpoint_id,
        verified=command.verified
        or command.channel == "push"
        or bool(old and same and old.verified and command.by == BY_USER),
        suppressed=command.suppressed,
        suppressed_until=command.suppressed_until,
        platform=command.platform,
        at=command.at,
        content=command.content,
    )
    if old is None:
        return _replace(profile, endpoints=(*profile.endpoints, new))
    return _replace(profile, endpoints=tuple(new if e is old else e for e in profile.endpoints))


def removed(profile: ProfileV1, command: RemoveEndpointV1) -> ProfileV1:
    """Without it, unless it was asked for later; a claim from before, which comes later, will not bring it back."""
    old = find(profile, command.channel, command.endpoint_id)
    if command.at and old is not None and old.at > command.at:
        return profile
    kept = _replace(profile, endpoints=tuple(e for e in profile.endpoints if e is not old))
    return _noted(kept, command.channel, command.endpoint_id, command.at)


def verified(profile: ProfileV1, command: VerifyEndpointV1) -> ProfileV1:
    """That endpoint, if it still has the address that the code was sent to."""
    named = find(profile, command.channel, command.endpoint_id)
    if named is None or not has(named, command.channel, command.address_key):
        return profile
    return _each(profile, lambda e: e is named, lambda e: _replace(e, verified=True))


def marked(profile: ProfileV1, command: MarkAddressV1) -> ProfileV1:
    """All that have the address: suppressed for this reason, or no longer."""
    mark = {"suppressed": command.suppressed, "suppressed_until": command.suppressed_until}
    return _each(profile, lambda e: has(e, command.channel, command.address_key), lambda e: _replace(e, **mark))


def dropped(profile: ProfileV1, command: DropAddressV1) -> ProfileV1:
    """Without all that have the address, and were asked for as early as that."""
    meant = command.at or MAX_MS
    return _without(profile, lambda e: e.at <= meant and has(e, command.channel, command.address_key))


def noticed(profile: ProfileV1) -> ProfileV1:
    """What anybody but these functions sees of it: two that are alike need no version of their own."""
    return _replace(profile, endpoints=tuple(_replace(e, at=0) for e in profile.endpoints), removed=())


def find(profile: ProfileV1, channel: Channel, endpoint_id: str) -> Endpoint | None:
    """The user's endpoint of this name."""
    return next((e for e in profile.endpoints if (e.channel, e.endpoint_id) == (channel, endpoint_id)), None)


def has(endpoint: Endpoint, channel: Channel, key: str) -> bool:
    """Whether the address with this key is its own."""
    content = endpoint.content
    return endpoint.channel == channel and content is not None and address_key(channel, content.address) == key


def last_asked(profile: ProfileV1, channel: Channel, endpoint_id: str) -> int:
    """When its user last asked for this endpoint, or to remove it, as far as that was noted (ms); 0 for never."""
    old = find(profile, channel, endpoint_id)
    return max(_removed_at(profile, channel, endpoint_id), 0 if old is None else old.at)


def _removed_at(profile: ProfileV1, channel: Channel, endpoint_id: str) -> int:
    return next((r.at for r in profile.removed if (r.channel, r.endpoint_id) == (channel, endpoint_id)), 0)


def _without(profile: ProfileV1, chosen: Callable[[Endpoint], bool]) -> ProfileV1:
    """What was asked for before one of these must not come back in its place either."""
    gone = [e for e in profile.endpoints if chosen(e)]
    profile = _replace(profile, endpoints=tuple(e for e in profile.endpoints if e not in gone))
    for endpoint in gone:
        profile = _noted(profile, endpoint.channel, endpoint.endpoint_id, endpoint.at)
    return profile


def _noted(profile: ProfileV1, channel: Channel, endpoint_id: str, at: int) -> ProfileV1:
    if at <= _removed_at(profile, channel, endpoint_id):
        return profile
    others = tuple(r for r in profile.removed if (r.channel, r.endpoint_id) != (channel, endpoint_id))
    return _replace(profile, removed=(*others, Removed(channel, endpoint_id, at))[-_MOST_REMOVED:])


def _each(profile: ProfileV1, chosen: Callable[[Endpoint], bool], change: Callable[[Endpoint], Endpoint]) -> ProfileV1:
    return _replace(profile, endpoints=tuple(change(e) if chosen(e) else e for e in profile.endpoints))
