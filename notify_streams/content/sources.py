"""The files under a templates folder: `TYPE/LOCALE/{email.subject,...}`, `digest/LOCALE/...`, `_layout/` to extend."""

import hashlib
from collections.abc import Iterator, Mapping
from pathlib import Path

import msgspec

from notify_streams.content.locales import choose, normal
from notify_streams.settings import SettingsError
from schemas.words import Channel

FILES: dict[Channel, tuple[str, ...]] = {
    "email": ("email.subject", "email.html", "email.txt"),
    "inapp": ("inapp.json",),
    "push": ("push.json",),
    "sms": ("sms.txt",),
    "webhook": ("webhook.json",),
}
LAYOUT = "_layout"
# The folder of the templates of digests; no type may be called that.
DIGEST = "digest"
_NAMES = frozenset(name for names in FILES.values() for name in names)


class Sources(msgspec.Struct, frozen=True):
    """All templates as text. A JSON file holds one template per member, named `FILE#MEMBER`.

    `locales` maps (type, channel) to the languages that have all of the channel's files: normal form to folder name.
    `digest` changes whenever a file does.
    """

    texts: Mapping[str, str]
    locales: Mapping[tuple[str, str], Mapping[str, str]]
    digest: str

    def find(self, type_: str, channel: Channel, locale: str | None, fallback: str) -> str | None:
        """The folder `TYPE/LOCALE` for a reader, taken as a whole; None where not even the fallback has it."""
        available = self.locales.get((type_, channel), {})
        chosen = choose(locale, available, normal(fallback))
        return None if chosen is None else f"{type_}/{available[chosen]}"

    def members(self, file: str) -> tuple[str, ...]:
        """The names of a JSON file's members."""
        return tuple(name.partition("#")[2] for name in self.texts if name.startswith(f"{file}#"))

    def of(self, type_: str, channel: Channel) -> Iterator[str]:
        """The names of all templates of a type's channel, in every language."""
        for folder in self.locales.get((type_, channel), {}).values():
            for file in FILES[channel]:
                name = f"{type_}/{folder}/{file}"
                yield from (t for t in self.texts if t == name or t.startswith(name + "#"))


def read(root: Path) -> Sources:
    """Read them all. Raises SettingsError for a folder that is not there, or a file that nothing would ever use."""
    if not root.is_dir():
        raise SettingsError(f"templates.path: {root} is no folder")
    files = {p.relative_to(root).as_posix(): p for p in sorted(root.rglob("*")) if p.is_file() and p.name[0] != "."}
    texts: dict[str, str] = {}
    locales: dict[tuple[str, str], dict[str, str]] = {}
    digest = hashlib.sha256()
    for name, path in files.items():
        _check_place(name, path)
        text = _text(path)
        digest.update(f"{name}\0{len(text)}\0{text}\0".encode())
        texts.update(_members(name, text, path) if name.endswith(".json") else {name: text})
    for name in files:
        type_, _, rest = name.partition("/")
        locale = rest.partition("/")[0]
        for channel, needed in FILES.items():
            if type_ != LAYOUT and all(f"{type_}/{locale}/{file}" in files for file in needed):
                locales.setdefault((type_, channel), {})[normal(locale)] = locale
    return Sources(texts, locales, digest.hexdigest())


def _check_place(name: str, path: Path) -> None:
    parts = name.split("/")
    if parts[0] != LAYOUT and (len(parts) != 3 or parts[2] not in _NAMES):
        raise SettingsError(f"{path}: templates are TYPE/LOCALE/FILE, with FILE one of {', '.join(sorted(_NAMES))}")


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise SettingsError(f"{path}: not UTF-8 at byte {error.start}") from error


def _members(name: str, text: str, path: Path) -> dict[str, str]:
    try:
        members = msgspec.json.decode(text, type=dict[str, str])
    except msgspec.DecodeError as error:
        raise SettingsError(f"{path}: expected an object of texts: {error}") from error
    return {f"{name}#{member}": value for member, value in members.items()}
