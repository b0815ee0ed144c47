"""What happens to an address, whoever has it: claimed, released, gone, suppressed; and what is kept of it."""

from typing import Annotated, Literal

import msgspec

from schemas.profiles import Address
from schemas.words import Channel, Millis

# Why nothing is sent to an address. `mailbox_full` is always for a while.
Suppression = Literal["bounce", "complaint", "opt_out", "mailbox_full", "manual"]


class _Change(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True, tag_field="schema"):
    """Published on `notify.address-changes`, keyed by `domain.addresses.address_key`. `at` in ms; `by` whom."""

    channel: Channel
    at: Millis
    by: str = ""


class ClaimAddressV1(_Change, frozen=True, tag="claim-address.v1"):
    """A user has an endpoint with this address. Answered on `command-results` by the user command that follows."""

    command_id: Annotated[str, msgspec.Meta(max_length=128)]
    user_id: str
    endpoint_id: str
    content: Address
    if_match: int | None = None
    verified: bool = False
    platform: str | None = None


class ReleaseAddressV1(_Change, frozen=True, tag="release-address.v1"):
    """A user forgets an endpoint that has this address. Answered like a claim."""

    command_id: Annotated[str, msgspec.Meta(max_length=128)]
    user_id: str
    endpoint_id: str
    if_match: int | None = None


class AddressGoneV1(_Change, frozen=True, tag="address-gone.v1"):
    """The provider says that it does not exist any more, since `since` (ms): what was claimed later stays."""

    since: Millis | None = None
    provider: str = ""
    delivery_id: str | None = None


class SuppressAddressV1(_Change, frozen=True, tag="suppress-address.v1"):
    """Nothing is sent there any more, by nobody, until `until` (ms) or until it is lifted."""

    reason: Suppression
    until: Millis | None = None
    provider: str = ""
    delivery_id: str | None = None


class LiftSuppressionV1(_Change, frozen=True, tag="lift-suppression.v1"):
    """It may be sent to again. `only` for this reason, where given."""

    only: Suppression | None = None


AddressChange = ClaimAddressV1 | ReleaseAddressV1 | AddressGoneV1 | SuppressAddressV1 | LiftSuppressionV1


class Owner(msgspec.Struct, frozen=True, array_like=True):
    """A user who has the address as this endpoint, since `at` (ms)."""

    user_id: str
    endpoint_id: str
    at: Millis


class AddressState(msgspec.Struct, frozen=True, array_like=True):
    """Value of the `addresses` table (msgpack), keyed by the address key.

    `applied` is the (generation, offset) of the last change that it holds.
    """

    channel: Channel
    owners: tuple[Owner, ...] = ()
    suppressed: Suppression | None = None
    until: Millis | None = None
    suppressed_at: Millis = 0
    by: str = ""
    applied: tuple[int, int] = (0, -1)


decode_change = msgspec.json.Decoder(AddressChange).decode
decode_address = msgspec.msgpack.Decoder(AddressState).decode
