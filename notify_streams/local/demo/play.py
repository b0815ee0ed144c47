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
from .mails import Entry, MailLog
from .measured import Measured
from .offsets import Place, end_of
from .progress import Progress
from .publish import over_http, to_topics
from .settling import Settling
from .tally import Sheet, sheet

PATIENCE_S = 120.0
_LOOK_S = 0.5
_QUIET_LOOKS = 20


class LogCount(msgspec.Struct, frozen=True):
    """What reading the topics back says: records of the span, notifications that nobody can account for."""

    records: int
    unaccounted: int


class Means(msgspec.Struct, frozen=True, kw_only=True):
    """What a run works with.

    `programs`: base addresses by name. `ready` returns once all of them serve: until then only the gateway and the
    orchestrator do. `recount` reads a span (ms) of the topics back.
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


async def play(means: Means, run: Run, progress: Progress) -> Played:
    """Raises ApiError, KafkaError, Unavailable when the run cannot go on."""
    users = people()
    mails = MailLog(means.state)
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
    progress.stage, progress.waiting_for = "Counting at the sources", ""
    measured = await _measure(means, run, mark, mails, acknowledged, answers, expected)
    return Played(
        run=run,
        sheet=sheet(expected, measured),
        measured=measured,
        entries=mails.all(),
        first_mail_at=mails.first_accepted,
        seconds=seconds,
        missing=settling.sentence(),
    )


async def _mark(means: Means) -> _Mark:
    """Once what an earlier run left behind is worked off."""
    for _ in range(_QUIET_LOOKS):
        counts = await gauges.counts(means.http, means.programs)
        if not counts.lag:
            break
        await asyncio.sleep(_LOOK_S)
    letters, headers = await asyncio.gather(end_of(means.settings.kafka, topics.DEAD_LETTERS), means.inboxes.headers())
    return _Mark(at_ms=round(time() * 1000), letters=letters, headers=headers, counts=counts)


@asynccontextmanager
async def _watched(means: Means, mark: _Mark, mails: MailLog, progress: Progress) -> AsyncIterator[None]:
    """Meanwhile the figures follow what the programs say of themselves."""

    async def watch() -> None:
        while True:
            now = (await gauges.counts(means.http, means.programs)).since(mark.counts)
            mails.look()
            progress.accepted.set(now.accepted)
            progress.decided.set(now.decided)
            progress.inbox.set(now.inbox)
            progress.mails.set(mails.accepted)
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
    mails: MailLog,
    acknowledged: int,
    answers: Sequence[Answer],
    expected: Inputs,
) -> Measured:
    mails.look()
    kafka, users = means.settings.kafka, [user["user_id"] for user in people()]
    recount = await means.recount(mark.at_ms, round(time() * 1000) + 1)
    found = await sources.decided(means.records, users, run.is_mine)
    rows = await means.inboxes.rows_since(mark.headers, (run.at, datetime.now(UTC)))
    ours, others = sources.of_run(rows, (status.notification_id for status in found.statuses))
    headers = await means.inboxes.headers()
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
        mails=sources.mails_of(found, mails.all()),
        rows=Counter(ours),
        others_rows=others,
        unread=sum(header.unread - mark.headers[user].unread for user, header in headers.items()),
        timers=await sources.waiting_timers(kafka, run.is_mine),
        letters=await sources.letters_since(kafka, mark.letters, run.is_mine),
    )
