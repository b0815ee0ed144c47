"""One run from the first person enrolled to the last term counted."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from time import time

import aiohttp
import msgspec

from notify_streams.domain.accept import Limits
from notify_streams.domain.hooks import Hook
from notify_streams.ports import Records
from notify_streams.settings import Settings
from notify_streams.streaming import topics
from schemas.catalogue import Catalogue

from . import gauges, lines, sources
from .api import Answer, Api
from .enrol import enrol, people
from .gauges import Counts
from .inboxes import Header, Inboxes
from .inputs import Inputs, inputs
from .lines import Run
from .measured import Measured
from .messages import Entry, MessageLog
from .offsets import Place, end_of
from .progress import Progress
from .publish import over_http, to_topics
from .settling import Settling
from .tally import Sheet, sheet
from .trouble import Simulator

PATIENCE_S = 120.0
LATER_S = 30.0
_LOOK_S = 0.5
_QUIET_LOOKS = 20


class LogCount(msgspec.Struct, frozen=True):
    """What reading the topics back says: records of the span, notifications that nobody can account for."""

    records: int
    unaccounted: int


class Means(msgspec.Struct, frozen=True, kw_only=True):
    """What a run works with.

    `programs`: base addresses by name. `ready` returns once all of them serve: until then only the gateway and the
    orchestrator do. `recount` reads a span (ms) of the topics back. `hook` is the shop's webhook.
    """

    settings: Settings
    state: Path
    http: aiohttp.ClientSession
    api: Api
    programs: Mapping[str, str]
    records: Records
    inboxes: Inboxes
    catalogue: Catalogue
    limits: Limits
    ready: Callable[[], Awaitable[object]]
    recount: Callable[[int, int], Awaitable[LogCount]]
    hook: Hook


class Played(msgspec.Struct, frozen=True, kw_only=True):
    """A run that has ended: the account, and what it was made from. `missing` says what did not come in time."""

    run: Run
    sheet: Sheet
    measured: Measured
    entries: Sequence[Entry]
    first_mail_at: datetime | None
    seconds: float
    missing: str

    @property
    def adds_up(self) -> bool:
        """All came in time, and no line differs."""
        return not self.missing and not self.sheet.differences


class _Mark(msgspec.Struct, frozen=True, kw_only=True):
    """How things stood before the first event."""

    at_ms: int
    letters: Place
    headers: Mapping[str, Header]
    counts: Counts
    posted: Counter[str]


async def play(means: Means, run: Run, progress: Progress) -> Played:
    """Raises ApiError, KafkaError, Unavailable when the run cannot go on."""
    simulator = _simulator(means)
    await simulator.prepare()
    users, mails = await simulator.reached(people()), MessageLog(means.state)
    progress.stage, progress.people.of = "The people say what they want", len(users)
    await enrol(means.api, users, progress.people.add)
    progress.stage = "Waiting until every role is ready"
    await means.ready()
    mark, began = await _mark(means), time()
    records = [lines.record(line, run) for line in lines.read("hour.jsonl")]
    posts = [lines.post(line, run) for line in lines.read("hour_http.jsonl")]
    expected = inputs(records, posts, means.catalogue, means.limits, now=mark.at_ms)
    progress.published.of, progress.settled.of = expected.published, len(expected.notifications)
    async with _watched(means, mark, mails, progress):
        progress.stage = "Producers publish their hour"
        acknowledged, answers = await asyncio.gather(
            to_topics(means.settings.kafka, records, progress.published.add),
            over_http(means.api, posts, progress.published.add),
        )
        progress.stage = "Waiting until all is final"
        settling = Settling(means.records, expected.notifications)
        await settling.wait(PATIENCE_S, lambda now: _tell(now, progress))
        seconds = time() - began
        progress.stage, progress.waiting_for = "Waiting for receipts and what the shop is told", ""
        late = await _later(means, run, mark, mails, progress)
    progress.stage, progress.waiting_for = "Counting at the sources", ""
    measured = await _measure(means, run, mark, mails, acknowledged, answers, expected)
    return Played(
        run=run,
        sheet=sheet(expected, measured),
        measured=measured,
        entries=mails.all(),
        first_mail_at=mails.first_mail_at,
        seconds=seconds,
        missing=", ".join(part for part in (settling.sentence(), late) if part),
    )


async def _mark(means: Means) -> _Mark:
    """Once what an earlier run left behind is worked off."""
    for _ in range(_QUIET_LOOKS):
        counts = await gauges.counts(means.http, means.programs)
        if not counts.lag:
            break
        await asyncio.sleep(_LOOK_S)
    letters, headers = await asyncio.gather(end_of(means.settings.kafka, topics.DEAD_LETTERS), means.inboxes.headers())
    posted, _ = await _simulator(means).posted()
    return _Mark(at_ms=round(time() * 1000), letters=letters, headers=headers, counts=counts, posted=posted)


def _simulator(means: Means) -> Simulator:
    return Simulator(means.http, means.programs["simulator"])


async def _later(means: Means, run: Run, mark: _Mark, mails: MessageLog, progress: Progress) -> str:
    """Until every receipt is among the facts and the shop has heard everything; else what is missing, in words."""
    until = time() + LATER_S
    while True:
        posted, waiting = await _simulator(means).posted()
        found = await sources.decided(means.records, _users(), run.is_mine, means.hook)
        unheard = sources.posted(found, posted - mark.posted, mark.at_ms).total() - sources.heard(found)
        untold = len(found.to_tell - sources.told(mails.all(), means.hook))
        words = [
            f"{number} {what}"
            for number, what in (
                (waiting, "messages of which a receipt is not posted"),
                (unheard, "receipts that are not recorded"),
                (untold, "webhooks to the shop"),
            )
            if number
        ]
        progress.waiting_for = ", ".join(words)
        if not words or time() > until:
            return progress.waiting_for
        await asyncio.sleep(_LOOK_S)


def _users() -> list[str]:
    return [user["user_id"] for user in people()]


@asynccontextmanager
async def _watched(means: Means, mark: _Mark, mails: MessageLog, progress: Progress) -> AsyncIterator[None]:
    """Meanwhile the figures follow what the programs say of themselves."""

    async def watch() -> None:
        while True:
            now = (await gauges.counts(means.http, means.programs)).since(mark.counts)
            mails.look()
            progress.accepted.set(now.accepted)
            progress.decided.set(now.decided)
            progress.inbox.set(now.inbox)
            progress.mails.set(mails.mails)
            progress.others.set(mails.others)
            await asyncio.sleep(_LOOK_S)

    watching = asyncio.create_task(watch())
    try:
        yield
    finally:
        watching.cancel()
        with suppress(asyncio.CancelledError):
            await watching


def _tell(settling: Settling, progress: Progress) -> None:
    progress.settled.set(settling.settled)
    progress.waiting_for = settling.sentence()


async def _measure(
    means: Means,
    run: Run,
    mark: _Mark,
    mails: MessageLog,
    acknowledged: int,
    answers: Sequence[Answer],
    expected: Inputs,
) -> Measured:
    mails.look()
    kafka, entries = means.settings.kafka, mails.all()
    recount = await means.recount(mark.at_ms, round(time() * 1000) + 1)
    found = await sources.decided(means.records, _users(), run.is_mine, means.hook)
    mine, (posted, _) = sources.ours(found, entries), await _simulator(means).posted()
    rows = await means.inboxes.rows_since(mark.headers, (run.at, datetime.now(UTC)))
    ours, others = sources.of_run([row[:2] for row in rows], (status.notification_id for status in found.statuses))
    counts = (await gauges.counts(means.http, means.programs)).since(mark.counts)
    return Measured(
        acknowledged=acknowledged,
        answers=Counter(answer.status for answer in answers),
        replayed=sum("Idempotency-Replayed" in answer.headers for answer in answers),
        on_topics=recount.records,
        unaccounted=recount.unaccounted,
        tombstones=counts.tombstones,
        dropped=counts.dropped,
        identities=frozenset(found.identities),
        statuses=found.statuses,
        mails=sources.mails_of(mine),
        entries=mine,
        posted=sources.posted(found, posted - mark.posted, mark.at_ms),
        told=sources.told(entries, means.hook),
        to_tell=frozenset(found.to_tell),
        rows=Counter(ours),
        others_rows=others,
        sequences=len({(user, sequence) for user, _, sequence in rows}),
        timers=await sources.waiting_timers(kafka, run.is_mine),
        letters=await sources.letters_since(kafka, mark.letters, run.is_mine),
    )
