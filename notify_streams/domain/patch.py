"""What a user command makes of a profile, or why it does not."""

from collections.abc import Callable, Mapping
from typing import Any, assert_never

import msgspec

from notify_streams.domain import checks
from notify_streams.domain.addresses import address_key, same_address
from schemas.catalogue import Catalogue
from schemas.commands import (
    CancelV1,
    DropAddressV1,
    EraseUserV1,
    FieldError,
    MarkAddressV1,
    PatchPreferencesV1,
    Preferences,
    PutEndpointV1,
    RemoveEndpointV1,
    UserCommand,
    VerifyEndpointV1,
)
from schemas.profiles import Endpoint, ProfileV1
from schemas.words import Channel

BY_USER = "user"
_replace = msgspec.structs.replace
_MAX_ENDPOINTS = 32


class Applied(msgspec.Struct, frozen=True):
    """The profile that holds now: the same object, version included, where the command changes nothing."""

    profile: ProfileV1


class Conflict(msgspec.Struct, frozen=True):
    """The command was made for another version than this one."""

    version: int


class Invalid(msgspec.Struct, frozen=True):
    """No profile could take it."""

    errors: tuple[FieldError, ...]


def apply(profile: ProfileV1, command: UserCommand, catalogue: Catalogue) -> Applied | Conflict | Invalid:
    """All of the command or nothing of it. A change raises the version by one."""
    if command.if_match is not None and command.if_match != profile.version:
        return Conflict(profile.version)
    errors = check(command, catalogue)
    if errors:
        return Invalid(errors)
    match command:
        case PatchPreferencesV1():
            changed = _patched(profile, command.patch)
        case PutEndpointV1():
            changed = _with_endpoint(profile, command)
            if len(changed.endpoints) > _MAX_ENDPOINTS:
                return Invalid((FieldError("/endpoint_id", f"a user has at most {_MAX_ENDPOINTS} endpoints"),))
        case RemoveEndpointV1():
            kept = tuple(e for e in profile.endpoints if not _is(e, command.channel, command.endpoint_id))
            changed = msgspec.structs.replace(profile, endpoints=kept)
        case VerifyEndpointV1():
            changed = _each(profile, lambda e: _is_at(e, command), lambda e: _replace(e, verified=True))
        case MarkAddressV1(channel, key):
            mark = {"suppressed": command.suppressed, "suppressed_until": command.suppressed_until}
            changed = _each(profile, lambda e: _has(e, channel, key), lambda e: _replace(e, **mark))
        case DropAddressV1(channel, key):
            left = tuple(e for e in profile.endpoints if not _has(e, channel, key))
            changed = msgspec.structs.replace(profile, endpoints=left)
        case EraseUserV1():
            changed = ProfileV1(version=profile.version, erased=True, applied=profile.applied)
        case CancelV1():
            changed = profile
        case _:
            assert_never(command)
    if changed == profile:
        return Applied(profile)
    return Applied(msgspec.structs.replace(changed, version=profile.version + 1))


def check(command: UserCommand, catalogue: Catalogue) -> tuple[FieldError, ...]:
    """What is wrong with the command whatever the profile; pointers are into the body that the gateway takes.

    Few enough, and short enough, for the answer to fit into a record.
    """
    match command:
        case PatchPreferencesV1():
            return checks.first_of(checks.errors_in(command.patch, catalogue))
        case PutEndpointV1():
            return checks.first_of(checks.errors_in_endpoint(command))
        case _:
            return ()


def _patched(profile: ProfileV1, patch: Preferences) -> ProfileV1:
    """Scalars and lists are replaced, maps merged, null resets (RFC 7396)."""
    changes: dict[str, Any] = {}
    for name in ("locale", "zone", "digest_at", "quiet_hours"):
        value = getattr(patch, name)
        if value is not msgspec.UNSET:
            changes[name] = () if value is None and name == "quiet_hours" else value
    for name in ("channels", "categories", "digest"):
        value = getattr(patch, name)
        if value is not msgspec.UNSET:
            changes[name] = _merged(getattr(profile, name), value)
    return msgspec.structs.replace(profile, **changes)


def _merged(base: Mapping[str, Any], over: Mapping[str, Any] | None) -> dict[str, Any]:
    if over is None:
        return {}
    merged = dict(base)
    for key, value in over.items():
        kept = _merged(merged.get(key, {}), value) if isinstance(value, Mapping) else value
        if kept is None or kept == {}:
            merged.pop(key, None)
        else:
            merged[key] = kept
    return merged


def _with_endpoint(profile: ProfileV1, command: PutEndpointV1) -> ProfileV1:
    """In the old one's place, else last. A user's own repeat keeps `verified`.

    Whether the address is suppressed the registry says.
    """
    old = next((e for e in profile.endpoints if _is(e, command.channel, command.endpoint_id)), None)
    address = command.content.address
    same = old is not None and old.content is not None and same_address(old.channel, old.content.address, address)
    new = Endpoint(
        channel=command.channel,
        endpoint_id=command.endpoint_id,
        verified=command.verified or bool(old and same and old.verified and command.by == BY_USER),
        suppressed=command.suppressed,
        suppressed_until=command.suppressed_until,
        platform=command.platform,
        content=command.content,
    )
    if old is None:
        return msgspec.structs.replace(profile, endpoints=(*profile.endpoints, new))
    return msgspec.structs.replace(profile, endpoints=tuple(new if e is old else e for e in profile.endpoints))


def _each(profile: ProfileV1, chosen: Callable[[Endpoint], bool], change: Callable[[Endpoint], Endpoint]) -> ProfileV1:
    return msgspec.structs.replace(profile, endpoints=tuple(change(e) if chosen(e) else e for e in profile.endpoints))


def _has(endpoint: Endpoint, channel: Channel, key: str) -> bool:
    """Whether this is its address."""
    content = endpoint.content
    return endpoint.channel == channel and content is not None and address_key(channel, content.address) == key


def _is_at(endpoint: Endpoint, command: VerifyEndpointV1) -> bool:
    named = _is(endpoint, command.channel, command.endpoint_id)
    return named and _has(endpoint, command.channel, command.address_key)


def _is(endpoint: Endpoint, channel: Channel, endpoint_id: str) -> bool:
    return endpoint.channel == channel and endpoint.endpoint_id == endpoint_id
