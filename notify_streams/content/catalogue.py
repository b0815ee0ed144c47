"""`catalogue.toml`: how it is written, what is refused in it, and what is derived from the templates."""

import difflib
import hashlib
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec
import orjson
from jinja2 import TemplateError

from notify_streams.content import sources, variables
from notify_streams.content.sandbox import Sandbox
from notify_streams.content.sources import Sources
from notify_streams.content.templates import sandbox_of
from notify_streams.settings import Settings, SettingsError, milliseconds
from schemas.catalogue import Catalogue, Category, NotificationType
from schemas.words import Channel, Lane

EXAMPLE = Path(__file__).parent / "example"


class _Entry(msgspec.Struct, kw_only=True):
    """One `[types.NAME]`."""

    category: str
    channels: tuple[Channel, ...]
    priority: Lane = "normal"
    ttl: str = "24h"
    mandatory: bool = False
    digestible: bool = False
    aggregate: bool = False
    fallback: tuple[Channel, ...] = ()
    templates: str = ""
    sample: dict[str, Any] = {}


class _File(msgspec.Struct, kw_only=True):
    """The whole file."""

    channels: tuple[Channel, ...]
    fallback_locale: str = "en"
    types: dict[str, _Entry]
    categories: dict[str, Category]


class FileCatalogues(msgspec.Struct, frozen=True):
    """The catalogue that the settings name, or the example that ships."""

    path: Path
    templates: Path

    @classmethod
    def of(cls, settings: Settings) -> "FileCatalogues":
        """Where the settings say that catalogue and templates are."""
        path = Path(settings.catalogue.path) if settings.catalogue.path else EXAMPLE / "catalogue.toml"
        templates = Path(settings.templates.path) if settings.templates.path else EXAMPLE / "templates"
        return cls(path, templates)

    def load(self) -> Catalogue:
        """The one in force. Raises SettingsError that names the file, the entry and the reason."""
        return self.load_with(sources.read(self.templates))

    def load_with(self, found: Sources) -> Catalogue:
        """The same, with templates that were read before."""
        try:
            written = _written(self.path.read_text(encoding="utf-8"))
            _check(written)
            return _catalogue(written, found)
        except SettingsError as error:
            raise SettingsError(f"{self.path}: {error}") from error
        except OSError as error:
            raise SettingsError(f"catalogue.path: {self.path} cannot be read: {error.strerror}") from error


def _written(text: str) -> _File:
    try:
        plain = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise SettingsError(str(error)) from error
    _check_names(plain, _File, "")
    for name, entry in _tables(plain, "types"):
        _check_names(entry, _Entry, f"types.{name}.")
    for name, entry in _tables(plain, "categories"):
        _check_names(entry, Category, f"categories.{name}.")
    try:
        return msgspec.convert(plain, _File)
    except msgspec.ValidationError as error:
        raise SettingsError(str(error)) from error


def _tables(plain: Mapping[str, Any], key: str) -> list[tuple[str, Mapping[str, Any]]]:
    entries = plain.get(key, {})
    return [(n, e) for n, e in entries.items() if isinstance(e, Mapping)] if isinstance(entries, Mapping) else []


def _check_names(entry: Mapping[str, Any], shape: type[msgspec.Struct], path: str) -> None:
    for key in entry:
        if key not in shape.__struct_fields__:
            near = difflib.get_close_matches(key, shape.__struct_fields__, 1, 0.5)
            raise SettingsError(f"unknown key {path}{key}" + (f"; did you mean {path}{near[0]}?" if near else ""))


def _check(written: _File) -> None:
    mandatory: dict[str, tuple[str, bool]] = {}
    for name, entry in written.types.items():
        where = f"types.{name}"
        if entry.category not in written.categories:
            raise SettingsError(f"{where}.category: there is no [categories.{entry.category}]")
        if not entry.channels or len({*entry.channels}) != len(entry.channels):
            raise SettingsError(f"{where}.channels: name each channel once, and at least one")
        if not {*entry.fallback} <= {*entry.channels}:
            raise SettingsError(f"{where}.fallback: only channels of the type can follow another")
        first, expected = mandatory.setdefault(entry.category, (name, entry.mandatory))
        if entry.mandatory != expected:
            raise SettingsError(
                f"{where}.mandatory: {entry.mandatory}, but {first} of the same category {entry.category} says "
                f"{expected}; all types of a category are mandatory or none is"
            )


def _catalogue(written: _File, found: Sources) -> Catalogue:
    sandbox = sandbox_of(found)
    types = {name: _type(name, entry, written, found, sandbox) for name, entry in written.types.items()}
    plain = {**msgspec.to_builtins(written), "templates": found.digest}
    return Catalogue(
        hash=hashlib.sha256(orjson.dumps(plain, option=orjson.OPT_SORT_KEYS)).hexdigest()[:16],
        channels=written.channels,
        fallback_locale=written.fallback_locale,
        types=types,
        categories=written.categories,
    )


def _type(name: str, entry: _Entry, written: _File, found: Sources, sandbox: Sandbox) -> NotificationType:
    try:
        ttl_ms = milliseconds(entry.ttl)
    except SettingsError as error:
        raise SettingsError(f"types.{name}.ttl: {error}") from error
    return NotificationType(
        category=entry.category,
        channels=entry.channels,
        priority=entry.priority,
        ttl_ms=ttl_ms,
        mandatory=entry.mandatory,
        digestible=entry.digestible,
        aggregate=entry.aggregate,
        fallback=entry.fallback,
        templates=entry.templates,
        required=_required(entry.templates or name, entry.channels, written.channels, found, sandbox),
        sample=msgspec.Raw(orjson.dumps(entry.sample)),
    )


def _required(
    folder: str, channels: tuple[Channel, ...], offered: tuple[Channel, ...], found: Sources, sandbox: Sandbox
) -> tuple[str, ...]:
    needed: set[str] = set()
    for template in (t for c in channels if c in offered for t in found.of(folder, c)):
        try:
            tree = sandbox.parse(found.texts[template], template)
            needed |= variables.required(tree, lambda parent: sandbox.parse(found.texts[parent], parent))
        except (TemplateError, KeyError) as error:
            raise SettingsError(f"template {template}: {error}") from error
    return tuple(sorted(needed))
