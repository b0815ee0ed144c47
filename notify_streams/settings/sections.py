"""The sections of `notify.toml` with their defaults."""

from typing import Literal

import msgspec


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
    batch_bytes: int = 8 * 1024 * 1024
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
    PEM, or Google's service account as JSON. With `allow_private` webhooks and subscriptions may lead into networks of
    ours: any, or those of `private_networks` (such as 10.1.0.0/16).
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
    private_networks: tuple[str, ...] = ()


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
