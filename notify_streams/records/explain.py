"""The story of a notification: its facts in words, as a person would tell it, beside the data they come from."""

from collections.abc import Iterable, Iterator, Sequence

import msgspec

from notify_streams.domain.attempts import INBOX_PROVIDER, Attempt, DeliveryStatus, Flag
from notify_streams.domain.digests import DIGEST_ENDPOINT
from notify_streams.domain.status import ChannelStatus, NotificationStatus, fold
from schemas.decisions import DecisionV1
from schemas.facts import Fact
from schemas.words import IN_WORDS, Channel, Reason, State

from . import receipts, verdicts
from .verdicts import NAMES, clock, listed, why

_FLAGS: dict[Flag, str] = {
    Flag.PARTIALLY_SENT: "It is partially sent: not every endpoint got it.",
    Flag.SENT_TWICE: "A provider took it twice.",
    Flag.PERHAPS_SENT: "One of its attempts may have arrived: nobody heard the answer.",
    Flag.REFUSED_TRANSITION: "Some of what was reported contradicts how it ended; it is listed and changes nothing.",
    Flag.COMPLAINED: "Its recipient reported it as unwanted.",
    Flag.TOO_LATE_TO_STOP: "It was stopped, but too late: it had been sent.",
    Flag.EVENT_TIME_OFF: "Its producer's time is more than a day from when it was accepted; nothing was decided by it.",
    Flag.UNDECIDED: "The decision itself is not recorded (yet).",
}


class Line(msgspec.Struct, frozen=True):
    """Something that happened at `at` (ms)."""

    at: int
    text: str


class Story(msgspec.Struct, frozen=True, kw_only=True):
    """`headline` and `ending` are sentences; `not_sent` says per channel why it got nothing; the rest is data."""

    headline: str
    lines: tuple[Line, ...]
    ending: tuple[str, ...]
    not_sent: dict[Channel, str]
    status: NotificationStatus
    decisions: tuple[DecisionV1, ...]


def explain(notification_id: str, facts: Iterable[Fact]) -> Story | None:
    """The whole story; None when nothing is known of the notification."""
    known = list(facts)
    status = fold(notification_id, known)
    if status is None:
        return None
    decisions = sorted((f for f in known if isinstance(f, DecisionV1)), key=lambda d: (d.notification.revision, d.now))
    lines = [*_begun(status, decisions), *_decided(decisions), *_happened(status)]
    return Story(
        headline=_headline(status, decisions),
        lines=tuple(sorted(lines, key=lambda line: line.at)),
        ending=tuple(_ending(status)),
        not_sent={c.channel: why(c.reason) for c in status.channels if c.state in _NOT_SENT},
        status=status,
        decisions=tuple(decisions),
    )


_NOT_SENT = frozenset({State.SUPPRESSED, State.FAILED, State.EXPIRED, State.CANCELLED})


def _headline(status: NotificationStatus, decisions: Sequence[DecisionV1]) -> str:
    if decisions and decisions[0].notification.members:
        return verdicts.headline(decisions[0].notification)
    what = status.type or "A notification"
    source = f" from {status.source} (event {status.event_id})" if status.source else ""
    return f"{what} for {status.user_id or 'somebody'}{source}"


def _begun(status: NotificationStatus, decisions: Sequence[DecisionV1]) -> Iterator[Line]:
    until = f", to be sent before {clock(status.expires_at)}" if status.expires_at else ""
    if decisions and decisions[0].notification.members:
        yield Line(status.accepted_at, f"made up{until}; {verdicts.members(decisions[0].notification)}")
    elif status.accepted_at:
        yield Line(status.accepted_at, f"accepted on the {status.lane} lane{until}")


def _decided(decisions: Sequence[DecisionV1]) -> Iterator[Line]:
    for decision in decisions:
        yield Line(decision.now, f"{verdicts.occasion(decision)}: {verdicts.said(decision)}")


def _happened(status: NotificationStatus) -> Iterator[Line]:
    for channel in status.channels:
        for delivery in channel.deliveries:
            for attempt in delivery.attempts:
                yield Line(attempt.at, _attempt(channel.channel, delivery, attempt))
            for receipt in delivery.receipts:
                where = _where(channel.channel, delivery)
                yield Line(receipt.at, f"{where}: {receipts.in_words(receipt)}")


def _attempt(channel: Channel, delivery: DeliveryStatus, attempt: Attempt) -> str:
    if attempt.provider == INBOX_PROVIDER:
        return f"written to the inbox as number {attempt.sequence}"
    where = _where(channel, delivery)
    through = f" through {attempt.provider}" if attempt.provider and attempt.attempt else ""
    if attempt.reason is Reason.HELD:
        which = f"{where}, before attempt {attempt.attempt + 1}"
    elif attempt.attempt:
        which = f"{where}, attempt {attempt.attempt}{through}"
    else:
        which = f"{where}, without an attempt"
    then = f"; next attempt {clock(attempt.next_at)}" if attempt.next_at else ""
    return f"{which}: {_result(attempt)}{then}"


def _where(channel: Channel, delivery: DeliveryStatus) -> str:
    if not delivery.endpoint_id:
        return NAMES[channel]
    if delivery.endpoint_id == DIGEST_ENDPOINT:
        return f"{NAMES[channel]}, in the digest {delivery.digest_id}"
    digest = f", in the digest {delivery.digest_id}" if delivery.digest_id else ""
    return f"{NAMES[channel]} to {delivery.endpoint_id}{digest}"


def _result(attempt: Attempt) -> str:
    said = f" ({attempt.detail})" if attempt.detail else ""
    match attempt.state:
        case "sent":
            known_as = f", known there as {attempt.provider_message_id}" if attempt.provider_message_id else ""
            return f"sent{known_as}{said}"
        case "retrying":
            return f"not now, {why(attempt.reason)}{said}"
        case "unknown":
            return f"handed over, but {IN_WORDS[Reason.UNKNOWN_OUTCOME]}{said}"
        case _:
            return f"{attempt.state}, because {why(attempt.reason)}{said}"


def _ending(status: NotificationStatus) -> Iterator[str]:
    for channel in status.channels:
        yield _outcome(channel)
    for flag in status.flags:
        if flag in _FLAGS:
            yield _FLAGS[flag]


def _outcome(channel: ChannelStatus) -> str:
    name = NAMES[channel.channel].capitalize()
    match channel.state:
        case State.SENT | State.DELIVERED:
            digests = sorted({d.digest_id for d in channel.deliveries if d.digest_id})
            read = min((d.read_at for d in channel.deliveries if d.read_at), default=None)
            opened = f", and read {clock(read)}" if read else ""
            return f"{name}: {channel.state}{f' in the digest {listed(digests)}' if digests else ''}{opened}."
        case State.QUEUED:
            return f"{name}: queued; nothing has been heard of it yet."
        case State.PENDING | State.DEFERRED:
            until = f" until {clock(channel.due_at)}" if channel.due_at else ""
            return f"{name}: waits{until}, because {why(channel.reason)}."
        case State.COLLECTED:
            return f"{name}: waits for {verdicts.window(channel.window or '')}, because {why(channel.reason)}."
        case State.CANCELLED if channel.reason is Reason.CANCELLED:
            return f"{name}: cancelled before it was sent."
        case _:
            return f"{name}: {channel.state}, because {why(channel.reason)}."
