"""Which programs `notify up` runs beside the engines, with their command lines and where their health is asked."""

import json
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from .addresses import Addresses
from .free_ports import HOST, free_port

ROLES: tuple[str, ...] = ("ingest", "orchestrator", "inbox", "sender-email", "scheduler", "recorder", "registry")
# Those of the channels that need a provider with credentials, or the simulator.
SENDERS: tuple[str, ...] = ("sender-push", "sender-sms", "sender-webhook")
NOTIFY = (sys.executable, "-m", "notify_streams")
WORKERS_DATA = "state"
PREPARATIONS = (("topics", "create"), ("schema", "create"))


@dataclass(frozen=True)
class Program:
    """One process to keep running. Higher tiers stop first, those of one tier together."""

    name: str
    argv: tuple[str, ...]
    env: Mapping[str, str] = field(default_factory=dict)
    health_url: str = ""
    tier: int = 1

    @property
    def metrics_url(self) -> str:
        """Beside its health."""
        return self.health_url.removesuffix("/readyz") + "/metrics"


def programs(
    addresses: Addresses, state: Path, *, roles: Iterable[str] = ROLES, simulator: bool = True
) -> list[Program]:
    """In the order of their start: who takes the mails, who works, who lets events in."""
    shared = {
        **addresses.environment(),
        "NOTIFY_LOCAL__STATE": str(state),
        "NOTIFY_WORKER__DATA": str(state / WORKERS_DATA),
    }
    simulated = _worker("simulator", ("providers", "simulate"), shared, tier=0, port=addresses.simulator)
    found = [simulated] if simulator else []
    found += [_worker(role, ("worker", role), shared, tier=1) for role in roles]
    if addresses.gateway:
        url = f"http://{HOST}:{addresses.gateway}/readyz"
        watched = {"NOTIFY_CONSOLE__TARGETS": json.dumps([one.metrics_url for one in found if one.name != "simulator"])}
        found.append(Program("gateway", (*NOTIFY, "gateway"), {**shared, **watched}, url, tier=2))
    return found


def _worker(
    name: str, words: tuple[str, ...], shared: Mapping[str, str], *, tier: int, port: int | None = None
) -> Program:
    port = port or free_port()
    env = {**shared, "NOTIFY_WORKER__HEALTH_HOST": HOST, "NOTIFY_WORKER__HEALTH_PORT": str(port)}
    return Program(name, (*NOTIFY, *words), env, f"http://{HOST}:{port}/readyz", tier)
