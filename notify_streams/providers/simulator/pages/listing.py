"""The list of everything that came in, newest first, narrowed by what is in the URL."""

from collections import Counter
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from urllib.parse import urlencode

import msgspec

from notify_streams.providers.simulator.log import KEPT, Entry, Log

from . import says
from .rendering import page
from .times import ago, took

_SHOWN = 100
_EVENTS = ("accepted", "refused", "dropped")


class Asked(msgspec.Struct, frozen=True, omit_defaults=True):
    """What is looked for; `before` is the number of the entry after which the page begins."""

    provider: str = ""
    answer: str = ""
    to: str = ""
    q: str = ""
    before: int = 0

    @classmethod
    def of(cls, query: Mapping[str, str]) -> "Asked":
        """What makes no sense is not asked."""
        before = query.get("before", "")
        return cls(
            provider=query.get("provider", ""),
            answer=query["answer"] if query.get("answer") in _EVENTS else "",
            to=query.get("to", ""),
            q=query.get("q", ""),
            before=int(before) if before.isascii() and before.isdigit() and len(before) < 16 else 0,
        )

    def url(self, **other: object) -> str:
        """The list with these things instead."""
        words = urlencode({**msgspec.to_builtins(self), **other})
        return f"/?{words}" if words else "/"

    @property
    def narrowed(self) -> bool:
        """Whether anything is left out."""
        return bool(self.provider or self.answer or self.to or self.q)


class Row(msgspec.Struct, frozen=True):
    """One line of the list. `seen` counts entries with the same reference at the same provider."""

    entry: Entry
    ago: str
    says: str
    kept: bool
    took: str
    seen: int


def listing(log: Log, asked: Asked) -> str:
    """At most 100 of those in memory."""
    rows: list[Row] = []
    more = False
    for row in _matching(log, asked):
        more = len(rows) == _SHOWN
        if more:
            break
        rows.append(row)
    return page(
        "list.html",
        rows=rows,
        asked=asked,
        older=asked.url(before=rows[-1].entry.n) if more else "",
        newest=asked.url(before="") if asked.before else "",
        counts=log.counts,
        providers=[name for name in says.NAMES if any((name, event) in log.by_provider for event in _EVENTS)],
        last=log.recent[-1].n if log.recent else 0,
        forgotten=sum(log.counts.values()) > KEPT,
        memory=KEPT,
        path=log.path,
    )


def _matching(log: Log, asked: Asked) -> Iterator[Row]:
    mails, now = {mail.entry.n: mail for mail in log.mails}, datetime.now(UTC)
    times = Counter((entry.provider, reference(entry)) for entry in log.recent)
    for entry in reversed(log.recent):
        if not _wanted(entry, asked):
            continue
        mail, followed = mails.get(entry.n), log.followed.get(entry.n)
        said = "" if mail is None else says.line(entry.provider, mail.content)
        if asked.q and asked.q.lower() not in f"{said} {entry.to} {entry.answer} {entry.delivery_id}".lower():
            continue
        seen = times[entry.provider, reference(entry)] if reference(entry) else 1
        latency = took(followed.took_s if followed else None)
        yield Row(entry, ago(entry.at, now), said, mail is not None, latency, seen)


def reference(entry: Entry) -> str:
    """By what a repeat of it would be known."""
    return entry.delivery_id or entry.identity


def _wanted(entry: Entry, asked: Asked) -> bool:
    return (
        asked.provider in ("", entry.provider)
        and asked.answer in ("", entry.event)
        and asked.to.lower() in entry.to.lower()
        and (not asked.before or entry.n < asked.before)
    )
