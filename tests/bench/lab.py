"""A place to measure in: engines of its own in a temporary directory, and worker processes beside them."""

import asyncio
import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

from notify_streams.local.child import Child
from notify_streams.local.engines import LocalEngines
from notify_streams.settings import Catalogue, Kafka, Settings, Worker
from notify_streams.streaming import topics
from tests.system.catalogue import without_budget

ROOT = Path(__file__).parents[2]
JARS = ROOT / ".local" / "engines"


class Lab:
    """Running engines, and what was started beside them; everything ends with the run."""

    def __init__(self, directory: Path, engines: LocalEngines, rate: float | None = None) -> None:
        self.directory, self.engines, self.rate = directory, engines, rate
        self._children: list[Child] = []

    def settings(self, prefix: str, *, partitions: int = 4) -> Settings:
        """Settings for these engines with topics of their own, and a catalogue without an attention budget."""
        kafka = Kafka(bootstrap=self.engines.addresses.kafka or "", prefix=prefix, partitions=partitions)
        worker = Worker(data=str(self.directory / "data"))
        return Settings(kafka=kafka, worker=worker, catalogue=Catalogue(path=str(without_budget(self.directory))))

    async def provision(self, config: Settings) -> None:
        """All topics of the system under the prefix of these settings."""
        await topics.create(config.kafka, topics.all_topics(config.kafka))

    async def start(
        self, name: str, argv: list[str], config: Settings, sections: Mapping[str, Mapping[str, Any]] | None = None
    ) -> int:
        """A Python process with these settings in its environment; its process id. Its log is `logs/NAME.log`.

        `sections` are what `notify.toml` says besides.
        """
        environment = _environment(config)
        if sections is not None:
            file = self.directory / f"{name}.toml"
            file.write_text(_toml(sections))
            environment["NOTIFY_CONFIG"] = str(file)
        child = Child([sys.executable, *argv], log=self.directory / "logs" / f"{name}.log", env=environment, cwd=ROOT)
        await child.start()
        self._children.append(child)
        assert child.pid is not None
        return child.pid

    async def stop_workers(self) -> None:
        """End what was started; engines go on."""
        await asyncio.gather(*(child.stop(20) for child in self._children))
        self._children.clear()

    async def stop_only(self, name: str) -> None:
        """End one of them in order."""
        for child in [child for child in self._children if child.log.stem == name]:
            await child.stop(20)
            self._children.remove(child)

    async def kill_workers(self) -> None:
        """The same with SIGKILL."""
        await asyncio.gather(*(child.kill() for child in self._children))
        self._children.clear()

    def tails(self) -> Mapping[str, str]:
        """The ends of the logs of what was started."""
        return {child.log.stem: child.tail() for child in self._children}


def _toml(sections: Mapping[str, Mapping[str, Any]]) -> str:
    lines: list[str] = []
    for section, values in sections.items():
        lines += [f"[{section}]", *(f"{key} = {json.dumps(value)}" for key, value in values.items())]
    return "\n".join(lines) + "\n"


def _environment(config: Settings) -> dict[str, str]:
    sections = {"kafka": config.kafka, "worker": config.worker, "catalogue": config.catalogue}
    return {
        f"NOTIFY_{section}__{key}".upper(): str(value)
        for section, values in sections.items()
        for key, value in msgspec.to_builtins(values).items()
    }
