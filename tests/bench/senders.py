"""`scripts/bench senders`: each provider's protocol against the simulator, by a real sender from a backlog.

The simulator is a process of its own and answers after 100 ms. Then: two processes under one limit, LOW alone under
it, HIGH beside LOW, and a provider that hangs beside one that does not.
"""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from tests.bench import sender_limits
from tests.bench.lab import Lab
from tests.bench.report import Figures, Report, Row
from tests.bench.sending_roles import Fast, throughput
from tests.bench.vendors import Vendors

FLOORS: Figures = {"smtp_per_s": 500, "fcm_per_s": 1500, "webpush_per_s": 500, "apns_per_s": 400}
COUNTS = {
    "smtp": 8_000,
    "fcm": 20_000,
    "webpush": 8_000,
    "apns": 8_000,
    "ses": 8_000,
    "sendgrid": 8_000,
    "twilio": 8_000,
    "webhook": 8_000,
}
_QUICK = 4


async def run(lab: Lab, *, quick: bool) -> Report:
    """All rows; `quick` takes a quarter of the deliveries and leaves the limits out."""
    rows, figures = list[Row](), Figures()
    async with vendors_of(lab) as vendors:
        for provider, count in COUNTS.items():
            fast = await throughput(lab, vendors, provider, count // _QUICK if quick else count)
            rows.append(_row(fast))
            figures |= _figures(fast)
        limits = sender_limits.Found() if quick else await sender_limits.measure(lab, vendors)
    return Report(
        bench="senders",
        columns=("per s", "us", "core", "sim.", "MiB", "conn.", "lost", "twice"),
        rows=tuple(rows),
        figures={**figures, **limits.figures},
        floors={**FLOORS, **limits.floors},
        ceilings={
            **{f"{provider}_{what}": 0 for provider in COUNTS for what in ("lost", "twice")},
            **{f"{provider}_mib": 250 for provider in COUNTS},
            **limits.ceilings,
        },
        notes=(
            "CPU per delivery and share of a core of the sender; the simulator's share; peak memory; open connections. "
            "Each answer after 100 ms (SMTP: each of the replies to MAIL, RCPT and the mail's end). One sender process "
            "with the default settings from a backlog on Kafka; lost and twice by the simulator's exact log. The "
            "simulator decrypts, checks and logs on the same two cores: where it nears a core, it is the limit.",
            *limits.notes,
        ),
    )


@asynccontextmanager
async def vendors_of(lab: Lab) -> AsyncIterator[Vendors]:
    """A simulator beside the lab's engines."""
    vendors = await Vendors.start(lab)
    try:
        yield vendors
    finally:
        await vendors.close()


def _row(fast: Fast) -> Row:
    cells = (
        f"{fast.per_s:,.0f}",
        f"{fast.micros:,.0f}",
        f"{fast.core:.0%}",
        f"{fast.simulator_core:.0%}",
        f"{fast.mib:.0f}",
        f"{fast.connections}",
        f"{fast.lost}",
        f"{fast.twice}",
    )
    return Row(f"{fast.provider} ({fast.count:,})", cells)


def _figures(fast: Fast) -> Figures:
    values = {
        "per_s": fast.per_s,
        "us": fast.micros,
        "core": fast.core,
        "simulator_core": fast.simulator_core,
        "mib": fast.mib,
        "connections": fast.connections,
        "lost": fast.lost,
        "twice": fast.twice,
    }
    return {f"{fast.provider}_{name}": value for name, value in values.items()}
