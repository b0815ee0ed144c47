"""Every setting: its name, its default, and where it may come from.

Later sources win: defaults, the addresses that `notify up` wrote (`addresses.toml` in `local.state`), the file that
`NOTIFY_CONFIG` names or `notify.toml` in the working directory, then `NOTIFY_SECTION__KEY` in the environment.
"""

from .durations import SettingsError, milliseconds, seconds
from .loading import PREFIX, load, masked
from .sections import (
    Auth,
    Cassandra,
    Catalogue,
    Channel,
    Console,
    Gateway,
    Kafka,
    Limits,
    Local,
    Provider,
    Redis,
    Retention,
    Retry,
    Settings,
    Templates,
    Worker,
)

__all__ = [
    "PREFIX",
    "Auth",
    "Cassandra",
    "Catalogue",
    "Channel",
    "Console",
    "Gateway",
    "Kafka",
    "Limits",
    "Local",
    "Provider",
    "Redis",
    "Retention",
    "Retry",
    "Settings",
    "SettingsError",
    "Templates",
    "Worker",
    "load",
    "masked",
    "milliseconds",
    "seconds",
]
