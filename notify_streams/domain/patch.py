"""What a user command makes of a profile, or why it does not."""

from collections.abc import Mapping
from typing import Any, assert_never

import msgspec

from notify_streams.domain import checks, endpoints
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
from schemas.profiles import ProfileV1

BY_USER = endpoints.BY_USER


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
    """All of the command or nothing of it. A change raises the version by one, unless only `at`s are others."""
    if command.if_match is not None and command.if_match != profile.version:
        return Conflict(profile.version)
    errors = check(command, catalogue)
    if errors:
        return Invalid(errors)
    match command:
        case PatchPreferencesV1():
            changed = _patched(profile, command.patch)
        case PutEndpointV1():
            changed = endpoints.put(profile, command)
            if len(changed.endpoints) > endpoints.MOST:
                return Invalid((FieldError("/endpoint_id", f"a user has at most {endpoints.MOST} endpoints"),))
        case RemoveEndpointV1():
            changed = endpoints.removed(profile, command)
        case VerifyEndpointV1():
            changed = endpoints.verified(profile, command)
        case MarkAddressV1():
            changed = endpoints.marked(profile, command)
        case DropAddressV1():
            changed = endpoints.dropped(profile, command)
        case EraseUserV1():
            changed = ProfileV1(version=profile.version, erased=True, applied=profile.applied)
        case CancelV1():
            changed = profile
        case _:
            assert_never(command)
    if changed == profile:
        return Applied(profile)
    if endpoints.noticed(changed) == endpoints.noticed(profile):
        return Applied(changed)
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
