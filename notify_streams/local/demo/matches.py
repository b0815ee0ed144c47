"""Quantities that several sources give: they have to be the same."""

from collections import Counter
from collections.abc import Iterable

import msgspec

from notify_streams.domain.status import ChannelStatus, NotificationStatus
from schemas.words import Channel, Reason, State

from .carriers import is_call
from .inputs import Inputs
from .measured import TERM_OF, Measured

_BURIED = frozenset({Reason.ATTEMPTS_EXHAUSTED, Reason.TEMPLATE_FAILED})


class Match(msgspec.Struct, frozen=True):
    """One quantity as several sources give it."""

    name: str
    counts: tuple[tuple[str, int], ...]

    @property
    def ok(self) -> bool:
        """All agree."""
        return len({count for _, count in self.counts}) == 1


def matches(inputs: Inputs, measured: Measured) -> tuple[Match, ...]:
    """All of them."""
    return (
        _events(measured),
        _notifications(inputs, measured),
        _mails(measured),
        _told(measured),
        _stood_in(measured),
        _items(measured),
        _waiting(measured),
        _buried(measured),
    )


def excused(measured: Measured) -> dict[str, int]:
    """Deliveries that the provider took more often than once, because nobody knew how an earlier call had ended."""
    unknown = {
        delivery.delivery_id
        for status in measured.statuses
        for channel in status.channels
        for delivery in channel.deliveries
        if any(attempt.state == "unknown" for attempt in delivery.attempts)
    }
    return {delivery: n for delivery, n in Counter(measured.mails).items() if n > 1 and delivery in unknown}


def _events(measured: Measured) -> Match:
    taken = measured.answers[202] - measured.replayed
    return Match(
        "events on the topics",
        (("acknowledged or answered 202", measured.acknowledged + taken), ("read back", measured.on_topics)),
    )


def _notifications(inputs: Inputs, measured: Measured) -> Match:
    known = frozenset(status.notification_id for status in measured.statuses)
    return Match(
        "notifications",
        (
            ("from the files", len(inputs.notifications)),
            ("decided", len(known)),
            ("the same", len(known & inputs.notifications.keys())),
            ("accounted for", len(known) - measured.unaccounted),
        ),
    )


def _items(measured: Measured) -> Match:
    written = sum(measured.rows.values())
    return Match(
        "inbox items",
        (
            ("sent by their facts", _count(measured.statuses, "inapp", "sent")),
            ("rows in Cassandra", written),
            ("notifications with a row", len(measured.rows)),
            ("sequences of their own", measured.sequences - measured.others_rows),
        ),
    )


def _waiting(measured: Measured) -> Match:
    waiting = {(timer.notification_id, channel) for timer in measured.timers for channel in timer.channels}
    waiting -= _settled(measured.statuses)
    return Match(
        "pending",
        (
            ("by their facts", len(_pending(measured.statuses))),
            ("with a timer", len(waiting)),
            _both(waiting, measured),
        ),
    )


def _buried(measured: Measured) -> Match:
    return Match(
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
        if any(attempt.state == "sent" and is_call(attempt) for attempt in delivery.attempts)
    }
    again = sum(n - 1 for n in excused(measured).values())
    return Match(
        "mails",
        (
            ("sent by their facts", len(sent)),
            ("accepted in the simulator's log", len(measured.mails) - again),
            ("the same deliveries", len(sent & {*measured.mails})),
        ),
    )


def _told(measured: Measured) -> Match:
    """What a producer hears of its own notifications, each state once."""
    return Match(
        "webhooks to the shop",
        (
            ("by the facts of its notifications", len(measured.to_tell)),
            ("taken with its signature", len(measured.told)),
            ("the same", len(measured.to_tell & measured.told)),
        ),
    )


def _stood_in(measured: Measured) -> Match:
    """A text that its provider refuses for good leaves by the next channel of its type."""
    refused = [s for s in measured.statuses if any(c.channel == "sms" and _is_refused(c) for c in s.channels)]
    others = [s for s in refused if any(c.channel != "sms" and c.deliveries for c in s.channels)]
    return Match(
        "texts that could not be sent",
        (("refused for good", len(refused)), ("sent by the next channel", len(others))),
    )


def _is_refused(channel: ChannelStatus) -> bool:
    return channel.state is State.FAILED and channel.reason in (Reason.ENDPOINT_GONE, Reason.REFUSED)


def _pending(statuses: Iterable[NotificationStatus]) -> set[tuple[str, Channel]]:
    return {
        (status.notification_id, channel.channel)
        for status in statuses
        for channel in status.channels
        if TERM_OF.get(channel.state) == "pending"
    }


def _settled(statuses: Iterable[NotificationStatus]) -> set[tuple[str, Channel]]:
    """What a receipt has settled, while the timer that would have asked about it still runs."""
    return {
        (status.notification_id, channel.channel)
        for status in statuses
        for channel in status.channels
        if TERM_OF.get(channel.state) != "pending"
        and any(attempt.state == "unknown" for delivery in channel.deliveries for attempt in delivery.attempts)
    }


def _both(waiting: set[tuple[str, Channel]], measured: Measured) -> tuple[str, int]:
    return "the same", len(waiting & _pending(measured.statuses))


def _count(statuses: Iterable[NotificationStatus], channel: Channel, term: str) -> int:
    return sum(c.channel == channel and TERM_OF.get(c.state) == term for s in statuses for c in s.channels)


def _exhausted(statuses: Iterable[NotificationStatus]) -> int:
    return sum(c.state is State.FAILED and c.reason in _BURIED for s in statuses for c in s.channels)
