"""One sender role at work on a backlog: how fast it is, what it costs, and whether each delivery went out once."""

import asyncio
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from notify_streams.settings import Settings
from notify_streams.streaming import topics
from schemas.words import Lane
from tests.bench import kafka
from tests.bench.lab import Lab
from tests.bench.sender_load import CHANNELS, records
from tests.bench.usage import Usage, watch
from tests.bench.vendors import Vendors, by_delivery

LATENCY_S = 0.1
UNLIMITED = 1_000_000.0
_NOTIFY = str(Path(sys.executable).with_name("notify"))
_SETTLES_S = 1.0


class Fast(msgspec.Struct, frozen=True, kw_only=True):
    """One provider's backlog worked off."""

    provider: str
    count: int
    per_s: float
    micros: float
    core: float
    simulator_core: float
    mib: float
    connections: int
    lost: int
    twice: int


async def throughput(lab: Lab, vendors: Vendors, provider: str, count: int) -> Fast:
    """One process of the provider's role, `count` deliveries of the NORMAL lane."""
    await vendors.forget()
    await vendors.weather(provider, latency_s=LATENCY_S)
    config = await backlog(lab, vendors, [provider], {"normal": count}, run=provider)
    pid = await sender(lab, vendors, config, [provider])
    taken = _Taken(vendors, provider)
    usage = await watch(count, taken.count, {"sender": pid, "simulator": vendors.pid})
    await asyncio.sleep(_SETTLES_S)
    await lab.stop_only(f"sender-{CHANNELS[provider]}-0")
    return _fast(provider, count, usage, taken.connections, vendors)


async def backlog(
    lab: Lab, vendors: Vendors, providers: Sequence[str], counts: Mapping[Lane, int], *, run: str
) -> Settings:
    """Topics of their own with these deliveries by lane, of the providers in turn."""
    config = lab.settings(f"{run}.")
    await lab.provision(config)
    channel = CHANNELS[providers[0]]
    for lane, count in counts.items():
        topic = config.kafka.prefix + topics.deliveries(channel, lane)
        made = records(vendors, providers, count, lane, config.kafka, run=f"{run}-{lane}")
        await kafka.fill(config.kafka.bootstrap, topic, made)
    return config


async def sender(
    lab: Lab,
    vendors: Vendors,
    config: Settings,
    providers: Sequence[str],
    *,
    rate: float = UNLIMITED,
    instance: int = 0,
) -> int:
    """A process of the channel's role that calls these providers; its process id."""
    channel = CHANNELS[providers[0]]
    sections: dict[str, dict[str, Any]] = {
        "auth": {"signing_secret": "a secret of at least thirty-two bytes"},
        "redis": {"url": lab.engines.addresses.redis},
        f"channels.{channel}": {"providers": list(providers)},
        **{f"providers.{name}": {**vendors.providers[name], "rate": rate} for name in providers},
    }
    argv = [_NOTIFY, "worker", f"sender-{channel}", "--instance", str(instance)]
    return await lab.start(f"sender-{channel}-{instance}", argv, config, sections)


class _Taken:
    """What the vendor has taken, and the most connections it had meanwhile."""

    def __init__(self, vendors: Vendors, provider: str) -> None:
        self._vendors, self._provider = vendors, provider
        self.connections = 0

    async def count(self) -> int:
        """For `watch`."""
        self.connections = max(self.connections, self._vendors.connections())
        return await self._vendors.taken(self._provider)


def _fast(provider: str, count: int, usage: Usage, connections: int, vendors: Vendors) -> Fast:
    found = by_delivery(vendors.log)
    of_provider = {key: events for key, events in found.items() if key[0] == provider}
    return Fast(
        provider=provider,
        count=count,
        per_s=usage.rate,
        micros=usage.micros("sender"),
        core=usage.core("sender"),
        simulator_core=usage.core("simulator"),
        mib=usage.peak_bytes["sender"] / 2**20,
        connections=connections,
        lost=count - len(of_provider),
        twice=sum(events["accepted"] > 1 for events in of_provider.values()),
    )
