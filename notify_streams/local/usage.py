"""How much of a core and of memory the processes take."""

import time
from dataclasses import dataclass, replace

import psutil

_SHORTEST_S = 0.5  # the kernel counts in hundredths: over less, a percentage means nothing


class Usage:
    """Remembers each process between two looks."""

    def __init__(self) -> None:
        self._seen: dict[int, _Look] = {}

    def of(self, pid: int | None) -> tuple[float, int]:
        """Percent of one core since the last look, and bytes resident; zeros for what has gone."""
        if pid is None:
            return 0.0, 0
        try:
            before = self._seen.get(pid)
            process = before.process if before else psutil.Process(pid)
            with process.oneshot():
                times = process.cpu_times()
                rss = process.memory_info().rss
        except psutil.NoSuchProcess:
            self._seen.pop(pid, None)
            return 0.0, 0
        now = _Look(process, times.user + times.system, time.monotonic())
        if before is None:
            self._seen[pid] = now
            return 0.0, rss
        if now.at - before.at >= _SHORTEST_S:
            percent = 100 * (now.spent - before.spent) / (now.at - before.at)
            self._seen[pid] = replace(now, percent=percent)
        return self._seen[pid].percent, rss


@dataclass(frozen=True)
class _Look:
    process: psutil.Process
    spent: float
    at: float
    percent: float = 0.0
