"""Settings from file and environment, checked; and as they may be shown."""

import difflib
import os
import re
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, get_args, get_origin, get_type_hints

import msgspec

from .durations import SettingsError, seconds
from .sections import Local, Settings

_SECRET = re.compile(r"(password|secret|token|key)(_previous)?$")
_CREDENTIALS = re.compile(r"://[^/\s]*@")
PREFIX = "NOTIFY_"
_NO_SETTINGS = (PREFIX + "CONFIG", PREFIX + "KEY")  # the file's name, and the key that `notify send` shows


def load(environ: Mapping[str, str] | None = None, *, cwd: Path | None = None) -> Settings:
    """Read all sources. Raises SettingsError that names the key, and the nearest known one if it is unknown."""
    env = os.environ if environ is None else environ
    here = Path.cwd() if cwd is None else cwd
    named = env.get(PREFIX + "CONFIG")
    chosen = _toml(here / (named or "notify.toml"), required=named is not None)
    _merge(chosen, _from_environment(env))
    merged: dict[str, Any] = msgspec.to_builtins(Settings())
    _merge(merged, _toml(here / _state_of(chosen) / "addresses.toml", required=False))
    _merge(merged, chosen)
    _check_names(merged, Settings, "")
    try:
        settings = msgspec.convert(merged, Settings, strict=False)
    except msgspec.ValidationError as error:
        raise SettingsError(str(error)) from error
    _check_durations(msgspec.to_builtins(settings), "")
    return settings


def masked(settings: Settings) -> dict[str, Any]:
    """As plain values, secrets replaced: what `notify config show` prints."""
    plain: dict[str, Any] = _mask(msgspec.to_builtins(settings))
    return plain


def _mask(value: Any) -> Any:
    if not isinstance(value, dict):
        return value
    return {k: _mask_text(k, v) if isinstance(v, str) else _mask(v) for k, v in value.items()}


def _mask_text(key: str, text: str) -> str:
    if text and _SECRET.search(key):
        return "***"
    return _CREDENTIALS.sub("://***@", text)


def _state_of(chosen: Mapping[str, Any]) -> str:
    local = chosen.get("local")
    state = local.get("state") if isinstance(local, Mapping) else None
    return state if isinstance(state, str) else Local().state


def _toml(path: Path, *, required: bool) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text())
    except FileNotFoundError:
        if required:
            raise SettingsError(f"NOTIFY_CONFIG names {path}, which does not exist") from None
        return {}
    except tomllib.TOMLDecodeError as error:
        raise SettingsError(f"{path}: {error}") from error


def _from_environment(env: Mapping[str, str]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, text in env.items():
        if not name.startswith(PREFIX) or name in _NO_SETTINGS:
            continue
        *sections, key = name.removeprefix(PREFIX).lower().split("__")
        place = found
        for section in sections:
            place = place.setdefault(section, {})
            if not isinstance(place, dict):
                raise SettingsError(f"{name}: {section} is a section, and the environment gives it a value too")
        place[key] = text if _SECRET.search(key) else _from_text(name, text)
    return found


def _from_text(name: str, text: str) -> Any:
    """TOML's own reading where it is one ('4', '["a"]'), else the text itself."""
    if text.startswith(("[", "{")):
        try:
            return tomllib.loads(f"v = {text}")["v"]
        except tomllib.TOMLDecodeError as error:
            raise SettingsError(f"{name} is no TOML value: {error}") from None
    return text


def _merge(base: dict[str, Any], over: Mapping[str, Any]) -> None:
    for key, value in over.items():
        if isinstance(value, Mapping) and isinstance(base.get(key), dict):
            _merge(base[key], value)
        else:
            base[key] = value


def _check_names(values: Mapping[str, Any], section: type[msgspec.Struct], path: str) -> None:
    hints = get_type_hints(section)
    for key, value in values.items():
        if key not in hints:
            near = difflib.get_close_matches(key, hints, 1, 0.5)
            hint = f"; did you mean {path}{near[0]}?" if near else ""
            raise SettingsError(f"unknown setting {path}{key}{hint}")
        if not isinstance(value, Mapping):
            continue
        inner = hints[key]
        if isinstance(inner, type) and issubclass(inner, msgspec.Struct):
            _check_names(value, inner, f"{path}{key}.")
        elif get_origin(inner) is dict:
            for name, entry in value.items():
                if isinstance(entry, Mapping):
                    _check_names(entry, get_args(inner)[1], f"{path}{key}.{name}.")


_DURATIONS = frozenset(
    {
        *("retention", "session_timeout", "commit_interval", "request_timeout", "timeout", "delivery_timeout"),
        *("command_timeout", "inbox", "facts", "dedup", "base", "cap", "lock", "attempt_timeout", "stalled_after"),
        *("rests_after_full", "stream_ping", "stream_pong", "stream_check", "stream_drain"),
    }
)


def _check_durations(values: Mapping[str, Any], path: str) -> None:
    for key, value in values.items():
        if isinstance(value, Mapping):
            _check_durations(value, f"{path}{key}.")
        elif key in _DURATIONS:
            try:
                seconds(value)
            except SettingsError as error:
                raise SettingsError(f"{path}{key}: {error}") from error
