"""What a run of chaos found, for people and as the one JSON line for programs."""

import json
from datetime import UTC, datetime

from rich.console import Console
from rich.table import Table

from tests.chaos.spine import Found

_SHOWN = 20


def faults(found: Found) -> list[str]:
    """Everything that should not be, in sentences."""
    account, words = found.account, []
    words += [f"{act.what}: not recovered within the limit" for act in found.acts if not act.recovered]
    words += [f"no inbox row for {id_}" for id_ in found.inboxes.missing]
    words += [f"no mail for {id_}" for id_ in found.mails.missing]
    words += [f"not final: {line}" for line in found.pending]
    words += [*found.inboxes.faults, *found.mails.faults]
    if found.dead_letters:
        words.append(f"{found.dead_letters} dead letters")
    if not account.adds_up():
        words.append(f"reconcile: published {account.published}, {account.unaccounted_count} unaccounted for")
    if account.in_flight_count:
        words.append(f"reconcile: {account.in_flight_count} in flight")
    if account.notifications != found.accepted:
        words.append(f"reconcile: {account.notifications} notifications for {found.accepted} events accepted")
    return words


def show(found: Found, console: Console) -> int:
    """Tables, then the JSON line; the exit code."""
    wrong = faults(found)
    console.print(_acts(found))
    console.print(_ends(found))
    answers = ", ".join(f"{name}: {count}" for name, count in sorted(found.answers.items())) or "none"
    terms = ", ".join(f"{name} {count:,}" for name, count in sorted(found.account.terms().items()))
    console.print(
        f"{found.accepted:,} events accepted ({found.by_http:,} by HTTP; answers and errors on the way: {answers})\n"
        f"{found.inboxes.rows:,} inbox rows; {found.mails.accepted:,} mails taken, "
        f"{len(found.mails.twice)} twice or more; {found.dead_letters} dead letters\n"
        f"reconcile: {found.account.published:,} records = {found.account.accepted:,} accepted + "
        f"{found.account.duplicates:,} duplicates + {found.account.rejected:,} rejected; by channel {terms}"
    )
    for id_, count in sorted(found.mails.twice.items())[:_SHOWN]:
        by = [one.ended for one in found.left if one.calling and id_ in one.calling]
        console.print(
            f"  mail {id_} {count} times; left calling by: {', '.join(_at(end.at) for end in by) or 'nobody'}"
        )
    for line in wrong[:_SHOWN]:
        console.print(f"wrong: {line}", style="bold red")
    if len(wrong) > _SHOWN:
        console.print(f"… and {len(wrong) - _SHOWN} more", style="bold red")
    lost = len({*found.inboxes.missing, *found.mails.missing})
    summary = {
        "chaos": "spine",
        "accepted": found.accepted,
        "lost": lost,
        "duplicates": len(found.mails.twice),
        "pending": len(found.pending),
        "ok": not wrong,
    }
    print(json.dumps(summary), flush=True)
    return 1 if wrong else 0


def _acts(found: Found) -> Table:
    table = Table(title="chaos spine: acts, in seconds", title_justify="left")
    table.add_column("act")
    for column in ("at", "away", "ready", "caught up", "all final", "command"):
        table.add_column(column, justify="right")
    for act in found.acts:
        away = f"{act.away:.1f}" if act.away else ""
        after = (_s(act.final), _s(act.command)) if act.outage else ("", "")
        table.add_row(act.what, f"{act.at:.0f}", away, _s(act.ready), _s(act.caught_up), *after)
    return table


def _ends(found: Found) -> Table:
    table = Table(title="ends of programs", title_justify="left")
    for column in ("at", "program", "by", "left calling", "sent twice"):
        table.add_column(column)
    left = {id(one.ended): one for one in found.left}
    for end in found.ends:
        one = left.get(id(end))
        calling = "" if one is None else "Redis away" if one.calling is None else str(len(one.calling))
        twice = "" if one is None or not one.calling else str(len(one.calling & found.mails.twice.keys()))
        table.add_row(_at(end.at), end.name, end.words, calling, twice)
    return table


def _s(seconds: float | None) -> str:
    return "never" if seconds is None else f"{seconds:.1f}"


def _at(ms: int) -> str:
    return datetime.fromtimestamp(ms / 1000, UTC).strftime("%H:%M:%S")
