"""How far a run has come and what each process has used, sampled while it goes on."""

import asyncio
import itertools
import time
from collections.abc import Awaitable, Callable, Mapping

import msgspec
import psutil

_EVERY_S = 0.1
_FROM, _TO = 0.1, 0.9
Progress = Callable[[], Awaitable[int]]


class Sample(msgspec.Struct, frozen=True):
    """One look: seconds, records done, CPU seconds and resident bytes by process."""

    at: float
    done: int
    cpu: dict[str, float]
    resident: dict[str, int]


class Stalled(RuntimeError):
    """A run does not come to its end; the message says where it stands."""


class Usage(msgspec.Struct, frozen=True):
    """The middle 80 % of a run: start and stop, which measure something else, are left out."""

    records: float
    seconds: float
    cpu_seconds: dict[str, float]
    peak_bytes: dict[str, int]

    @property
    def rate(self) -> float:
        """Records per second."""
        return self.records / self.seconds

    def core(self, name: str) -> float:
        """Share of one core that a process used."""
        return self.cpu_seconds[name] / self.seconds

    def micros(self, name: str) -> float:
        """CPU microseconds of a process per record."""
        return self.cpu_seconds[name] / self.records * 1e6


async def watch(total: int, progress: Progress, pids: Mapping[str, int], *, limit_s: float = 300) -> Usage:
    """Sample until `total` records are done. Raises Stalled when nothing more comes for a quarter of `limit_s`."""
    processes = {name: psutil.Process(pid) for name, pid in pids.items()}
    samples: list[Sample] = []
    moved_at = started = time.monotonic()
    while not samples or samples[-1].done < total:
        sample = _look(await progress(), processes)
        if not samples or sample.done > samples[-1].done:
            moved_at = sample.at
        samples.append(sample)
        if sample.at - started > limit_s or sample.at - moved_at > limit_s / 4:
            raise Stalled(f"{sample.done} of {total} records after {sample.at - started:.0f} s")
        await asyncio.sleep(_EVERY_S)
    return middle(samples, total)


def middle(samples: list[Sample], total: int) -> Usage:
    """What lies between a tenth and nine tenths of the records, by straight lines between the samples."""
    first, last = _at(samples, _FROM * total), _at(samples, _TO * total)
    return Usage(
        records=(_TO - _FROM) * total,
        seconds=last.at - first.at,
        cpu_seconds={name: last.cpu[name] - first.cpu[name] for name in last.cpu},
        peak_bytes={name: max(s.resident[name] for s in samples) for name in last.resident},
    )


def _at(samples: list[Sample], done: float) -> Sample:
    for before, after in itertools.pairwise(samples):
        if before.done < done <= after.done:
            part = (done - before.done) / (after.done - before.done)
            cpu = {name: before.cpu[name] + part * (used - before.cpu[name]) for name, used in after.cpu.items()}
            return Sample(before.at + part * (after.at - before.at), round(done), cpu, after.resident)
    raise Stalled(f"no sample on either side of {done:.0f} records")


def _look(done: int, processes: Mapping[str, psutil.Process]) -> Sample:
    cpu: dict[str, float] = {}
    resident: dict[str, int] = {}
    for name, process in processes.items():
        with process.oneshot():
            times = process.cpu_times()
            cpu[name], resident[name] = times.user + times.system, process.memory_info().rss
    return Sample(time.monotonic(), done, cpu, resident)
