"""Each delivery's calls by the simulator's log against what its facts say: once, or twice for a cause that is known."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from enum import StrEnum

import msgspec

from notify_streams.domain.attempts import DeliveryStatus, Flag
from notify_streams.local.demo.messages import Entry
from schemas.words import FINAL, Channel, Reason, State
from tests.chaos.providers_people import Wanted

REPEATABLE = frozenset({"apns", "fcm", "webpush", "webhook"})  # who tells a repeat by its identity
_NO_ANSWER = "no answer after the request was handed over"  # the detail where a provider takes repeats for one
_ARRIVED = frozenset({State.SENT, State.DELIVERED})


class Cause(StrEnum):
    """Why a message that had been at its provider went there once more; all are documented."""

    DROPPED = "answer cut off"
    RESET = "connection reset"
    HUNG = "no answer"
    LOST = "no answer over SMTP"  # cut off, reset or none at all: its log does not tell them apart
    KILLED = "sender killed while calling"
    LATE = "answer came too late"


_BY_ANSWER = {"drop": Cause.DROPPED, "reset": Cause.RESET, "hang": Cause.HUNG}


class Left(msgspec.Struct, frozen=True):
    """What a killed sender left *calling*: delivery and owner of the call."""

    role: str
    calling: frozenset[tuple[str, str]]


class Row(msgspec.Struct):
    """One channel. `calls` are the log's entries, `silent` those without an answer; `seen_twice` are deliveries whose
    repeat no provider or device can tell.
    """

    deliveries: int = 0
    calls: int = 0
    refused: int = 0
    silent: int = 0
    ends: Counter[str] = msgspec.field(default_factory=Counter)
    reasons: Counter[str] = msgspec.field(default_factory=Counter)
    twice: int = 0
    seen_twice: int = 0
    causes: Counter[Cause] = msgspec.field(default_factory=Counter)


class Books(msgspec.Struct):
    """The rows, and a sentence for everything that nothing documented explains."""

    rows: dict[Channel, Row] = msgspec.field(default_factory=dict)
    faults: list[str] = msgspec.field(default_factory=list)


def books(
    wanted: Iterable[Wanted], found: Mapping[str, DeliveryStatus], log: Iterable[Entry], left: Sequence[Left]
) -> Books:
    """`found` are the statuses by delivery id; the log is in its own order."""
    kept, met, killed = Books(), _by_delivery(log), _killed(left)
    for one in wanted:
        row = kept.rows.setdefault(one.channel, Row())
        status = found.get(one.delivery_id)
        row.deliveries += 1
        row.ends["nothing" if status is None else status.state.value] += 1
        if status is not None and status.state not in _ARRIVED:
            row.reasons[f"{status.state.value}: {status.reason.value if status.reason else 'no reason'}"] += 1
        entries = met.pop(one.delivery_id, [])
        row.calls += len(entries)
        row.refused += sum(entry.event == "refused" for entry in entries)
        row.silent += sum(entry.event == "dropped" for entry in entries)
        takes = [entry for entry in entries if entry.event != "refused"]
        kept.faults += _ended(one, status, takes)
        kept.faults += _repeats(row, one, takes, killed[one.channel, one.delivery_id], _in_doubt(status))
    kept.faults += [
        f"{entries[0].provider} met {id_ or 'one without id'}, which is nothing wanted: {entries[0].answer}"
        for id_, entries in met.items()
        if any(entry.event != "refused" for entry in entries)
    ]
    return kept


def _ended(one: Wanted, status: DeliveryStatus | None, takes: Sequence[Entry]) -> list[str]:
    """What is wrong with how it ended."""
    name, accepted = f"{one.channel} {one.delivery_id}", sum(entry.event == "accepted" for entry in takes)
    if status is None:
        return [f"{name}: nothing is recorded"]
    if status.state not in FINAL:
        return [f"{name}: still {status.state.value}"]
    if status.state in _ARRIVED:
        settled = any(attempt.reason is Reason.SETTLED for attempt in status.attempts) or status.receipts
        return [] if accepted or (settled and takes) else [f"{name}: {status.state.value}, and not in the log"]
    if status.reason is None:
        return [f"{name}: {status.state.value} without a reason"]
    if takes and Flag.PERHAPS_SENT not in status.flags:
        return [f"{name}: {status.state.value} ({status.reason.value}), and its provider has it"]
    return []


def _repeats(row: Row, one: Wanted, takes: Sequence[Entry], kills: int, in_doubt: int) -> list[str]:
    """Count them by cause; what is wrong with them. All but the last take need a cause."""
    if len(takes) < 2:
        return []
    row.twice += 1
    told = takes[0].provider in REPEATABLE
    row.seen_twice += not told
    silent, answered = [t for t in takes[:-1] if t.event == "dropped"], [t for t in takes[:-1] if t.event == "accepted"]
    causes = Counter(_BY_ANSWER.get(take.answer, Cause.LOST) for take in silent)
    causes[Cause.KILLED] = min(kills, len(answered))
    late = min(len(answered) - causes[Cause.KILLED], max(0, in_doubt - len(silent) - kills))
    causes[Cause.LATE] = late
    row.causes.update(+causes)
    wrong = []
    if unexplained := len(takes) - 1 - causes.total():
        wrong.append(
            f"{one.channel} {one.delivery_id}: at {takes[0].provider} {unexplained} times more for no known cause"
        )
    if told and len({take.identity for take in takes}) > 1:
        wrong.append(f"{one.channel} {one.delivery_id}: repeated at {takes[0].provider} under another identity")
    return wrong


def _in_doubt(status: DeliveryStatus | None) -> int:
    """Attempts of which the facts say that no answer came, or that nobody knows how they ended."""
    if status is None:
        return 0
    return sum(
        a.state == "unknown" or a.reason is Reason.UNKNOWN_OUTCOME or a.detail.startswith(_NO_ANSWER)
        for a in status.attempts
    )


def _killed(left: Iterable[Left]) -> Counter[tuple[str, str]]:
    """How many ends of its channel's sender left a delivery calling; one that is met again later is the same."""
    calls = {(one.role.removeprefix("sender-"), delivery, owner) for one in left for delivery, owner in one.calling}
    return Counter((channel, delivery) for channel, delivery, _ in calls)


def _by_delivery(log: Iterable[Entry]) -> dict[str, list[Entry]]:
    found: dict[str, list[Entry]] = defaultdict(list)
    for entry in log:
        found[entry.delivery].append(entry)
    return found
