"""The catalogue in force: `catalogue.toml`, checked, with what is derived from the templates."""

import hashlib
from collections.abc import Iterable
from pathlib import Path

import msgspec
import orjson
from jinja2 import TemplateError, TemplateSyntaxError

from notify_streams.content import rules, sources, variables
from notify_streams.content.sandbox import Sandbox
from notify_streams.content.sources import DIGEST, Sources
from notify_streams.content.templates import sandbox_of
from notify_streams.content.toml_lines import line_of
from notify_streams.content.written import Entry, File, WrongEntry, parsed
from notify_streams.settings import Settings, SettingsError
from schemas.catalogue import Catalogue, NotificationType
from schemas.words import CHANNELS, Channel

EXAMPLE = Path(__file__).parent / "example"


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
        """The one in force. Raises SettingsError that names the file, its line, the entry and the reason."""
        return self.load_with(sources.read(self.templates))

    def load_with(self, found: Sources) -> Catalogue:
        """The same, with templates that were read before."""
        try:
            text = self.path.read_text(encoding="utf-8")
        except OSError as error:
            raise SettingsError(f"catalogue.path: {self.path} cannot be read: {error.strerror}") from error
        except UnicodeDecodeError as error:
            raise SettingsError(f"{self.path}: not UTF-8 at byte {error.start}") from error
        try:
            written = parsed(text)
            rules.check(written, found)
            return _catalogue(written, found)
        except WrongEntry as error:
            line = line_of(text, error.path) if error.path else error.line
            where = f"{self.path}, line {line}" if line else str(self.path)
            raise SettingsError(f"{where}: {error}") from error


def _catalogue(written: File, found: Sources) -> Catalogue:
    windows = rules.windows(written.windows)
    sandbox = sandbox_of(found)
    _check_digests(found, sandbox)
    types = {name: _type(name, entry, written, found, sandbox) for name, entry in written.types.items()}
    plain = {**msgspec.to_builtins(written), "templates": found.digest}
    return Catalogue(
        hash=hashlib.sha256(orjson.dumps(plain, option=orjson.OPT_SORT_KEYS)).hexdigest()[:16],
        channels=written.channels,
        fallback_locale=written.fallback_locale,
        types=types,
        categories=written.categories,
        budget=written.budget,
        windows=windows,
        zone=written.defaults.zone,
        zones={name: tenant.zone for name, tenant in written.defaults.tenants.items()},
    )


def _type(name: str, entry: Entry, written: File, found: Sources, sandbox: Sandbox) -> NotificationType:
    rendered = [c for c in entry.channels if c in written.channels] + ["inapp"] * entry.digestible
    return NotificationType(
        category=entry.category,
        channels=entry.channels,
        priority=entry.priority,
        ttl_ms=rules.ttl(name, entry),
        mandatory=entry.mandatory,
        digestible=entry.digestible,
        aggregate=entry.aggregate,
        fallback=entry.fallback,
        verifies=entry.verifies,
        templates=entry.templates,
        required=tuple(sorted(_needed(entry.templates or name, rendered, found, sandbox))),
        sample=msgspec.Raw(orjson.dumps(entry.sample)),
    )


def _check_digests(found: Sources, sandbox: Sandbox) -> None:
    """A digest has no payload that could have what its templates need besides what every digest has."""
    if unknown := _needed(DIGEST, CHANNELS, found, sandbox) - variables.OF_DIGESTS:
        raise WrongEntry((), f"templates in {DIGEST}: no digest has a variable {min(unknown)}")


def _needed(folder: str, channels: Iterable[Channel], found: Sources, sandbox: Sandbox) -> set[str]:
    needed: set[str] = set()
    for template in (t for channel in channels for t in found.of(folder, channel)):
        try:
            tree = sandbox.parse(found.texts[template], template)
            needed |= variables.required(tree, lambda parent: sandbox.parse(found.texts[parent], parent))
        except (TemplateError, KeyError) as error:
            line = f", line {error.lineno}" if isinstance(error, TemplateSyntaxError) else ""
            raise WrongEntry((), f"template {template}{line}: {error}") from error
    return needed
