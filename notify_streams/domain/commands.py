"""A command met where it stands on the log: applied once, answered as often as it is asked."""

from typing import Literal, assert_never

import msgspec

from notify_streams.domain import patch
from notify_streams.domain.ids import is_uuid
from schemas.catalogue import Catalogue
from schemas.commands import CancelV1, CommandResultV1, FieldError, UserCommand
from schemas.profiles import Applied, ProfileV1

_KEPT = 32
_NOTHING_NAMED = (FieldError("", "notification_id is required, or source and collapse_key"),)
_NO_UUID = (FieldError("/notification_id", "a UUID is required"),)


def carry_out(
    profile: ProfileV1, command: UserCommand, user_id: str, catalogue: Catalogue, *, generation: int, offset: int
) -> tuple[ProfileV1, CommandResultV1]:
    """The profile after the command of this place on `user-commands`, and what is answered.

    A command that the profile has seen is not applied again: its first answer is repeated.
    """
    seen = _seen(profile, generation, offset)
    if seen is not None:
        errors = _errors(command, catalogue) if seen.status == "invalid" else ()
        return profile, _result(command, user_id, seen.status, seen.version, profile, errors)
    status: Literal["applied", "conflict", "invalid"]
    errors = ()
    if isinstance(command, CancelV1):  # it leaves the profile alone, and may be done twice
        errors = _errors(command, catalogue)
        status = "invalid" if errors else "applied"
        return profile, _result(command, user_id, status, profile.version, profile, errors)
    outcome = patch.apply(profile, command, catalogue)
    match outcome:
        case patch.Applied(changed):
            profile, status = changed, "applied"
        case patch.Conflict():
            status = "conflict"
        case patch.Invalid(found):
            status, errors = "invalid", found
        case _:
            assert_never(outcome)
    return noted(profile, generation, offset, status), _result(
        command, user_id, status, profile.version, profile, errors
    )


def reset(profile: ProfileV1, *, generation: int, offset: int) -> ProfileV1:
    """A null value on the topic: the user is back to defaults, under a new version. Whoever was erased stays so."""
    if _seen(profile, generation, offset) is not None:
        return profile
    plain = ProfileV1(version=profile.version + 1, erased=profile.erased, applied=profile.applied)
    return noted(plain, generation, offset, "applied")


def shown(profile: ProfileV1) -> ProfileV1:
    """The profile as an answer tells it."""
    return msgspec.structs.replace(profile, applied=())


def noted(profile: ProfileV1, generation: int, offset: int, status: str) -> ProfileV1:
    """The profile with this command on its list, the oldest of a long list left out."""
    applied = (*profile.applied[-_KEPT + 1 :], Applied(generation, offset, status, profile.version))
    return msgspec.structs.replace(profile, applied=applied)


def _errors(command: UserCommand, catalogue: Catalogue) -> tuple[FieldError, ...]:
    """What is wrong with it whatever the profile: said again as often as it is asked."""
    if not isinstance(command, CancelV1):
        return patch.check(command, catalogue)
    if command.notification_id is None:
        return () if command.source is not None and command.collapse_key is not None else _NOTHING_NAMED
    return () if is_uuid(command.notification_id) else _NO_UUID


def _seen(profile: ProfileV1, generation: int, offset: int) -> Applied | None:
    for entry in reversed(profile.applied):
        if entry.generation == generation and entry.offset == offset:
            return entry
    oldest = profile.applied[0] if len(profile.applied) == _KEPT else None
    if oldest is not None and (generation, offset) < (oldest.generation, oldest.offset):
        return Applied(generation, offset, "applied", profile.version)
    return None


def _result(
    command: UserCommand,
    user_id: str,
    status: str,
    version: int,
    profile: ProfileV1,
    errors: tuple[FieldError, ...] = (),
) -> CommandResultV1:
    known: Literal["applied", "conflict", "invalid"]
    known = "conflict" if status == "conflict" else "invalid" if status == "invalid" else "applied"
    whole = known == "applied" and profile.version == version  # a repeat may come after further changes
    return CommandResultV1(
        command_id=command.command_id,
        user_id=user_id,
        status=known,
        version=version,
        errors=errors,
        profile=shown(profile) if whole else None,
    )
