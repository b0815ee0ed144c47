"""The keys file: who holds a key, and what it opens. Only hashes are kept."""

import fcntl
import logging
import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from fnmatch import fnmatchcase
from functools import lru_cache
from hashlib import sha256
from pathlib import Path
from time import monotonic
from typing import Literal

import msgspec

from notify_streams.settings import SettingsError

log = logging.getLogger(__name__)
Role = Literal["producer", "operator", "service"]
PREFIX = "nk_"
_BASE62 = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
_LOOK_AGAIN_S = 0.25


class Key(msgspec.Struct, frozen=True, kw_only=True):
    """One key. `sources` and `types` are globs of what its holder may publish; `rate` in events per second.

    `tenant` is that of its events, where the settings name none for their source. `webhook` is where its holder wants
    to hear of states, signed with `webhook_secret`, which is kept as it is: whoever signs needs it.
    """

    name: str
    role: Role
    hash: str
    sources: tuple[str, ...] = ("*",)
    types: tuple[str, ...] = ("*",)
    rate: int = 1000
    tenant: str = ""
    created_at: str = ""
    webhook: str = ""
    webhook_secret: str = ""

    @property
    def own_source(self) -> str:
        """The `source` of events in the short form; always allowed."""
        return f"/keys/{self.name}"

    @property
    def names_all(self) -> bool:
        """Whether there is no source that is not its own."""
        return self.role == "operator" or "*" in self.sources

    def may_name(self, source: str) -> bool:
        """Whether events of this source are its own."""
        return self.role == "operator" or source == self.own_source or _matches(source, self.sources)

    def may_publish(self, type_: str) -> bool:
        """Whether it may publish events of this type."""
        return self.role == "operator" or _matches(type_, self.types)


class KeysFile(msgspec.Struct, frozen=True):
    """The file's JSON."""

    keys: tuple[Key, ...] = ()


class KeyRing:
    """The keys in force; a changed file is noticed without a restart, a broken one leaves the last good one."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._stamp: tuple[int, ...] = ()
        self._by_hash: dict[str, Key] = {}
        self._look_at = 0.0

    def find(self, secret: str) -> Key | None:
        """The key whose secret this is. A new one works at once, a revoked one stops within a quarter of a second."""
        hash_, now = hash_of(secret), monotonic()
        if now >= self._look_at or hash_ not in self._by_hash:
            self._look_at = now + _LOOK_AGAIN_S
            self._refresh()
        return self._by_hash.get(hash_)

    def named(self, name: str) -> Key | None:
        """The key of this name; as of a quarter of a second ago."""
        self._look()
        return next((key for key in self._by_hash.values() if key.name == name), None)

    def with_webhooks(self) -> list[Key]:
        """Those that want to hear of states; also as of a quarter of a second ago."""
        self._look()
        return [key for key in self._by_hash.values() if key.webhook]

    def webhook_secret(self, name: str) -> str | None:
        """With which the webhook of the key of this name is signed; None where it has none (any more)."""
        return next((key.webhook_secret for key in self.with_webhooks() if key.name == name), None)

    def _look(self) -> None:
        now = monotonic()
        if now >= self._look_at:
            self._look_at = now + _LOOK_AGAIN_S
            self._refresh()

    def _refresh(self) -> None:
        try:
            stat = os.stat(self._path)
        except FileNotFoundError:
            self._stamp, self._by_hash = (), {}
            return
        stamp = (stat.st_mtime_ns, stat.st_ino, stat.st_size)
        if stamp == self._stamp:
            return
        try:
            self._by_hash = {key.hash: key for key in read(self._path)}
            self._stamp = stamp
        except SettingsError as error:
            log.error("keys.unreadable reason=%s", error)


def read(path: Path) -> tuple[Key, ...]:
    """All keys of the file, none where there is no file. Raises SettingsError."""
    try:
        return msgspec.json.decode(path.read_bytes(), type=KeysFile).keys
    except FileNotFoundError:
        return ()
    except (msgspec.DecodeError, OSError) as error:
        raise SettingsError(f"{path}: {error}") from error


def create(path: Path, key: Key, secret: str) -> None:
    """Add the key to the file. Raises SettingsError when there is one of this name."""
    with _locked(path):
        keys = read(path)
        if any(k.name == key.name for k in keys):
            raise SettingsError(f"{path} already has a key named {key.name}")
        _write(path, (*keys, msgspec.structs.replace(key, hash=hash_of(secret))))


def revoke(path: Path, name: str) -> None:
    """Take the key out of the file. Raises SettingsError when there is none of this name."""
    with _locked(path):
        keys = read(path)
        kept = tuple(key for key in keys if key.name != name)
        if len(kept) == len(keys):
            raise SettingsError(f"{path} has no key named {name}")
        _write(path, kept)


def new_secret() -> str:
    """`nk_` and 32 random bytes in base 62."""
    number, digits = int.from_bytes(secrets.token_bytes(32), "big"), []
    while number:
        number, digit = divmod(number, 62)
        digits.append(_BASE62[digit])
    return PREFIX + "".join(digits).rjust(43, "0")


def hash_of(secret: str) -> str:
    """As it is stored. A plain hash is enough for 256 random bits."""
    return sha256(secret.encode()).hexdigest()


def _write(path: Path, keys: tuple[Key, ...]) -> None:
    """Whole or not at all, and for the owner's eyes only."""
    draft = path.with_name(f"{path.name}.{os.getpid()}")
    with suppress(FileNotFoundError):
        draft.unlink()
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "wb") as file:
        file.write(msgspec.json.format(msgspec.json.encode(KeysFile(keys)), indent=2) + b"\n")
        file.flush()
        os.fsync(file.fileno())
    draft.replace(path)


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    path.parent.mkdir(parents=True, exist_ok=True)
    with open(path.with_name(path.name + ".lock"), "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


@lru_cache(maxsize=4096)
def _matches(text: str, globs: tuple[str, ...]) -> bool:
    return any(fnmatchcase(text, glob) for glob in globs)
