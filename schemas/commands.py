"""What may be asked of a user's profile, and the answer."""

from typing import Annotated, Literal

import msgspec

from schemas.addresses import AddressState
from schemas.profiles import Address, Frequency, ProfileV1, QuietHours, TimeOfDay
from schemas.words import Channel, Millis


class Preferences(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """A PATCH of preferences. An UNSET field stays as it is; null resets it to the default; maps are merged."""

    version: int | msgspec.UnsetType = msgspec.UNSET
    locale: str | msgspec.UnsetType | None = msgspec.UNSET
    zone: str | msgspec.UnsetType | None = msgspec.UNSET
    channels: dict[Channel, bool | None] | msgspec.UnsetType | None = msgspec.UNSET
    categories: dict[str, dict[Channel, bool | None] | None] | msgspec.UnsetType | None = msgspec.UNSET
    quiet_hours: tuple[QuietHours, ...] | msgspec.UnsetType | None = msgspec.UNSET
    digest: dict[Channel, dict[str, Frequency | None] | None] | msgspec.UnsetType | None = msgspec.UNSET
    digest_at: TimeOfDay | msgspec.UnsetType | None = msgspec.UNSET


class _Command(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True, tag_field="schema"):
    """Published on `notify.user-commands`, keyed by user id. `if_match` is the version it was made for."""

    command_id: Annotated[str, msgspec.Meta(max_length=128)]
    if_match: int | None = None
    by: str = ""


class PatchPreferencesV1(_Command, frozen=True, tag="patch-preferences.v1"):
    """Change preferences."""

    patch: Preferences


class PutEndpointV1(_Command, frozen=True, tag="put-endpoint.v1"):
    """Add or replace one endpoint. The registry gives it, which knows whether the address is suppressed.

    `at` is when the user asked (ms): one that was asked for later, or removed later, stays as it is. 0 is always now.
    """

    channel: Channel
    endpoint_id: str
    content: Address
    verified: bool = False
    platform: str | None = None
    suppressed: str | None = None
    suppressed_until: Millis | None = None
    at: Millis = 0


class RemoveEndpointV1(_Command, frozen=True, tag="remove-endpoint.v1"):
    """Forget one endpoint, unless it was asked for after `at` (ms). 0 is always now."""

    channel: Channel
    endpoint_id: str
    at: Millis = 0


class VerifyEndpointV1(_Command, frozen=True, tag="verify-endpoint.v1"):
    """The user has shown the code that was sent to this endpoint while its address had this key."""

    channel: Channel
    endpoint_id: str
    address_key: str


class MarkAddressV1(_Command, frozen=True, tag="mark-address.v1"):
    """All endpoints of the user whose address has this key are suppressed for this reason; None lifts it."""

    channel: Channel
    address_key: str
    suppressed: str | None = None
    suppressed_until: Millis | None = None


class DropAddressV1(_Command, frozen=True, tag="drop-address.v1"):
    """All endpoints of the user whose address has this key are gone: dead, or somebody else's now.

    `at` is when the last one that is meant was asked for (ms): met again, it leaves alone what came since. 0 is all.
    """

    channel: Channel
    address_key: str
    at: Millis = 0


class CancelV1(_Command, frozen=True, tag="cancel.v1"):
    """Stop what is under way: one notification, or the newest under a collapse key of `source`.

    It ends for `reason`, on these channels (none named means all).
    """

    notification_id: str | None = None
    source: str | None = None
    collapse_key: str | None = None
    reason: Literal["cancelled", "read"] = "cancelled"
    channels: tuple[Channel, ...] = ()


class EraseUserV1(_Command, frozen=True, tag="erase-user.v1"):
    """Forget the user."""


UserCommand = (
    PatchPreferencesV1
    | PutEndpointV1
    | RemoveEndpointV1
    | VerifyEndpointV1
    | MarkAddressV1
    | DropAddressV1
    | CancelV1
    | EraseUserV1
)


class FieldError(msgspec.Struct, frozen=True):
    """What is wrong with one field; `pointer` is a JSON pointer."""

    pointer: str
    detail: str


class CommandResultV1(
    msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True, tag="command-result.v1", tag_field="schema"
):
    """Published on `notify.command-results` once the change is acknowledged: it then governs what is accepted later.

    `profile` is the whole as of `version`, so that every gateway can show it before it is recorded. An answer of the
    registry concerns no user: `user_id` is empty, and `address` is what is kept of the address after the change.
    """

    command_id: str
    user_id: str
    status: Literal["applied", "conflict", "invalid"]
    version: int
    errors: tuple[FieldError, ...] = ()
    profile: ProfileV1 | None = None
    address: AddressState | None = None


decode_command = msgspec.json.Decoder(UserCommand).decode
decode_result = msgspec.json.Decoder(CommandResultV1).decode
