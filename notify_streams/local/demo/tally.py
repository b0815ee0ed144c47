"""The sum of a run: every term as the files have it against the same term counted at its own source."""

from collections import Counter
from collections.abc import Sequence

import msgspec

from notify_streams.domain.status import NotificationStatus
from schemas.words import Channel

from .carriers import Carrier, carriers
from .inputs import Inputs
from .matches import Match, matches
from .measured import TERM_OF, TERMS, Measured


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


class Sheet(msgspec.Struct, frozen=True, kw_only=True):
    """All of it."""

    events: tuple[Term, ...]
    channels: tuple[ChannelSum, ...]
    matches: tuple[Match, ...]
    carriers: tuple[Carrier, ...] = ()

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
        return found + [f"{c.provider}: {words}" for c in self.carriers for words in c.differences]


def sheet(inputs: Inputs, measured: Measured) -> Sheet:
    """The account of one run. Pure."""
    return Sheet(
        events=_events(inputs, measured),
        channels=_channels(inputs, measured.statuses),
        matches=matches(inputs, measured),
        carriers=carriers(measured.statuses, measured.entries, measured.posted),
    )


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
            term = TERM_OF.get(channel.state, channel.state.value)
            terms.setdefault(channel.channel, Counter())[term] += 1
    accepted = inputs.per_channel()
    return tuple(ChannelSum(channel, accepted[channel], terms.get(channel, Counter())) for channel in accepted | terms)
