"""The sum of a run: every term as the files have it against the same term counted at its own source."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

import msgspec

from notify_streams.domain.status import NotificationStatus
from schemas.words import Channel, Reason, State

from .inputs import Identity, Inputs

TERMS = ("sent", "failed", "expired", "suppressed", "cancelled", "collected", "pending")
_TERM_OF: Mapping[State, str] = {
    State.SENT: "sent",
    State.DELIVERED: "sent",
    State.FAILED: "failed",
    State.EXPIRED: "expired",
    State.SUPPRESSED: "suppressed",
    State.CANCELLED: "cancelled",
    State.COLLECTED: "collected",
    State.DEFERRED: "pending",
    State.PENDING: "pending",
}
_BURIED = frozenset({Reason.ATTEMPTS_EXHAUSTED, Reason.TEMPLATE_FAILED})


class Timer(msgspec.Struct, frozen=True, kw_only=True):
    """One that waits in the scheduler's table, for one or more channels of a notification. `due_at` in ms."""

    timer_id: str
    notification_id: str
    channels: tuple[Channel, ...]
    due_at: int


class Letter(msgspec.Struct, frozen=True, kw_only=True):
    """A dead letter: `place` is where the record came from."""

    stage: str
    place: str
    error_class: str
    reason: str
    notification_id: str | None = None


class Measured(msgspec.Struct, frozen=True, kw_only=True):
    """What the sources say of one run. `rows`: how many inbox rows a notification has; `mails`: delivery ids."""

    acknowledged: int
    answers: Counter[int]
    replayed: int
    on_topics: int
    unaccounted: int
    tombstones: int
    dropped: int
    identities: frozenset[Identity]
    statuses: Sequence[NotificationStatus]
    mails: Sequence[str]
    rows: Counter[str]
    others_rows: int
    unread: int
    timers: Sequence[Timer]
    letters: Sequence[Letter]

    @property
    def refused(self) -> int:
        """Answers 4xx."""
        return sum(n for status, n in self.answers.items() if 400 <= status < 500)


class Term(msgspec.Struct, frozen=True):
    """A term of the sum of events: what the files say, what was found, and where."""

    name: str
    said: int
    found: int
    source: str

    @property
    def ok(self) -> bool:
        """Both are the same."""
        return self.said == self.found


class ChannelSum(msgspec.Struct, frozen=True):
    """`accepted` by the files, the terms by folding the facts; `other` has no place in the sum."""

    channel: Channel
    accepted: int
    terms: Counter[str]

    @property
    def ok(self) -> bool:
        """Accepted is the sum of the terms, and there are no others."""
        return self.accepted == sum(self.terms[term] for term in TERMS) and not set(self.terms) - {*TERMS}


class Match(msgspec.Struct, frozen=True):
    """One quantity as several sources give it."""

    name: str
    counts: tuple[tuple[str, int], ...]

    @property
    def ok(self) -> bool:
        """All agree."""
        return len({count for _, count in self.counts}) == 1


class Sheet(msgspec.Struct, frozen=True, kw_only=True):
    """All of it."""

    events: tuple[Term, ...]
    channels: tuple[ChannelSum, ...]
    matches: tuple[Match, ...]

    @property
    def differences(self) -> list[str]:
        """A sentence for each line that does not add up; empty when all is well."""
        published, *terms = self.events
        total = sum(term.found for term in terms)
        found = [f"{t.name}: the files say {t.said:,}, found {t.found:,} ({t.source})" for t in self.events if not t.ok]
        if published.found != total:
            found.append(f"published {published.found:,}, but the terms add up to {total:,}")
        for s in self.channels:
            if not s.ok:
                parts = ", ".join(f"{s.terms[term]:,} {term}" for term in sorted(s.terms))
                found.append(f"{s.channel}: {s.accepted:,} accepted, but {parts}")
        found += [f"{m.name}: {', '.join(f'{n:,} {who}' for who, n in m.counts)}" for m in self.matches if not m.ok]
        return found


def sheet(inputs: Inputs, measured: Measured) -> Sheet:
    """The account of one run. Pure."""
    return Sheet(
        events=_events(inputs, measured),
        channels=_channels(inputs, measured.statuses),
        matches=tuple(_matches(inputs, measured)),
    )


def unknown_once(statuses: Iterable[NotificationStatus]) -> set[str]:
    """Deliveries that were tried again because nobody knew how an attempt had ended: those may be taken twice."""
    return {
        delivery.delivery_id
        for status in statuses
        for channel in status.channels
        for delivery in channel.deliveries
        if any(attempt.state == "unknown" for attempt in delivery.attempts)
    }


def _events(inputs: Inputs, measured: Measured) -> tuple[Term, ...]:
    answers = sum(measured.answers.values())
    buried = sum(letter.stage == "ingest" for letter in measured.letters)
    return (
        Term(
            "published",
            inputs.published,
            measured.acknowledged + answers,
            f"{measured.acknowledged:,} acknowledged by the broker, {answers:,} answers of the gateway",
        ),
        Term("accepted", len(inputs.identities), len(measured.identities), "events with a decision in Cassandra"),
        Term(
            "rejected",
            inputs.rejected,
            buried + measured.refused,
            f"{buried:,} dead letters of ingest, {measured.refused:,} answers 4xx",
        ),
        Term("tombstones", inputs.tombstones, measured.tombstones, "counted by ingest"),
        Term(
            "duplicates",
            inputs.repeated,
            measured.dropped + measured.replayed,
            f"{measured.dropped:,} dropped by the orchestrator, {measured.replayed:,} answers replayed",
        ),
    )


def _channels(inputs: Inputs, statuses: Sequence[NotificationStatus]) -> tuple[ChannelSum, ...]:
    terms: dict[Channel, Counter[str]] = {}
    for status in statuses:
        for channel in status.channels:
            term = _TERM_OF.get(channel.state, channel.state.value)
            terms.setdefault(channel.channel, Counter())[term] += 1
    accepted = inputs.per_channel()
    return tuple(ChannelSum(channel, accepted[channel], terms.get(channel, Counter())) for channel in accepted | terms)


def _matches(inputs: Inputs, measured: Measured) -> Iterable[Match]:
    taken = measured.answers[202] - measured.replayed
    yield Match(
        "events on the topics",
        (("acknowledged or answered 202", measured.acknowledged + taken), ("read back", measured.on_topics)),
    )
    known = frozenset(status.notification_id for status in measured.statuses)
    yield Match(
        "notifications",
        (
            ("from the files", len(inputs.notifications)),
            ("decided", len(known)),
            ("the same", len(known & inputs.notifications.keys())),
            ("accounted for", len(known) - measured.unaccounted),
        ),
    )
    yield _mails(measured)
    written = sum(measured.rows.values())
    yield Match(
        "inbox items",
        (
            ("sent by their facts", _count(measured.statuses, "inapp", "sent")),
            ("rows in Cassandra", written),
            ("notifications with a row", len(measured.rows)),
            ("more unread in the headers", measured.unread - measured.others_rows),
        ),
    )
    waiting = {(timer.notification_id, channel) for timer in measured.timers for channel in timer.channels}
    yield Match(
        "pending",
        (
            ("by their facts", len(_pending(measured.statuses))),
            ("with a timer", len(waiting)),
            _both(waiting, measured),
        ),
    )
    yield Match(
        "failed after the last attempt",
        (
            ("by their facts", _exhausted(measured.statuses)),
            ("dead letters after ingest", sum(letter.stage != "ingest" for letter in measured.letters)),
        ),
    )


def _mails(measured: Measured) -> Match:
    """Each delivery once. One whose outcome was unknown may be in the log twice: that is what unknown means."""
    sent = {
        delivery.delivery_id
        for status in measured.statuses
        for channel in status.channels
        if channel.channel == "email"
        for delivery in channel.deliveries
        if delivery.state in (State.SENT, State.DELIVERED)
    }
    excused = unknown_once(measured.statuses)
    taken = Counter(measured.mails)
    again = sum(n - 1 for delivery, n in taken.items() if delivery in excused)
    return Match(
        "mails",
        (
            ("sent by their facts", len(sent)),
            ("accepted in the simulator's log", len(measured.mails) - again),
            ("the same deliveries", len(sent & taken.keys())),
        ),
    )


def _pending(statuses: Iterable[NotificationStatus]) -> set[tuple[str, Channel]]:
    return {
        (status.notification_id, channel.channel)
        for status in statuses
        for channel in status.channels
        if _TERM_OF.get(channel.state) == "pending"
    }


def _both(waiting: set[tuple[str, Channel]], measured: Measured) -> tuple[str, int]:
    return "the same", len(waiting & _pending(measured.statuses))


def _count(statuses: Iterable[NotificationStatus], channel: Channel, term: str) -> int:
    return sum(c.channel == channel and _TERM_OF.get(c.state) == term for s in statuses for c in s.channels)


def _exhausted(statuses: Iterable[NotificationStatus]) -> int:
    return sum(c.state is State.FAILED and c.reason in _BURIED for s in statuses for c in s.channels)
