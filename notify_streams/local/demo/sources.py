"""The terms of the sum, each read where it is kept: facts, dead letters, timers."""

import struct
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from uuid import UUID

import msgspec

from notify_streams.domain import hooks
from notify_streams.domain.hooks import Hook
from notify_streams.domain.status import NotificationStatus, fold
from notify_streams.ports import Records
from notify_streams.settings import Kafka
from notify_streams.streaming import topics
from schemas import deadletters as names
from schemas.decisions import DecisionV1
from schemas.facts import Fact, InboxFact
from schemas.notifications import NotificationV1
from schemas.outcomes import InboxOutcomesV1, InboxWrite, OutcomeV1
from schemas.receipts import ReceiptV1
from schemas.timers import decode_entry
from schemas.words import Channel

from .inputs import Identity, identity
from .measured import Letter, Timer
from .messages import MAIL, Entry
from .offsets import Place, Raw, records_since

_DUE = struct.Struct(">BQ")
_LANE_RANKS = range(3)
_AT_ONCE = 500
IsMine = Callable[[str], bool]


class _Of(msgspec.Struct, frozen=True):
    """What a notification and a delivery have in common, as far as it is asked here. A digest's window has none."""

    notification_id: str = ""
    source: str = ""
    channel: Channel | None = None
    channels: tuple[Channel, ...] = ()


_of = msgspec.json.Decoder(_Of).decode


class Decided(msgspec.Struct):
    """Ours: what became of them, and the events they are of. Of others only which deliveries are theirs.

    `to_tell` are the ids of what the producer's webhook has to bring; of receipts of others there are the provider and
    its own time (ms).
    """

    statuses: list[NotificationStatus] = []
    identities: set[Identity] = set()
    deliveries_of_others: set[str] = set()
    receipts_of_others: list[tuple[str, int]] = []
    to_tell: set[str] = set()


async def decided(records: Records, users: Iterable[str], is_mine: IsMine, hook: Hook) -> Decided:
    """Every notification of these users that has a decision. Raises Unavailable."""
    ids = [id_ for user in users for id_ in await records.notifications_of(user)]
    found = Decided()
    for at in range(0, len(ids), _AT_ONCE):
        for id_, facts in (await records.facts_of(ids[at : at + _AT_ONCE])).items():
            notification = next((f.notification for f in facts if isinstance(f, DecisionV1)), None)
            status = fold(id_, facts)
            if status is None or notification is None:
                continue
            if is_mine(notification.source):
                found.statuses.append(status)
                found.identities.add(identity(notification))
                found.to_tell.update(_told_of(facts, notification, hook))
            else:
                others = [delivery for channel in status.channels for delivery in channel.deliveries]
                found.deliveries_of_others.update(delivery.delivery_id for delivery in others)
                found.receipts_of_others += [(r.provider, r.at) for delivery in others for r in delivery.receipts]
    return found


def _told_of(facts: Iterable[Fact], notification: NotificationV1, hook: Hook) -> Iterator[str]:
    """By the rules that the system has for it."""
    for fact in facts:
        match fact:
            case DecisionV1():
                changes = hooks.of_decision(fact)
            case OutcomeV1():
                changes = hooks.of_outcome(fact)
            case ReceiptV1():
                changes = hooks.of_receipt(fact, notification.source)
            case InboxFact():
                write = InboxWrite(
                    fact.notification_id, fact.delivery_id, fact.sequence, notification.user_id, notification.source
                )
                changes = hooks.of_inbox(InboxOutcomesV1(at=fact.at, written=(write,)))
        yield from (delivery.delivery_id for delivery in hooks.deliveries(changes, (hook,), 0))


async def letters_since(kafka: Kafka, start: Place, is_mine: IsMine) -> list[Letter]:
    """Dead letters of ingest, and those that tell of our notifications."""
    letters = [_letter(record, kafka.prefix) for record in await records_since(kafka, topics.DEAD_LETTERS, start)]
    return [letter for letter, source in letters if letter.stage == "ingest" or is_mine(source)]


async def waiting_timers(kafka: Kafka, is_mine: IsMine) -> list[Timer]:
    """From the changelog of the scheduler's table: what it would find again after a crash."""
    last: dict[bytes, bytes | None] = {}
    for record in await records_since(kafka, topics.TIMERS_LOG, {}):
        last[record.key or b""] = record.value
    return timers_of(last, is_mine)


def timers_of(entries: Mapping[bytes, bytes | None], is_mine: IsMine) -> list[Timer]:
    """Those of our notifications, from the newest value of each key of the table."""
    found = [(key, value) for key, value in entries.items() if value is not None and key[:1] and key[0] in _LANE_RANKS]
    timers = [(_timer(key, value), _of(decode_entry(value).payload).source) for key, value in found]
    return [timer for timer, source in timers if is_mine(source)]


def _timer(key: bytes, value: bytes) -> Timer:
    entry = decode_entry(value)
    what = _of(entry.payload)
    return Timer(
        timer_id=entry.timer_id,
        notification_id=what.notification_id,
        channels=what.channels or ((what.channel,) if what.channel else ()),
        due_at=_DUE.unpack_from(key)[1],
    )


def _letter(record: Raw, prefix: str) -> tuple[Letter, str]:
    headers = {name: value.decode(errors="replace") for name, value in record.headers}
    told = _told(record.value)
    place = "/".join(
        headers.get(name, "") for name in (names.ORIGINAL_TOPIC, names.ORIGINAL_PARTITION, names.ORIGINAL_OFFSET)
    )
    letter = Letter(
        stage=headers.get(names.STAGE, ""),
        place=place.removeprefix(prefix),
        error_class=headers.get(names.ERROR_CLASS, ""),
        reason=headers.get(names.ERROR, ""),
        notification_id=None if told is None else told.notification_id,
    )
    return letter, "" if told is None else told.source


def _told(value: bytes | None) -> _Of | None:
    try:
        told = _of(value or b"")
        UUID(told.notification_id)
    except (msgspec.MsgspecError, ValueError):
        return None
    return told


def ours(found: Decided, entries: Iterable[Entry]) -> list[Entry]:
    """Without what producers were told, and without what is of earlier runs, whose timers came due meanwhile."""
    return [e for e in entries if not e.of_producer and e.delivery not in found.deliveries_of_others]


def mails_of(entries: Iterable[Entry]) -> list[str]:
    """Delivery ids of accepted mails."""
    return [entry.delivery for entry in entries if entry.event == "accepted" and entry.provider in MAIL]


def told(entries: Iterable[Entry], hook: Hook) -> frozenset[str]:
    """Ids of what this producer's webhook took."""
    return frozenset(e.delivery_id for e in entries if e.event == "accepted" and e.of_producer and e.to in hook.url)


def posted(found: Decided, taken: Counter[str], since: int) -> Counter[str]:
    """Of the receipts that were taken since then (ms) those that are not of earlier runs."""
    return taken - Counter(provider for provider, at in found.receipts_of_others if at >= since)


def heard(found: Decided) -> int:
    """Receipts among the facts of ours."""
    deliveries = {d.digest_id or d.delivery_id: d for s in found.statuses for c in s.channels for d in c.deliveries}
    return sum(len(delivery.receipts) for delivery in deliveries.values())


def of_run(rows: Sequence[tuple[str, str]], known: Iterable[str]) -> tuple[list[str], int]:
    """Notifications of inbox rows that are of this run, and how many rows are of others."""
    mine = {*known}
    ours = [notification for _, notification in rows if notification in mine]
    return ours, len(rows) - len(ours)
