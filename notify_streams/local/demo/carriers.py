"""Provider by provider: the calls that our facts tell of, against what the provider says it met."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence

import msgspec

from notify_streams.domain.attempts import INBOX_PROVIDER, Attempt, DeliveryStatus
from notify_streams.domain.status import NotificationStatus
from schemas.words import Channel, Reason

from .messages import Entry

_NO_CALL = frozenset({Reason.HELD, Reason.LIMITED, Reason.SETTLED})
_ENDS = ("delivered", "sent", "failed")


class Carrier(msgspec.Struct, frozen=True, kw_only=True):
    """One provider. `calls` by how they ended, `met` by how the provider answered, `ends` of deliveries it had last.

    `missing` are deliveries that it took by our facts alone. `posted` are the receipts that were taken of it, `heard`
    those that are among our facts.
    """

    channel: Channel
    provider: str
    calls: Counter[str]
    met: Counter[str]
    ends: Counter[str]
    missing: int
    posted: int
    heard: int

    @property
    def differences(self) -> list[str]:
        """A sentence for each that does not agree. Of an unknown call only the provider knows whether it took it."""
        calls, met, taken = self.calls.total(), self.met.total(), self.met["accepted"]
        found = [] if calls == met else [f"{calls:,} calls by the facts, {met:,} in its log"]
        if not self.calls["sent"] <= taken <= self.calls["sent"] + self.calls["unknown"]:
            found.append(f"{self.calls['sent']:,} sent by the facts, {taken:,} taken by its log")
        if self.missing:
            found.append(f"{self.missing:,} sent that are not in its log")
        if self.posted != self.heard:
            found.append(f"{self.posted:,} receipts posted, {self.heard:,} among the facts")
        return found


def carriers(
    statuses: Sequence[NotificationStatus], entries: Iterable[Entry], posted: Mapping[str, int]
) -> tuple[Carrier, ...]:
    """Each provider that was called or was met, by channel."""
    met: dict[str, Counter[str]] = {}
    taken: set[tuple[str, str]] = set()
    for entry in entries:
        met.setdefault(entry.provider, Counter())[entry.event] += 1
        if entry.event == "accepted":
            taken.add((entry.provider, entry.delivery))
    calls = {(d.digest_id or d.delivery_id, a.provider, a.attempt): (d, a) for d, a in _calls(statuses)}
    deliveries = {d.digest_id or d.delivery_id: d for s in statuses for c in s.channels for d in c.deliveries}
    known = {provider: d.channel for (_, provider, _), (d, _) in calls.items()}
    return tuple(
        Carrier(
            channel=known.get(name, "webhook"),
            provider=name,
            calls=Counter(a.state for _, provider, a in _of(calls, name)),
            met=met.get(name, Counter()),
            ends=Counter(_end(d) for d in deliveries.values() if _last(d) == name),
            missing=len({id_ for id_, _, a in _of(calls, name) if a.state == "sent" and (name, id_) not in taken}),
            posted=posted.get(name, 0),
            heard=sum(r.provider == name for d in deliveries.values() for r in d.receipts),
        )
        for name in sorted({*known, *met}, key=lambda name: (known.get(name, "webhook"), name))
    )


_Calls = Mapping[tuple[str, str, int], tuple[DeliveryStatus, Attempt]]


def _of(calls: _Calls, name: str) -> Iterator[tuple[str, str, Attempt]]:
    return ((id_, provider, attempt) for (id_, provider, _), (_, attempt) in calls.items() if provider == name)


def _calls(statuses: Iterable[NotificationStatus]) -> Iterator[tuple[DeliveryStatus, Attempt]]:
    for status in statuses:
        for channel in status.channels:
            for delivery in channel.deliveries:
                for attempt in delivery.attempts:
                    if is_call(attempt):
                        yield delivery, attempt


def is_call(attempt: Attempt) -> bool:
    """Whether a provider was asked: not where it waits, or where a receipt told how a call had ended."""
    return bool(attempt.attempt and attempt.provider not in ("", INBOX_PROVIDER) and attempt.reason not in _NO_CALL)


def _last(delivery: DeliveryStatus) -> str:
    return next((attempt.provider for attempt in reversed(delivery.attempts) if is_call(attempt)), "")


def _end(delivery: DeliveryStatus) -> str:
    return delivery.state.value if delivery.state.value in _ENDS else "other"
