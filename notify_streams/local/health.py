"""What a program says of itself over HTTP: ready or not, its lag, the records it has worked off."""

import time
from dataclasses import dataclass

import aiohttp

LAG = "notify_consumer_lag"
RECORDS = "notify_stage_records_total"
_ANSWER = aiohttp.ClientTimeout(total=2)


async def is_ready(http: aiohttp.ClientSession, url: str) -> bool:
    """True for any 2xx within two seconds."""
    try:
        async with http.get(url, timeout=_ANSWER) as response:
            return response.ok
    except (aiohttp.ClientError, TimeoutError):
        return False


async def metrics(http: aiohttp.ClientSession, url: str) -> str:
    """The text of /metrics; empty if it has none."""
    try:
        async with http.get(url, timeout=_ANSWER) as response:
            return await response.text() if response.ok else ""
    except (aiohttp.ClientError, TimeoutError):
        return ""


@dataclass(frozen=True)
class Flow:
    """One look at a program's counters."""

    at: float
    lag: float | None = None
    records: float | None = None

    @classmethod
    def read(cls, text: str) -> "Flow":
        """From the Prometheus text format: sums over all labels."""
        return cls(time.monotonic(), total(text, LAG), total(text, RECORDS))

    def rate(self, before: "Flow") -> float | None:
        """Records a second since then; None if either look saw none. A restart begins at nought."""
        if self.records is None or before.records is None or self.at <= before.at:
            return None
        return max(0.0, self.records - before.records) / (self.at - before.at)


def total(text: str, name: str) -> float | None:
    """The sum of all samples of that name, None if there is no such sample."""
    values = [
        float(line.rsplit(" ", 1)[1])
        for line in text.splitlines()
        if line.startswith(name) and line[len(name) : len(name) + 1] in ("{", " ")
    ]
    return sum(values) if values else None
