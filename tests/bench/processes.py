"""CPU and memory of named processes, looked at every second while something else goes on."""

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager, suppress

import msgspec
import psutil

_EVERY_S = 1.0


class Look(msgspec.Struct, frozen=True):
    """CPU seconds and resident bytes by name."""

    at: float
    cpu: dict[str, float]
    resident: dict[str, int]


class Looks:
    """All looks at the processes that `pids` names; one that is gone keeps its last figures."""

    def __init__(self, pids: Callable[[], Mapping[str, int]]) -> None:
        self._pids = pids
        self.all: list[Look] = []
        self.all.append(self.look())

    @property
    def seconds(self) -> float:
        """From the first to the last look."""
        return self.all[-1].at - self.all[0].at

    def cpu(self, name: str) -> float:
        """CPU seconds of the process in that time."""
        return self.all[-1].cpu.get(name, 0.0) - self.all[0].cpu.get(name, 0.0)

    def peak(self, name: str) -> float:
        """Its greatest resident memory, in MiB."""
        return max(look.resident.get(name, 0) for look in self.all) / 2**20

    def names(self) -> list[str]:
        """Of all processes that were seen."""
        return list(self.all[-1].cpu)

    def look(self) -> Look:
        """One more, not yet kept."""
        cpu = dict(self.all[-1].cpu) if self.all else {}
        resident: dict[str, int] = {}
        for name, pid in self._pids().items():
            with suppress(psutil.NoSuchProcess):
                process = psutil.Process(pid)
                with process.oneshot():
                    times = process.cpu_times()
                    cpu[name], resident[name] = times.user + times.system, process.memory_info().rss
        return Look(time.monotonic(), cpu, resident)


@asynccontextmanager
async def looking(pids: Callable[[], Mapping[str, int]]) -> AsyncIterator[Looks]:
    """Look every second inside, and once at the end."""
    looks = Looks(pids)

    async def keep() -> None:
        while True:
            await asyncio.sleep(_EVERY_S)
            looks.all.append(looks.look())

    task = asyncio.create_task(keep())
    try:
        yield looks
    finally:
        task.cancel()
        looks.all.append(looks.look())
