"""What `chaos providers` found, for people and as the one JSON line for programs."""

import json

from rich.console import Console
from rich.table import Table

from tests.chaos.providers import Found

_SHOWN = 20


def faults(found: Found) -> list[str]:
    """Everything that should not be, in sentences."""
    words = [f"{channel}: {fault}" for channel, one in found.sums.items() for fault in one.faults]
    words += [f"not final: {line}" for line in found.pending]
    expected = 4 * found.plan.deliveries
    if found.accepted != expected:
        words.append(f"{found.accepted} events accepted of {expected}")
    if found.strangers:
        words.append(f"{found.strangers} messages at the providers belong to nothing accepted")
    if not found.account.adds_up():
        words.append(f"reconcile: published {found.account.published}, {found.account.unaccounted_count} unaccounted")
    if found.account.in_flight_count:
        words.append(f"reconcile: {found.account.in_flight_count} in flight")
    return words


def show(found: Found, console: Console) -> int:
    """A table, then the JSON line; the exit code."""
    wrong = faults(found)
    console.print(_table(found))
    terms = ", ".join(f"{name} {count:,}" for name, count in sorted(found.account.terms().items()))
    console.print(
        f"{found.accepted:,} events accepted; {len(found.kills)} kills; {found.dead_letters} dead letters; "
        f"reconcile by channel: {terms}"
    )
    for line in wrong[:_SHOWN]:
        console.print(f"wrong: {line}", style="bold red")
    if len(wrong) > _SHOWN:
        console.print(f"… and {len(wrong) - _SHOWN} more", style="bold red")
    summary = {
        "chaos": "providers",
        "accepted": found.accepted,
        "channels": {
            channel: {"deliveries": one.deliveries, **{s.value: n for s, n in one.states.items()}, "calls": one.calls}
            for channel, one in found.sums.items()
        },
        "twice": {channel: dict(one.twice) for channel, one in found.sums.items()},
        "unexplained": sum(len(one.faults) for one in found.sums.values()),
        "pending": len(found.pending),
        "kills": len(found.kills),
        "ok": not wrong,
    }
    print(json.dumps(summary), flush=True)
    return 1 if wrong else 0


def _table(found: Found) -> Table:
    table = Table(title="chaos providers", title_justify="left")
    table.add_column("channel")
    for column in ("deliveries", "calls", "refused", "ended", "out twice", "faults"):
        table.add_column(column, justify="right")
    for channel, one in found.sums.items():
        states = ", ".join(f"{state} {count:,}" for state, count in sorted(one.states.items()))
        twice = ", ".join(f"{count} {why}" for why, count in one.twice.items() if count) or "0"
        table.add_row(
            channel, f"{one.deliveries:,}", f"{one.calls:,}", f"{one.refused:,}", states, twice, str(len(one.faults))
        )
    return table
