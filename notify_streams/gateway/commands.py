"""Changes of a profile: a command on the log, its answer from the log."""

import re
from dataclasses import dataclass
from uuid import uuid4

from aiohttp import web

from notify_streams.domain import patch, registry
from notify_streams.domain.addresses import address_key
from notify_streams.gateway.asking import Asking
from notify_streams.gateway.auth import Caller, User
from notify_streams.gateway.problems import Problem
from notify_streams.gateway.profiles import Profiles
from notify_streams.streaming import topics
from schemas.addresses import (
    ClaimAddressV1,
    LiftSuppressionV1,
    ReleaseAddressV1,
    ShowAddressV1,
    SuppressAddressV1,
)
from schemas.catalogue import Catalogue
from schemas.codec import encode
from schemas.commands import CommandResultV1, FieldError, UserCommand
from schemas.profiles import ProfileV1

Answered = ClaimAddressV1 | ReleaseAddressV1 | SuppressAddressV1 | LiftSuppressionV1 | ShowAddressV1
_VERSION = re.compile(r'"?([0-9]{1,18})"?')


@dataclass(frozen=True, slots=True)
class Commands:
    """Gives commands to the orchestrator and waits for what it says."""

    catalogue: Catalogue
    asking: Asking
    profiles: Profiles

    async def give(self, user_id: str, command: UserCommand) -> CommandResultV1 | None:
        """The answer once the change governs what is accepted later; None when it did not come in time.

        Raises a 422 or 412 problem, and Unavailable when the command is not known to be on the log.
        """
        _refuse(patch.check(command, self.catalogue))
        return await self._answer(topics.USER_COMMANDS, user_id.encode(), encode(command), command.command_id)

    async def claim(self, change: ClaimAddressV1, profile: ProfileV1 | None) -> CommandResultV1 | None:
        """The same through the registry, which decides whose the address is.

        What is clear from the profile is refused before: an address must not change hands for a claim that fails.
        """
        command = registry.put_of(change)
        if profile is None:
            _refuse(patch.check(command, self.catalogue))
        else:
            match patch.apply(profile, command, self.catalogue):
                case patch.Conflict(version):
                    raise _conflict(version)
                case patch.Invalid(errors):
                    _refuse(errors)
        return await self.change(address_key(change.channel, change.content.address), change)

    async def change(self, key: str, change: Answered) -> CommandResultV1 | None:
        """The answer to a change of the address with this key; problems as above."""
        return await self._answer(topics.ADDRESS_CHANGES, key.encode(), encode(change), change.command_id)

    async def tell(self, topic: str, key: bytes, value: bytes) -> None:
        """What nobody waits for the answer to. Raises Unavailable."""
        await self.asking.publisher.publish(topic, key, value)

    async def _answer(self, topic: str, key: bytes, value: bytes, command_id: str) -> CommandResultV1 | None:
        result = await self.asking.ask(topic, key, value, command_id)
        if not isinstance(result, CommandResultV1):  # in time there is none
            return None
        _refuse(result.errors)
        if result.status == "conflict":
            raise _conflict(result.version)
        if result.user_id:
            await self.profiles.answered(result)
        return result


def _conflict(version: int) -> Problem:
    return Problem(412, "version_conflict", f"the version is {version}", headers={"ETag": etag(version)})


def _refuse(errors: tuple[FieldError, ...]) -> None:
    if errors:
        raise Problem(422, "invalid_command", errors[0].detail, errors=errors)


def new_command_id() -> str:
    """One per request: a repeated request is another command."""
    return uuid4().hex


def by(caller: Caller) -> str:
    """Who gives the command, as it is recorded."""
    return patch.BY_USER if isinstance(caller, User) else caller.own_source


def etag(version: int) -> str:
    """A version as a strong entity tag."""
    return f'"{version}"'


def if_match(request: web.Request) -> int | None:
    """The version that the caller wants to change; None for any. Raises a 412 for a tag that can never match."""
    text = request.headers.get("If-Match", "*").strip()
    if text == "*":
        return None
    version = _VERSION.fullmatch(text)
    if version is None:
        raise Problem(412, "version_conflict", "If-Match holds no version of ours")
    return int(version[1])
