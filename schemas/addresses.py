"""What happens to an address, whoever has it: claimed, released, gone, suppressed; and what is kept of it."""

from typing import Annotated, Literal

import msgspec

from schemas.profiles import Address
from schemas.words import Channel, Millis

CommandId = Annotated[str, msgspec.Meta(max_length=128)]
# Why nothing is sent to an address. `mailbox_full` is always for a while.
Suppression = Literal["bounce", "complaint", "opt_out", "mailbox_full", "manual"]


class _Change(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True, tag_field="schema"):
    """Published on `notify.address-changes`, keyed by `domain.addresses.address_key`. `at` in ms; `by` whom."""

    channel: Channel
    at: Millis
    by: str = ""


class ClaimAddressV1(_Change, frozen=True, tag="claim-address.v1"):
    """A user has an endpoint with this address. Answered on `command-results` by the user command that follows."""

    command_id: CommandId
    user_id: str
    endpoint_id: str
    content: Address
    if_match: int | None = None
    verified: bool = False
    platform: str | None = None


class ReleaseAddressV1(_Change, frozen=True, tag="release-address.v1"):
    """A user forgets an endpoint that has this address. Answered like a claim.

    `quiet`: the endpoint has another address by now, and only the registry has to hear of it; then nobody is answered.
    """

    command_id: CommandId
    user_id: str
    endpoint_id: str
    if_match: int | None = None
    quiet: bool = False


class AddressGoneV1(_Change, frozen=True, tag="address-gone.v1"):
    """The provider says that it does not exist any more, since `since` (ms): what was claimed later stays."""

    since: Millis | None = None
    provider: str = ""
    delivery_id: str | None = None


class SuppressAddressV1(_Change, frozen=True, tag="suppress-address.v1"):
    """Nothing is sent there any more, by nobody, until `until` (ms) or until it is lifted.

    Answered on `command-results` where it has a `command_id`. `content` is the address as whoever asks spells it.
    """

    reason: Suppression
    until: Millis | None = None
    provider: str = ""
    delivery_id: str | None = None
    command_id: CommandId = ""
    content: Address | None = None


class LiftSuppressionV1(_Change, frozen=True, tag="lift-suppression.v1"):
    """It may be sent to again. `only` for this reason, where given. Answered where it has a `command_id`."""

    only: Suppression | None = None
    command_id: CommandId = ""


class ShowAddressV1(_Change, frozen=True, tag="show-address.v1"):
    """No change at all: what is kept of the address is answered, as of this place on the log."""

    command_id: CommandId


AddressChange = (
    ClaimAddressV1 | ReleaseAddressV1 | AddressGoneV1 | SuppressAddressV1 | LiftSuppressionV1 | ShowAddressV1
)


class Owner(msgspec.Struct, frozen=True, array_like=True):
    """A user who has the address as this endpoint, since `at` (ms)."""

    user_id: str
    endpoint_id: str
    at: Millis


class Held(msgspec.Struct, frozen=True, array_like=True):
    """One reason why nothing is sent there, since `at` and until `until` (ms; None means until it is lifted).

    `by` whom it was said; `address` as they spelt it, where they did.
    """

    reason: Suppression
    until: Millis | None = None
    at: Millis = 0
    by: str = ""
    address: str | None = None


class Lifted(msgspec.Struct, frozen=True, array_like=True):
    """It was sent to again from `at` (ms) on, whatever was held against it; or only for this reason."""

    at: Millis
    reason: Suppression | None = None


class AddressState(msgspec.Struct, frozen=True, array_like=True):
    """Value of the `addresses` table (msgpack), keyed by the address key.

    `owners` are in the order of their claims, the last one last; `held` has each reason once. `applied` is the
    (generation, offset) of the last change that it holds. `lifted` are the last lifts: what a provider says of earlier
    comes late, or again.
    """

    channel: Channel
    owners: tuple[Owner, ...] = ()
    held: tuple[Held, ...] = ()
    applied: tuple[int, int] = (0, -1)
    lifted: tuple[Lifted, ...] = ()


decode_change = msgspec.json.Decoder(AddressChange).decode
decode_address = msgspec.msgpack.Decoder(AddressState).decode
