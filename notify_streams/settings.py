"""Every setting: its name, its default, and where it may come from.

Later sources win: defaults, the addresses that `notify up` wrote (`addresses.toml` in `local.state`), the file that
`NOTIFY_CONFIG` names or `notify.toml` in the working directory, then `NOTIFY_SECTION__KEY` in the environment.
"""

import difflib
import os
import re
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal, get_args, get_origin, get_type_hints

import msgspec

_UNITS_S = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}
_SECRET = re.compile(r"(password|secret|token|key)$")
_CREDENTIALS = re.compile(r"://[^/\s]*@")
PREFIX = "NOTIFY_"
_NO_SETTINGS = (PREFIX + "CONFIG", PREFIX + "KEY")  # the file's name, and the key that `notify send` shows


class SettingsError(ValueError):
    """A setting is unknown or has a value of the wrong kind; the message names it."""


class _Section(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Sections know all their keys: a misspelt one is an error."""


class Kafka(_Section, frozen=True):
    """The broker and the topics on it."""

    bootstrap: str = "127.0.0.1:9092"
    prefix: str = "notify."
    partitions: int = 4
    replication: int = 1
    min_insync: int = 1
    retention: str = "7d"
    session_timeout: str = "20s"
    commit_interval: str = "1s"
    request_timeout: str = "15s"
    max_dead_letter_run: int = 20
    generation: int = 1


class Cassandra(_Section, frozen=True):
    """The cluster that keeps inboxes and facts."""

    hosts: tuple[str, ...] = ("127.0.0.1",)
    port: int = 9042
    keyspace: str = "notify"
    replication: int = 1
    username: str = ""
    password: str = ""
    request_timeout: str = "10s"


class Redis(_Section, frozen=True):
    """Limits, locks and caches; all of it expendable."""

    url: str = "redis://127.0.0.1:6379/0"
    timeout: str = "500ms"


class Auth(_Section, frozen=True):
    """Who may call the gateway.

    `signing_secret` (32 characters or more, the same for gateway and senders) signs delivery references, unsubscribe
    links and verification codes; empty means one that is made once and kept in `local.state`. What the previous one
    has signed is still taken.
    """

    mode: Literal["keys", "open"] = "keys"
    keys_file: str = ".local/keys.json"
    jwt_algorithm: Literal["HS256", "EdDSA"] = "HS256"
    jwt_secret: str = ""
    jwt_public_key: str = ""
    signing_secret: str = ""
    signing_secret_previous: str = ""


class Gateway(_Section, frozen=True):
    """The HTTP side. `public_url` is how the world reaches it: links in mails, providers' callbacks.

    `reuse_port` lets several processes listen on one port. Live streams: browsers may open one from the gateway's own
    origin, that of `public_url` and those of `allowed_origins` ("*" for any). `stream_connections` are those of this
    process, of which a user has `stream_per_user` at most. A client is pinged every `stream_ping` and answers within
    `stream_pong`; every `stream_check` it is looked up whether it was told everything. More than `stream_buffer` bytes
    that a client does not read end its connection. On shutdown clients are sent away, to come back within
    `stream_drain`, each at another time.
    """

    host: str = "127.0.0.1"
    port: int = 8080
    public_url: str = ""
    delivery_timeout: str = "5s"
    command_timeout: str = "2s"
    reuse_port: bool = False
    allowed_origins: tuple[str, ...] = ()
    stream_connections: int = 100_000
    stream_per_user: int = 20
    stream_ping: str = "25s"
    stream_pong: str = "20s"
    stream_check: str = "2m"
    stream_drain: str = "10s"
    stream_buffer: int = 256 * 1024


class Limits(_Section, frozen=True):
    """What is refused beyond; `inbox_commands` are those of one user per second and gateway.

    Of more than `inbox_unread` unread items in one inbox the oldest is archived.
    """

    event_bytes: int = 256 * 1024
    expansion_bytes: int = 16 * 1024 * 1024
    recipients: int = 1000
    payload_depth: int = 32
    inbox_commands: int = 50
    inbox_unread: int = 1000


class Retention(_Section, frozen=True):
    """How long things are kept."""

    inbox: str = "90d"
    facts: str = "90d"
    dedup: str = "24h"


class Retry(_Section, frozen=True):
    """How often and how far apart a channel tries again."""

    base: str = "2s"
    cap: str = "5m"
    attempts: int = 6


class Channel(_Section, frozen=True):
    """One channel: who carries it, how it retries, how long an unknown outcome is left alone.

    `concurrency` calls are made at once per lane and process: lanes do not wait for each other's connections. As many
    connections are open at most, kept while they are in use; several hundred are no trouble.
    """

    providers: tuple[str, ...] = ()
    retry: Retry = Retry()
    lock: str = "10m"
    concurrency: int = 16
    attempt_timeout: str = "20s"
    rests_after_full: str = "24h"  # how long a full mailbox is left alone


class Provider(_Section, frozen=True):
    """One provider's address and credentials: each kind reads its own keys, the rest stays empty.

    `kind` is one of smtp, ses, sendgrid, fcm, apns, webpush, twilio, webhook; by default the name. `rate` is calls per
    second over all processes together. `ca_file` is a certificate authority besides the system's. Files hold keys in
    PEM, or Google's service account as JSON.
    """

    kind: str = ""
    url: str = ""
    rate: float = 500.0
    ca_file: str = ""
    username: str = ""
    password: str = ""
    sender: str = "Notify <no-reply@notify.example>"
    reply_to: str = ""
    starttls: Literal["never", "auto", "always"] = "auto"
    region: str = ""
    access_key_id: str = ""
    secret_access_key: str = ""
    configuration_set: str = ""
    sns_topics: tuple[str, ...] = ()
    sns_certificate_hosts: tuple[str, ...] = ()
    api_key: str = ""
    verification_key: str = ""
    credentials_file: str = ""
    key_file: str = ""
    key_id: str = ""
    team_id: str = ""
    topic: str = ""
    vapid_key_file: str = ""
    vapid_subject: str = ""
    account_sid: str = ""
    auth_token: str = ""
    from_number: str = ""
    alphanumeric_sender: str = ""
    numeric_only: tuple[str, ...] = ("1",)
    messaging_service_sid: str = ""
    default_region: str = ""
    signing_key: str = ""
    allow_private: bool = False


class Catalogue(_Section, frozen=True):
    """Where the notification types are described; empty means the example that ships."""

    path: str = ""


class Templates(_Section, frozen=True):
    """Where the templates are; empty means the examples that ship."""

    path: str = ""


class Console(_Section, frozen=True):
    """The operators' console: whose /metrics it reads (URLs of all workers; `notify up` sets them)."""

    targets: tuple[str, ...] = ()


class Local(_Section, frozen=True):
    """What `notify up` starts on this machine."""

    state: str = ".local"
    engines: str = ".local/engines"


class Worker(_Section, frozen=True):
    """One worker process."""

    data: str = ".local/state"
    health_host: str = "127.0.0.1"
    health_port: int = 0
    stalled_after: str = "60s"  # a batch may take 45 s: one at work is not stalled


def _channels() -> dict[str, Channel]:
    """Mail waits out a greylisting (RFC 6647: minutes, up to half an hour); a push, a text and a call are soon told."""
    return {
        "inapp": Channel(),
        "email": Channel(providers=("smtp",), retry=Retry(base="2s", cap="5m", attempts=12), concurrency=192),
        "push": Channel(
            providers=("fcm", "apns", "webpush"), retry=Retry(base="2s", cap="5m", attempts=8), concurrency=256
        ),
        "sms": Channel(providers=("twilio",), retry=Retry(base="5s", cap="5m", attempts=6), concurrency=64),
        # Standard Webhooks: retries over days, growing to hours.
        "webhook": Channel(
            providers=("webhook",), retry=Retry(base="5s", cap="2h", attempts=16), concurrency=256, lock="1m"
        ),
    }


def _providers() -> dict[str, Provider]:
    return {"smtp": Provider(url="smtp://127.0.0.1:1025")}


class Settings(_Section, frozen=True):
    """The whole, in sections as `notify.toml` has them. `tenants` by globs of sources, the first that matches."""

    environment: str = "local"
    deliver_only_to: tuple[str, ...] = ()
    kafka: Kafka = Kafka()
    cassandra: Cassandra = Cassandra()
    redis: Redis = Redis()
    auth: Auth = Auth()
    gateway: Gateway = Gateway()
    console: Console = Console()
    limits: Limits = Limits()
    retention: Retention = Retention()
    catalogue: Catalogue = Catalogue()
    templates: Templates = Templates()
    tenants: dict[str, str] = {}
    local: Local = Local()
    worker: Worker = Worker()
    channels: dict[str, Channel] = msgspec.field(default_factory=_channels)
    providers: dict[str, Provider] = msgspec.field(default_factory=_providers)


def seconds(duration: str) -> float:
    """'2s', '5m', '500ms', '24h', '7d' in seconds. Raises SettingsError for anything else."""
    match = re.fullmatch(r"(\d+(?:\.\d+)?)(ms|s|m|h|d)", duration.strip())
    if match is None:
        raise SettingsError(f"{duration!r} is no duration such as 500ms, 2s, 5m, 24h or 7d")
    return float(match[1]) * _UNITS_S[match[2]]


def milliseconds(duration: str) -> int:
    """The same in whole milliseconds."""
    return round(seconds(duration) * 1000)


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
        place[key] = _from_text(text)
    return found


def _from_text(text: str) -> Any:
    """TOML's own reading where it is one ('4', '["a"]'), else the text itself."""
    if text[:1] in "[{":
        try:
            return tomllib.loads(f"v = {text}")["v"]
        except tomllib.TOMLDecodeError as error:
            raise SettingsError(f"{text!r} is no TOML value: {error}") from error
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
