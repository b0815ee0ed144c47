"""What entries of a catalogue have to do with each other, and with the templates that are there."""

import re

from notify_streams.content.sources import DIGEST, Sources
from notify_streams.content.variables import GIVEN
from notify_streams.content.written import Entry, File, WindowsEntry, WrongEntry
from notify_streams.domain.budget import MOST_LIMIT
from notify_streams.domain.zones import why_no_zone
from notify_streams.settings import SettingsError, milliseconds
from schemas.catalogue import Budget, Windows
from schemas.words import Channel

_TIME_OF_DAY = re.compile(r"([01][0-9]|2[0-3]):[0-5][0-9]")
_MOST = 1000
_VERIFIED: frozenset[Channel] = frozenset({"email", "sms", "webhook"})  # a device token shows by itself whose it is
_BY = "email, sms or webhook alone"
_LONGEST_WAIT = "7d"
_SHORTEST_TTL, _LONGEST_TTL = "1s", "366d"


def check(written: File, found: Sources) -> None:
    """Raises WrongEntry for the first rule that is broken."""
    mandatory: dict[str, tuple[str, bool]] = {}
    for name, entry in written.types.items():
        _check_type(name, entry, written)
        first, expected = mandatory.setdefault(entry.category, (name, entry.mandatory))
        if entry.mandatory != expected:
            raise WrongEntry(
                ("types", name, "mandatory"),
                f"{entry.mandatory}, but {first} of the same category {entry.category} says {expected}; "
                "all types of a category are mandatory or none is",
            )
        if entry.digestible:
            _check_digestible(name, entry, written, found)
    _check_budget(written.budget)
    _check_zones(written)


def windows(entry: WindowsEntry) -> Windows:
    """With its durations in milliseconds. Raises WrongEntry."""
    if not _TIME_OF_DAY.fullmatch(entry.digest_at):
        raise WrongEntry(
            ("windows", "digest_at"), f"{entry.digest_at!r} is no time of day, from 00:00 to 23:59 such as 08:00"
        )
    wait_ms, max_wait_ms = _wait("wait", entry.wait), _wait("max_wait", entry.max_wait)
    if wait_ms > max_wait_ms:
        raise WrongEntry(("windows", "wait"), f"{entry.wait} is longer than max_wait, {entry.max_wait}")
    if not 1 <= entry.max_size <= _MOST:
        raise WrongEntry(("windows", "max_size"), f"{entry.max_size} is not between 1 and {_MOST}")
    if not 1 <= entry.shown <= entry.max_size:
        raise WrongEntry(("windows", "shown"), f"{entry.shown} is not between 1 and windows.max_size, {entry.max_size}")
    return Windows(
        digest_at=entry.digest_at,
        wait_ms=wait_ms,
        max_wait_ms=max_wait_ms,
        max_size=entry.max_size,
        shown=entry.shown,
    )


def duration(path: tuple[str, ...], text: str) -> int:
    """In milliseconds. Raises WrongEntry."""
    try:
        return milliseconds(text)
    except SettingsError as error:
        raise WrongEntry(path, str(error)) from error


def ttl(name: str, entry: Entry) -> int:
    """Of the type of this name, in milliseconds. Raises WrongEntry."""
    path = ("types", name, "ttl")
    lives = duration(path, entry.ttl)
    if not milliseconds(_SHORTEST_TTL) <= lives <= milliseconds(_LONGEST_TTL):
        raise WrongEntry(path, f"{entry.ttl} is not between {_SHORTEST_TTL} and {_LONGEST_TTL}")
    return lives


def _wait(key: str, text: str) -> int:
    wait = duration(("windows", key), text)
    if not 0 < wait <= milliseconds(_LONGEST_WAIT):
        raise WrongEntry(("windows", key), f"{text} is not between 1ms and {_LONGEST_WAIT}")
    return wait


def _check_type(name: str, entry: Entry, written: File) -> None:
    at = ("types", name)
    if (entry.templates or name) == DIGEST:
        raise WrongEntry(at, f"{DIGEST} is the folder of the templates of digests; name the type otherwise")
    if entry.category not in written.categories:
        raise WrongEntry((*at, "category"), f"there is no [categories.{entry.category}]")
    if not entry.channels or len({*entry.channels}) != len(entry.channels):
        raise WrongEntry((*at, "channels"), "name each channel once, and at least one")
    if not {*entry.fallback} <= {*entry.channels}:
        raise WrongEntry((*at, "fallback"), "only channels of the type can follow another")
    for key in ("digestible", "aggregate"):
        if entry.mandatory and getattr(entry, key):
            raise WrongEntry((*at, key), "a mandatory type comes at once and one by one")
    if entry.verifies and not (entry.mandatory and {*entry.channels} <= _VERIFIED and not entry.fallback):
        raise WrongEntry((*at, "verifies"), f"such a type is mandatory, has no fallback, and goes by {_BY}")
    if taken := sorted(GIVEN & entry.sample.keys()):
        raise WrongEntry((*at, "sample"), f"a template never sees a payload's {taken[0]}: every rendering has its own")


def _check_digestible(name: str, entry: Entry, written: File, found: Sources) -> None:
    """Its line in a digest is its inbox entry; the mail around it is the digest's own."""
    at, fallback = ("types", name, "digestible"), written.fallback_locale
    folder = entry.templates or name
    if found.find(folder, "inapp", None, fallback) is None:
        raise WrongEntry(at, f"its line in a digest would be {folder}/{fallback}/inapp.json, which is not there")
    for channel in entry.channels:
        noisy = channel != "inapp" and channel in written.channels
        if noisy and found.find(DIGEST, channel, None, fallback) is None:
            raise WrongEntry(at, f"its digests by {channel} need templates in {DIGEST}/{fallback}")


def _check_budget(budget: Budget) -> None:
    for key in ("hour", "day"):
        limit = getattr(budget, key)
        if limit is not None and limit < 1:
            raise WrongEntry(("budget", key), f"{limit} is not positive; leave it out for no limit")
        if limit is not None and limit > MOST_LIMIT:
            raise WrongEntry(("budget", key), f"{limit} is more than {MOST_LIMIT}; leave it out for no limit")
    if budget.hour is not None and budget.day is not None and budget.hour > budget.day:
        raise WrongEntry(("budget", "hour"), f"{budget.hour} in an hour is more than the {budget.day} of a day")


def _check_zones(written: File) -> None:
    zones: dict[tuple[str, ...], str] = {("defaults", "zone"): written.defaults.zone}
    for name, tenant in written.defaults.tenants.items():
        zones["defaults", "tenants", name, "zone"] = tenant.zone
    for path, zone in zones.items():
        if reason := why_no_zone(zone):
            raise WrongEntry(path, f"{zone!r}: {reason}")
