"""Where the engines, the gateway and the simulator answer, as settings read it."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from notify_streams.settings import PREFIX

from .files import write_whole

FILE = "addresses.toml"


@dataclass(frozen=True)
class Addresses:
    """The sections and keys of `Settings` that differ from one start to the next; None where nothing runs.

    `simulator` is the port of its pages; `providers` are whole sections (`providers.NAME`), which say how it is used.
    """

    kafka: str | None = None
    cassandra: tuple[str, int] | None = None
    redis: str | None = None
    gateway: int | None = None
    smtp: str | None = None
    simulator: int | None = None
    providers: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    public_url: str | None = None

    def sections(self) -> dict[str, dict[str, Any]]:
        """By section name, dotted as in TOML."""
        found: dict[str, dict[str, Any]] = {}
        if self.kafka:
            found["kafka"] = {"bootstrap": self.kafka}
        if self.cassandra:
            found["cassandra"] = {"hosts": [self.cassandra[0]], "port": self.cassandra[1]}
        if self.redis:
            found["redis"] = {"url": self.redis}
        if self.gateway:
            found["gateway"] = {"port": self.gateway}
        if self.public_url:
            found.setdefault("gateway", {})["public_url"] = self.public_url
        if self.smtp:
            found["providers.smtp"] = {"url": self.smtp}
        return {**found, **{section: dict(values) for section, values in self.providers.items()}}

    def environment(self) -> dict[str, str]:
        """As variables, which win over every file."""
        return {
            PREFIX + f"{section}__{key}".replace(".", "__").upper(): value
            if isinstance(value, str)
            else json.dumps(value)
            for section, values in self.sections().items()
            for key, value in values.items()
        }

    def write(self, state: Path) -> None:
        """Into the file that `settings.load` reads."""
        lines = ["# Written by `notify up`, removed when it stops."]
        for section, values in self.sections().items():
            lines += ["", f"[{section}]", *(f"{key} = {json.dumps(value)}" for key, value in values.items())]
        write_whole(state / FILE, "\n".join(lines) + "\n")


def remove(state: Path) -> None:
    """What no longer runs has no address."""
    (state / FILE).unlink(missing_ok=True)
