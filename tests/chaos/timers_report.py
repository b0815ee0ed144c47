"""What a run of `chaos timers` found, for people and as the one JSON line for programs."""

import json

from rich.console import Console
from rich.table import Table

from tests.bench.latencies import percentile
from tests.chaos.timers import Found, by_program

_SHOWN = 20


def faults(found: Found) -> list[str]:
    """Everything that should not be, in sentences."""
    words = [f"no mail: {line}" for line in found.missing]
    words += [f"mail {id_} was taken {count} times" for id_, count in found.twice.items()]
    words += [f"mail {id_} was taken {seconds:.3f} s early" for id_, seconds in found.early.items()]
    words += [f"mail {id_} belongs to nothing accepted" for id_ in found.strangers]
    if found.dead_letters:
        words.append(f"{found.dead_letters} dead letters")
    if not found.accepted:
        words.append("nothing was accepted")
    return words


def show(found: Found, console: Console) -> int:
    """A table, then the JSON line; the exit code."""
    wrong = faults(found)
    table = Table(title="chaos timers: where the mail of each accepted event is", title_justify="left")
    table.add_column("")
    table.add_column("mails", justify="right")
    for name, count in (
        ("accepted", found.accepted),
        ("at the provider once", found.once),
        ("at the provider more than once", len(found.twice)),
        ("of them before it was due", len(found.early)),
        ("not at the provider", len(found.missing)),
    ):
        table.add_row(name, f"{count:,}")
    console.print(table)
    late = [percentile(found.late, share) for share in (0.5, 0.99, 1.0)]
    console.print("after it was due: p50 {:.2f} s, p99 {:.2f} s, the last {:.2f} s".format(*late))
    for line in found.acts:
        console.print(line, highlight=False)
    ends = ", ".join(f"{count} times {words}" for words, count in sorted(by_program(found.ends).items()))
    console.print(f"ends of programs: {ends or 'none'}; {found.dead_letters} dead letters")
    for line in wrong[:_SHOWN]:
        console.print(f"wrong: {line}", style="bold red", markup=False)
    if len(wrong) > _SHOWN:
        console.print(f"… and {len(wrong) - _SHOWN} more", style="bold red")
    summary = {
        "chaos": "timers",
        "accepted": found.accepted,
        "once": found.once,
        "lost": len(found.missing),
        "duplicates": len(found.twice),
        "early": len(found.early),
        "kills": len(found.acts),
        "ok": not wrong,
    }
    print(json.dumps(summary), flush=True)
    return 1 if wrong else 0
