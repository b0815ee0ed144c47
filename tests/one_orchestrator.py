"""An orchestrator over real tables, fed record by record: items in, windows ended, what comes out read."""

from typing import Any

import msgspec

from agents.orchestrate import Orchestrator
from notify_streams.streaming.deadletters import DeadLetters
from schemas.catalogue import Budget, Windows
from schemas.codec import encode
from schemas.content import Actor, Content
from schemas.decisions import DecisionV1, decode_decision
from schemas.deliveries import DeliveryV1, decode_delivery
from schemas.notifications import FlushV1, NotificationV1, decode_notification_or_flush
from schemas.timers import PutTimerV1, decode_operation
from tables.profiles import Profiles
from tables.user_state import UserStates
from tests.builders import DAY, HOUR, MINUTE, NOW, a_catalogue, a_notification, a_profile, a_type, an_id
from tests.fakes import Clock, Recording, Table, an_app, arrived

CATALOGUE = msgspec.structs.replace(
    a_catalogue(
        channels=("inapp", "email"),
        social_like=a_type(category="social", digestible=True, aggregate=True),
        order_shipped=a_type(),
    ),
    budget=Budget(hour=3),
    windows=Windows(wait_ms=5 * MINUTE, max_wait_ms=HOUR, max_size=4, shown=2),
)
HOURLY: dict[str, Any] = {"digest": {"email": {"social": "hourly"}}}


def an_orchestrator(state_table: Table, profile_table: Table, clock: Clock) -> Orchestrator:
    """Whose Ann wants what is social as an hourly digest by mail."""
    states, profiles = UserStates(state_table, "notify."), Profiles(profile_table, "notify.")
    made = Orchestrator(an_app(), states, profiles, CATALOGUE, DeadLetters("o", 20), tzdata="2026.6", clock=clock)
    profiles.store(0, b"ann", a_profile(**HOURLY), Recording())
    return made


def a_like(by: str = "bob", **changes: Any) -> NotificationV1:
    plain = a_notification(
        notification_id=an_id(),
        type="social.like",
        expires_at=NOW + DAY,
        origin=f"events/0/{an_id()}",
        content=Content(payload=msgspec.Raw(b"{}"), actor=Actor(by, by.title())),
    )
    return msgspec.structs.replace(plain, **changes)


def take(role: Orchestrator, notification: NotificationV1) -> Recording:
    outgoing = Recording()
    assert role.take(arrived(encode(notification)), outgoing) is None
    return outgoing


def timers_in(outgoing: Recording) -> dict[str, PutTimerV1]:
    """By what they are for: decide, flush, over."""
    put = [operation for operation in map(decode_operation, outgoing.of("timers")) if isinstance(operation, PutTimerV1)]
    return {operation.timer_id.partition("/")[0]: operation for operation in put}


def timer_in(outgoing: Recording) -> PutTimerV1:
    """The one that brings back what waits."""
    put = timers_in(outgoing)
    put.pop("over", None)
    [operation] = put.values()
    return operation


def decode_flush(timer: PutTimerV1) -> FlushV1:
    flush = decode_notification_or_flush(timer.payload)
    assert isinstance(flush, FlushV1)
    return flush


def end(role: Orchestrator, timer: PutTimerV1, clock: Clock, now: int | None = None) -> Recording:
    """Its timer brings the flush back."""
    clock.now = timer.due_at if now is None else now
    outgoing = Recording()
    role.take(arrived(bytes(timer.payload)), outgoing)
    return outgoing


def mails(outgoing: Recording) -> list[DeliveryV1]:
    return [decode_delivery(value) for value in outgoing.of("deliveries.email.normal")]


def decisions(outgoing: Recording) -> list[DecisionV1]:
    read = [decode_decision(value) for value in outgoing.of("decisions")]
    return [decision for decision in read if isinstance(decision, DecisionV1)]


def set_profile(role: Orchestrator, **changes: Any) -> None:
    role.profiles.store(0, b"ann", a_profile(version=8, **changes), Recording())
