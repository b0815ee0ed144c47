"""What is known of a user when a decision is made."""

from typing import Annotated, Literal

import msgspec

from schemas.content import Sealed
from schemas.words import Channel, Millis

Day = Literal["mon", "tue", "wed", "thu", "fri", "sat", "sun"]
# Five characters: for Python a `$` also stands before a last newline.
TimeOfDay = Annotated[str, msgspec.Meta(pattern=r"^([01][0-9]|2[0-3]):[0-5][0-9]$|^24:00$", max_length=5)]
Frequency = Literal["instant", "hourly", "daily"]


class Address(msgspec.Struct, frozen=True, omit_defaults=True):
    """An endpoint's personal part."""

    address: str


class Endpoint(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """One address of a user: mailbox, number, device token, subscription, url.

    `suppressed` says why nothing is sent there, until `suppressed_until` (ms; None means until it is lifted). `at` is
    when the user asked for it (ms; 0 where nobody noted it): what was asked for earlier, and comes later, is past.
    """

    channel: Channel
    endpoint_id: str
    verified: bool = False
    suppressed: str | None = None
    suppressed_until: Millis | None = None
    platform: str | None = None
    at: Millis = 0
    content: Address | None = None
    sealed: Sealed | None = None


class QuietHours(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """A daily window in local times of the user's zone; start inclusive, end exclusive; none named means all."""

    start: TimeOfDay
    end: TimeOfDay
    days: Annotated[tuple[Day, ...], msgspec.Meta(max_length=7)] = ()
    channels: Annotated[tuple[Channel, ...], msgspec.Meta(max_length=5)] = ()


class Applied(msgspec.Struct, frozen=True, array_like=True):
    """A command that was applied: where it stood on `user-commands`, and what was answered."""

    generation: int
    offset: int
    status: str
    version: int


class Removed(msgspec.Struct, frozen=True, array_like=True):
    """An endpoint that its user has removed at `at` (ms): a claim from before must not bring it back."""

    channel: Channel
    endpoint_id: str
    at: Millis


class ProfileV1(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True, tag="profile.v1", tag_field="schema"):
    """Value of the `profiles` table, keyed by user id; its changelog is the public, compacted `notify.profiles`.

    `version` counts changes. `applied` lists the last commands, newest last, so that a repeated command repeats
    its answer instead of being applied again; `removed` the last endpoints that are gone, in that order too.
    """

    version: int = 0
    locale: str | None = None
    zone: str | None = None
    channels: dict[Channel, bool] = {}
    categories: dict[str, dict[Channel, bool]] = {}
    quiet_hours: tuple[QuietHours, ...] = ()
    digest: dict[Channel, dict[str, Frequency]] = {}
    digest_at: TimeOfDay | None = None
    endpoints: tuple[Endpoint, ...] = ()
    erased: bool = False
    applied: tuple[Applied, ...] = ()
    removed: tuple[Removed, ...] = ()


NOBODY = ProfileV1()
decode_profile = msgspec.json.Decoder(ProfileV1).decode
