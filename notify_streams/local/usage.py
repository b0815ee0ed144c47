"""How much of a core and of memory the processes take."""

import time

import psutil


class Usage:
    """Remembers each process between two looks."""

    def __init__(self) -> None:
        self._seen: dict[int, tuple[psutil.Process, float, float]] = {}

    def of(self, pid: int | None) -> tuple[float, int]:
        """Percent of one core since the last look, and bytes resident; zeros for what has gone."""
        if pid is None:
            return 0.0, 0
        now = time.monotonic()
        try:
            process, spent, at = self._seen.get(pid) or (psutil.Process(pid), 0.0, now)
            with process.oneshot():
                times = process.cpu_times()
                rss = process.memory_info().rss
        except psutil.NoSuchProcess:
            self._seen.pop(pid, None)
            return 0.0, 0
        total = times.user + times.system
        self._seen[pid] = (process, total, now)
        return (100 * (total - spent) / (now - at) if now > at else 0.0), rss
