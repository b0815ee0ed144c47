"""A run of four notifications, as the files have it and as the sources tell it; all of it agrees by default."""

from collections import Counter
from datetime import UTC, datetime
from typing import Any

from notify_streams.domain.ids import delivery_id
from notify_streams.domain.status import NotificationStatus, fold
from notify_streams.local.demo.inputs import Inputs
from notify_streams.local.demo.measured import Letter, Measured, Timer
from notify_streams.local.demo.messages import Entry
from schemas.decisions import Defer, Deliver, Suppress
from schemas.facts import Fact
from schemas.words import Reason
from tests.facts import NOON, a_decision, a_notification, an_inbox_fact, an_outcome, to_mail

SENT, DEFERRED, FAILED, EXPIRED = (f"00000000-0000-5000-8000-00000000000{n}" for n in range(1, 5))
IN_ALL = (SENT, DEFERRED, FAILED, EXPIRED)
INBOX = Deliver(channel="inapp", endpoint_ids=("inbox",))
LETTERS = [
    Letter(stage="ingest", place="events.normal/0/7", error_class="invalid_json", reason="$: truncated"),
    Letter(
        stage="sender-email",
        place="deliveries.email.normal/0/3",
        error_class="attempts_exhausted",
        reason="451 later",
        notification_id=FAILED,
    ),
]


def an_entry(notification_id: str, *, event: str = "accepted", provider: str = "smtp") -> Entry:
    delivery = delivery_id(notification_id, "email", "home")
    at = datetime(2026, 11, 30, 10, 0, tzinfo=UTC)
    return Entry(n=1, at=at, event=event, to="ann@example.com", provider=provider, delivery_id=delivery)


def a_status(id_: str, *facts: Fact) -> NotificationStatus:
    status = fold(id_, facts)
    assert status is not None
    return status


def statuses() -> list[NotificationStatus]:
    later = (Defer(channel="inapp", until=NOON * 2, reason=Reason.SCHEDULED),)
    late = Suppress(channel="inapp", reason=Reason.EXPIRED), Suppress(channel="email", reason=Reason.EXPIRED)
    no_mail = Suppress(channel="email", reason=Reason.NO_ENDPOINT)
    exhausted = an_outcome("failed", notification_id=FAILED, reason=Reason.ATTEMPTS_EXHAUSTED, attempt=4)
    return [
        a_status(
            SENT, a_decision(notification_id=SENT), an_outcome(notification_id=SENT), an_inbox_fact(SENT, sequence=1)
        ),
        a_status(DEFERRED, a_decision(*later, no_mail, notification_id=DEFERRED)),
        a_status(
            FAILED,
            a_decision(INBOX, to_mail("home"), notification_id=FAILED),
            exhausted,
            an_inbox_fact(FAILED, sequence=2),
        ),
        a_status(EXPIRED, a_decision(*late, notification_id=EXPIRED)),
    ]


def some_inputs(**other: Any) -> Inputs:
    notifications = {id_: a_notification(id_, event_id=id_) for id_ in IN_ALL}
    given: dict[str, Any] = {
        "records": 6,
        "posts": 4,
        "tombstones": 1,
        "rejected": 2,
        "repeated": 3,
        "identities": frozenset(("/shop/orders", id_) for id_ in IN_ALL),
        "notifications": notifications,
    }
    return Inputs(**{**given, **other})


def all_measured(**other: Any) -> Measured:
    given: dict[str, Any] = {
        "acknowledged": 6,
        "answers": Counter({202: 3, 422: 1}),
        "replayed": 1,
        "on_topics": 8,
        "unaccounted": 0,
        "tombstones": 1,
        "dropped": 2,
        "identities": frozenset(("/shop/orders", id_) for id_ in IN_ALL),
        "statuses": statuses(),
        "mails": [delivery_id(SENT, "email", "home")],
        "rows": Counter([SENT, FAILED]),
        "others_rows": 0,
        "sequences": 2,
        "timers": [Timer(timer_id="decide/x", notification_id=DEFERRED, channels=("inapp",), due_at=NOON * 2)],
        "letters": LETTERS,
        "entries": [an_entry(SENT), an_entry(FAILED, event="refused")],
    }
    return Measured(**{**given, **other})
