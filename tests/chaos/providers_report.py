"""What a run of `chaos providers` found, for people and as the one JSON line for programs."""

import json
from collections import Counter
from collections.abc import Callable, Mapping
from functools import partial

from rich.console import Console
from rich.table import Table

from schemas.words import Channel
from tests.chaos.providers import LIMITS, REDIS_TIMEOUT, Found
from tests.chaos.providers_account import Cause, Row
from tests.chaos.providers_plan import CARRIED
from tests.chaos.timers import by_program

_SHOWN = 20
_TERMS = ("sent", "failed", "expired", "cancelled", "suppressed", "collected", "pending")


def faults(found: Found) -> list[str]:
    """Everything that should not be, in sentences."""
    account, words = found.account, list(found.books.faults)
    words += [f"not final: {line}" for line in found.pending]
    words += found.not_ready
    if found.accepted != 2 * found.plan.events or account.notifications != found.accepted:
        words.append(f"{found.accepted} events accepted, {account.notifications} by reconcile")
    if not account.adds_up():
        words.append(f"reconcile: published {account.published}, {account.unaccounted_count} unaccounted for")
    if account.in_flight_count:
        words.append(f"reconcile: {account.in_flight_count} in flight")
    for channel in CARRIED:
        terms = account.channels.get(channel, Counter())
        if sum(terms[term] for term in _TERMS) != found.plan.events or terms["pending"]:
            words.append(f"{channel}: {found.plan.events} accepted, and {dict(terms)}")
    if found.unread:
        words.append(f"{found.unread} ends of senders after which Redis did not say what was being called")
    return words


def show(found: Found, console: Console) -> int:
    """Tables, then the JSON line; the exit code."""
    wrong = faults(found)
    console.print(_ends(found))
    console.print(_twice(found))
    for channel, row in found.books.rows.items():
        if row.reasons:
            console.print(f"{channel}: {', '.join(f'{count} {name}' for name, count in sorted(row.reasons.items()))}")
    console.print(_in_words(found), highlight=False)
    for line in wrong[:_SHOWN]:
        console.print(f"wrong: {line}", style="bold red", markup=False)
    if len(wrong) > _SHOWN:
        console.print(f"… and {len(wrong) - _SHOWN} more", style="bold red")
    print(json.dumps(_summary(found, wrong)), flush=True)
    return 1 if wrong else 0


def _in_words(found: Found) -> str:
    settled = "not" if found.settled_s is None else f"{found.settled_s:.0f} s"
    ends = ", ".join(f"{count} times {words}" for words, count in sorted(by_program(found.ends).items()))
    limits = ", ".join(f"{name.lower().replace('__', '.')} {value}" for name, value in LIMITS.items())
    spells = ", ".join(f"{count} {name}" for name, count in sorted(_by_trouble(found.storms).items()))
    return (
        f"{found.accepted:,} events in {found.plan.span_s:.0f} s; {found.storms.total()} spells of bad weather "
        f"({spells}); all final {settled} after the last; {found.dead_letters} dead letters\n"
        f"ends of programs: {ends or 'none'}\nevery channel: {limits}; redis.timeout {REDIS_TIMEOUT}"
    )


def _ends(found: Found) -> Table:
    rows = {channel: found.books.rows.get(channel, Row()) for channel in CARRIED}
    lines: dict[str, Callable[[Channel], int]] = {
        "deliveries": lambda channel: rows[channel].deliveries,
        **{term: partial(_term, found, term) for term in _TERMS},
        "calls, by the log": lambda channel: rows[channel].calls,
        "of them refused": lambda channel: rows[channel].refused,
        "of them unanswered": lambda channel: rows[channel].silent,
    }
    return _table("chaos providers: how every delivery ended", lines)


def _twice(found: Found) -> Table:
    rows = {channel: found.books.rows.get(channel, Row()) for channel in CARRIED}
    lines: dict[str, Callable[[Channel], int]] = {
        "deliveries": lambda channel: rows[channel].twice,
        "of them perhaps seen twice": lambda channel: rows[channel].seen_twice,
        **{f"because: {cause.value}": partial(_because, rows, cause) for cause in Cause},
    }
    return _table("at their provider more than once, and the cause of each time more", lines)


def _table(title: str, lines: Mapping[str, Callable[[Channel], int]]) -> Table:
    """A column per channel."""
    table = Table(title=title, title_justify="left")
    table.add_column("")
    for channel in CARRIED:
        table.add_column(channel, justify="right")
    for name, count in lines.items():
        table.add_row(name, *(f"{count(channel):,}" for channel in CARRIED))
    return table


def _term(found: Found, term: str, channel: Channel) -> int:
    return found.account.channels.get(channel, Counter[str]())[term]


def _because(rows: Mapping[Channel, Row], cause: Cause, channel: Channel) -> int:
    return rows[channel].causes[cause]


def _by_trouble(storms: Counter[str]) -> Counter[str]:
    found = Counter[str]()
    for name, count in storms.items():
        found[name.partition(" ")[2]] += count
    return found


def _summary(found: Found, wrong: list[str]) -> dict[str, object]:
    return {
        "chaos": "providers",
        "accepted": found.accepted,
        "channels": {channel: _figures(found, channel, row) for channel, row in found.books.rows.items()},
        "kills": found.kills.total(),
        "dead_letters": found.dead_letters,
        "settled_s": found.settled_s and round(found.settled_s, 1),
        "violations": len(wrong),
        "ok": not wrong,
    }


def _figures(found: Found, channel: Channel, row: Row) -> dict[str, object]:
    return {
        "deliveries": row.deliveries,
        "calls": row.calls,
        **found.account.channels.get(channel, Counter()),
        "twice": row.twice,
        "perhaps_seen_twice": row.seen_twice,
        "causes": {cause.name.lower(): count for cause, count in row.causes.items()},
    }
