"""What of a command no profile could take, whatever it holds. Pointers are into the body that the gateway takes."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from itertools import islice

import msgspec

from notify_streams.domain.addresses import PLATFORMS, why_no_address, why_no_endpoint_id
from notify_streams.domain.zones import why_no_locale, why_no_zone
from schemas.catalogue import Catalogue, NotificationType
from schemas.commands import FieldError, Preferences, PutEndpointV1
from schemas.profiles import Frequency, QuietHours
from schemas.words import Channel

_MAX_WINDOWS = 32
_MAX_ERRORS = 20
_REPEATED = 100  # characters of a name that an answer repeats
_SILENT = "the inbox makes no noise: "


def first_of(errors: Iterator[FieldError]) -> tuple[FieldError, ...]:
    """At most twenty, and one that says how many more there are: an answer has to fit into a record."""
    told = tuple(islice(errors, _MAX_ERRORS))
    more = sum(1 for _ in errors)
    return (*told, FieldError("", f"{more:,} more")) if more else told


def mandatory_categories(catalogue: Catalogue) -> frozenset[str]:
    """Those that nobody can switch off."""
    return frozenset(type_.category for type_ in catalogue.types.values() if type_.mandatory)


def channels_of(types: Iterable[NotificationType]) -> Mapping[str, set[Channel]]:
    """By category, the channels that its types use; empty for any other."""
    channels: dict[str, set[Channel]] = defaultdict(set)
    for type_ in types:
        channels[type_.category].update(type_.channels)
    return channels


def pointer(*steps: str) -> str:
    """A JSON pointer (RFC 6901); of a long step only its beginning."""
    cut = (step if len(step) <= _REPEATED else step[: _REPEATED - 1] + "…" for step in steps)
    return "".join("/" + step.replace("~", "~0").replace("/", "~1") for step in cut)


def errors_in(patch: Preferences, catalogue: Catalogue) -> Iterator[FieldError]:
    """Of a change of preferences. Null resets anything, also what can no longer be set."""
    if patch.zone is not msgspec.UNSET and (reason := why_no_zone(patch.zone)):
        yield FieldError("/zone", reason)
    if isinstance(patch.locale, str) and (reason := why_no_locale(patch.locale)):
        yield FieldError("/locale", reason)
    if isinstance(patch.categories, dict):
        yield from _errors_in_categories(patch.categories, catalogue)
    if isinstance(patch.quiet_hours, tuple):
        yield from _errors_in_quiet_hours(patch.quiet_hours)
    if isinstance(patch.digest, dict):
        yield from _errors_in_digest(patch.digest, catalogue)
    if patch.digest_at == "24:00":
        yield FieldError("/digest_at", "24:00 is an end, not a time of day")


def errors_in_endpoint(command: PutEndpointV1) -> Iterator[FieldError]:
    """Of an address and its name."""
    reason = why_no_endpoint_id(command.endpoint_id)
    if reason:
        yield FieldError("/endpoint_id", reason)
    reason = why_no_address(command.channel, command.content.address)
    if reason:
        yield FieldError("/address", reason)
    if command.channel == "push":
        if command.platform not in PLATFORMS:
            yield FieldError("/platform", f"required for push: one of {', '.join(PLATFORMS)}")
    elif command.platform is not None:
        yield FieldError("/platform", "only push has platforms")


def _errors_in_categories(
    categories: Mapping[str, Mapping[Channel, bool | None] | None], catalogue: Catalogue
) -> Iterator[FieldError]:
    mandatory, offered = mandatory_categories(catalogue), channels_of(catalogue.types.values())
    for category, switches in categories.items():
        if switches is None:
            continue
        if category not in catalogue.categories:
            yield FieldError(pointer("categories", category), "the catalogue has no such category")
            continue
        for channel, on in switches.items():
            if on is None:
                continue
            at = pointer("categories", category, channel)
            if channel not in offered[category]:
                yield FieldError(at, f"nothing of category {category} is sent by {channel}")
            elif category in mandatory and not on:
                yield FieldError(at, f"category {category} is mandatory and cannot be switched off")


def _errors_in_quiet_hours(windows: tuple[QuietHours, ...]) -> Iterator[FieldError]:
    if len(windows) > _MAX_WINDOWS:
        yield FieldError("/quiet_hours", f"at most {_MAX_WINDOWS} windows")
    for number, window in enumerate(windows):
        at = f"/quiet_hours/{number}"
        if window.start == window.end:
            yield FieldError(f"{at}/end", "start and end are equal; a whole day is 00:00 to 24:00")
        elif window.start == "24:00":
            yield FieldError(f"{at}/start", "24:00 is an end; a start at midnight is 00:00")
        if len({*window.days}) < len(window.days):
            yield FieldError(f"{at}/days", "name each day once")
        if len({*window.channels}) < len(window.channels):
            yield FieldError(f"{at}/channels", "name each channel once")
        if "inapp" in window.channels:
            detail = _SILENT + "it has no quiet hours"
            yield FieldError(f"{at}/channels/{window.channels.index('inapp')}", detail)


def _errors_in_digest(
    digest: Mapping[Channel, Mapping[str, Frequency | None] | None], catalogue: Catalogue
) -> Iterator[FieldError]:
    mandatory = mandatory_categories(catalogue)
    collected = channels_of(type_ for type_ in catalogue.types.values() if type_.digestible)
    for channel, categories in digest.items():
        for category, frequency in (categories or {}).items():
            if frequency is None:
                continue
            at = pointer("digest", channel, category)
            if category not in catalogue.categories:
                yield FieldError(at, "the catalogue has no such category")
            elif frequency == "instant":
                continue
            elif category in mandatory:
                yield FieldError(at, f"category {category} is mandatory and comes at once")
            elif channel == "inapp":
                yield FieldError(at, _SILENT + "it has no digests")
            elif channel not in collected[category]:
                yield FieldError(at, f"nothing of category {category} that is sent by {channel} can be in a digest")
