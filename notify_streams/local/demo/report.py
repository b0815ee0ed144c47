"""What a run ends with: the account line by line, what is pending or dead, three examples."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path

import msgspec
from rich.columns import Columns
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from notify_streams.domain.status import NotificationStatus
from schemas.words import IN_WORDS, Reason, State

from .carriers import Carrier
from .examples import Inbox, Mail, Untold
from .matches import Match, excused
from .measured import TERMS, Measured
from .play import Means, Played
from .tally import ChannelSum, Sheet, Term

_SIGNS = ("", "= ", "+ ", "+ ", "+ ")
_MAIL_LINES = 20


class Shown(msgspec.Struct, frozen=True):
    """All that a run leaves to be shown."""

    played: Played
    inbox: Inbox | None
    mail: Mail | None
    untold: Untold | None


def whole(shown: Shown) -> RenderableType:
    """The account, what is left over, the examples."""
    parts = [account(shown.played), leftovers(shown.played.measured)]
    parts += [inbox(shown.inbox)] if shown.inbox else []
    parts += [mail(shown.mail)] if shown.mail else []
    parts += [untold(shown.untold)] if shown.untold else []
    return Group(*parts, Text())


def verdict(played: Played, began: float) -> Text:
    """One sentence; where it does not add up, one more for every line that differs."""
    differences = played.sheet.differences
    if played.missing:
        differences = [f"not final in time: {played.missing}", *differences]
    first = played.first_mail_at.timestamp() - began if played.first_mail_at else None
    mail = f"First mail after {first:.1f} s" if first is not None else "No mail came"
    took = f"{mail}; the hour was final {played.seconds:.1f} s after it began (run {played.run.name})."
    if not differences:
        return Text("Everything adds up. ", style="bold green").append(took, style="default")
    lines = "".join(f"\n  {difference}" for difference in differences)
    return Text("It does not add up. ", style="bold red").append(took + lines, style="default")


def further(shown: Shown, means: Means) -> RenderableType:
    """Where to look, with keys that are ready to use: kept in files, as short as a line may be."""
    base, folder = means.api.base, means.state / "demo"
    folder.mkdir(exist_ok=True)
    rows: list[tuple[str, str]] = []
    if shown.inbox:
        own = _header_file(folder / f"{shown.inbox.user_id}.auth", means.api.secrets.token(shown.inbox.user_id))
        rows.append(("that inbox", f"curl -H @{own} {base}/v1/users/{shown.inbox.user_id}/inbox"))
    if shown.untold:
        own = _header_file(folder / "operator.auth", means.api.secrets.operator)
        rows.append(("that story", f"curl -H @{own} {base}/v1/notifications/{shown.untold.notification_id}/explain"))
    simulator = means.programs["simulator"]
    rows += [("all messages", f"{simulator}/"), ("weather and rules", f"{simulator}/behaviour")]
    rows += [("the gateway", base), ("its API", f"{base}/openapi.json")]
    rows.append(("logs", _short(means.state / "logs")))
    return Group(Text("Look further", style="bold"), _rows(rows), Text())


def _header_file(path: Path, secret: str) -> str:
    path.unlink(missing_ok=True)
    path.touch(mode=0o600)
    path.write_text(f"Authorization: Bearer {secret}\n")
    return _short(path)


def _short(path: Path) -> str:
    """As one would type it from here."""
    here = Path.cwd()
    return str(path.relative_to(here) if path.is_relative_to(here) else path)


def account(played: Played) -> RenderableType:
    """Tables in which everything adds up, or says that it does not."""
    sheet = played.sheet
    return Group(
        *_headed("Events: published = accepted + rejected + tombstones + duplicates", _events(sheet)),
        *_headed("Notifications by channel: accepted = the sum of what became of them", _channels(sheet.channels)),
        *_headed("Providers: calls by our facts, answers by the simulator's log", _carriers(sheet.carriers)),
        *_headed("Not sent, and why", _suppressed(played.measured.statuses)),
        *_headed("Effects, each counted where it is kept", _matches(sheet.matches)),
    )


def leftovers(measured: Measured) -> RenderableType:
    """Pending and dead, by id."""
    parts: list[RenderableType] = []
    pending = list(_pending(measured.statuses))
    if pending:
        parts += _headed(f"Pending: {len(pending)}, each with its timer", _rows(pending))
    if measured.letters:
        early = [(letter.place, letter.reason) for letter in measured.letters if not letter.notification_id]
        late = [(f"{x.stage}: {x.reason}", x.notification_id) for x in measured.letters if x.notification_id]
        parts += _headed(f"Dead letters: {len(measured.letters)}", _rows(sorted(early)))
        parts += _grouped(late)
    failed = list(_failed(measured.statuses))
    if failed:
        parts += _headed(f"Failed by their answer, for good: {len(failed)}", *_grouped(failed))
    if twice := excused(measured):
        why = IN_WORDS[Reason.UNKNOWN_OUTCOME]
        rows = [(f"{why}, so it was tried again", delivery) for delivery in twice]
        parts += _headed(f"Mails that were taken twice: {len(twice)}, by delivery", *_grouped(rows))
    return Group(*parts)


def inbox(shown: Inbox) -> RenderableType:
    """The newest first."""
    items = [(_clock(item["accepted_at"]), item["title"], item["body"]) for item in shown.items]
    return Group(*_headed(f"The inbox of {shown.user_id}: {shown.unread} unread, the newest first", _rows(items)))


def mail(shown: Mail) -> RenderableType:
    """Headers and the text part."""
    lines = shown.text.splitlines()
    text = Text("\n".join([*lines[:_MAIL_LINES], "…"] if len(lines) > _MAIL_LINES else lines))
    return Group(*_headed(f"Mail number {shown.n} of the simulator", _rows(shown.headers)), Text(), _indented(text))


def untold(shown: Untold) -> RenderableType:
    """The story as `notify explain` tells it."""
    story = "\n".join((shown.headline, *shown.lines, *shown.ending))
    return Group(*_headed(f"Not sent by {shown.channel}, explained: {shown.notification_id}", _indented(Text(story))))


def _headed(title: str, *body: RenderableType) -> list[RenderableType]:
    return [Text(), Text(title, style="bold"), *body]


def _grouped(rows: Iterable[tuple[str, str]]) -> list[RenderableType]:
    """What many have in common once, and then their ids side by side."""
    groups: dict[str, list[str]] = {}
    for words, id_ in rows:
        groups.setdefault(words, []).append(id_)
    parts: list[RenderableType] = []
    for words, ids in sorted(groups.items()):
        parts += [Text(f"{words} ({len(ids)})"), Columns(sorted(ids), padding=(0, 1))]
    return parts


def _indented(text: Text) -> Table:
    return _rows([(text,)])


def _table(*columns: tuple[str, str]) -> Table:
    table = Table(box=None, header_style="dim", pad_edge=False)
    for name, side in columns:
        table.add_column(name, justify="right" if side == "right" else "left")
    return table


def _rows(rows: Sequence[tuple[RenderableType, ...]]) -> Table:
    table = Table(box=None, show_header=False, pad_edge=False, padding=(0, 2, 0, 0))
    for _ in rows[0] if rows else ():
        table.add_column(overflow="fold")
    for row in rows:
        table.add_row(*row)
    return table


def _verdict(ok: bool) -> Text:
    return Text("ok", style="green") if ok else Text("differs", style="bold red")


def _events(sheet: Sheet) -> Table:
    table = _table(("", "left"), ("in the files", "right"), ("found", "right"), ("", "left"), ("where", "left"))
    total = sum(term.found for term in sheet.events[1:])
    for sign, term in zip(_SIGNS, sheet.events, strict=True):
        ok = term.ok and (bool(sign) or term.found == total)
        table.add_row(sign + term.name, f"{term.said:,}", f"{term.found:,}", _verdict(ok), _source(term))
    return table


def _source(term: Term) -> Text:
    return Text(term.source, style="dim")


def _channels(sums: Sequence[ChannelSum]) -> Table:
    others = sorted({term for one in sums for term in one.terms} - {*TERMS})
    terms = (*TERMS, *others)
    table = _table(("", "left"), ("accepted", "right"), *((term, "right") for term in terms), ("", "left"))
    for one in sums:
        counts = (_number(one.terms[term]) for term in terms)
        table.add_row(one.channel, f"{one.accepted:,}", *counts, _verdict(one.ok))
    return table


def _carriers(carriers: Sequence[Carrier]) -> Table:
    numbers = ("calls", "met", "taken", "refused", "dropped", "delivered", "sent", "failed", "receipts", "recorded")
    table = _table(("", "left"), ("", "left"), *((name, "right") for name in numbers), ("", "left"))
    for one in carriers:
        met, ends = one.met, one.ends
        asked = (one.calls.total(), met.total(), met["accepted"], met["refused"], met["dropped"])
        counts = (*asked, ends["delivered"], ends["sent"], ends["failed"], one.posted, one.heard)
        table.add_row(one.channel, one.provider, *map(_number, counts), _verdict(not one.differences))
    return table


def _suppressed(statuses: Sequence[NotificationStatus]) -> Table:
    """By channel and reason."""
    found = Counter(
        (channel.channel, _why(channel.reason))
        for status in statuses
        for channel in status.channels
        if channel.state is State.SUPPRESSED
    )
    return _rows([(channel, f"{count:,}", why) for (channel, why), count in sorted(found.items())])


def _matches(matches: Sequence[Match]) -> Table:
    table = _table(("", "left"), ("", "right"), ("", "left"), ("", "left"))
    table.show_header = False
    for match in matches:
        number = f"{match.counts[0][1]:,}" if match.ok else ""
        words = ", ".join(name if match.ok else f"{count:,} {name}" for name, count in match.counts)
        table.add_row(match.name, number, _verdict(match.ok), Text(words, style="dim" if match.ok else ""))
    return table


def _number(count: int) -> Text:
    return Text(f"{count:,}", style="" if count else "dim")


def _pending(statuses: Sequence[NotificationStatus]) -> Iterator[tuple[str, str, str]]:
    for status in statuses:
        for channel in status.channels:
            if channel.state in (State.PENDING, State.DEFERRED):
                until = f"until {_clock(channel.due_at)}, " if channel.due_at else ""
                what = f"{until}because {_why(channel.reason)}"
                yield status.notification_id, f"{status.type}, {channel.channel}", what


def _failed(statuses: Sequence[NotificationStatus]) -> Iterator[tuple[str, str]]:
    """Without those whose attempts were used up: they are dead letters."""
    for status in statuses:
        for channel in status.channels:
            if channel.state is State.FAILED and channel.reason is not Reason.ATTEMPTS_EXHAUSTED:
                yield f"{channel.channel}: {_why(channel.reason)}", status.notification_id


def _why(reason: Reason | None) -> str:
    return "no reason was given" if reason is None else IN_WORDS[reason]


def _clock(at: int | str) -> str:
    instant = datetime.fromtimestamp(at / 1000, UTC) if isinstance(at, int) else datetime.fromisoformat(at)
    return instant.strftime("%H:%M:%SZ")
