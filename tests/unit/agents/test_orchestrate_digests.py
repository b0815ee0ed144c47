"""Items in, windows ended, digests out; and what a repeat in the middle of it leaves."""

from typing import Any

import msgspec
import pytest

from agents.orchestrate import Orchestrator
from notify_streams.domain.dedup import print_of
from notify_streams.domain.send_back import send_back
from notify_streams.domain.windows import key_of, timer_of
from notify_streams.streaming.deadletters import DeadLetters
from schemas.catalogue import Budget, Windows
from schemas.codec import encode
from schemas.content import Actor, Content
from schemas.decisions import Collect, DecisionV1, Defer, Deliver, Suppress, decode_decision
from schemas.deliveries import DeliveryV1, decode_delivery
from schemas.notifications import FlushV1, NotificationV1, decode_notification, decode_notification_or_flush
from schemas.outcomes import OutcomeV1, decode_outcome
from schemas.profiles import ProfileV1, QuietHours
from schemas.timers import PutTimerV1, decode_operation
from schemas.user_state import Stopped
from schemas.words import Reason
from tables.profiles import Profiles
from tables.user_state import UserStates
from tests.builders import DAY, HOUR, MINUTE, NOW, a_catalogue, a_notification, a_profile, a_type, an_endpoint, an_id
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


@pytest.fixture
def role(state_table: Table, profile_table: Table, clock: Clock) -> Orchestrator:
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


def test_three_events_within_a_second_are_one_mail_in_their_order(role: Orchestrator, clock: Clock) -> None:
    """DIG-01."""
    likes = [a_like(f"u{number}", accepted_at=NOW + number) for number in range(3)]
    first, *others = [take(role, like) for like in (likes[1], likes[0], likes[2])]
    assert all(out.of("deliveries.inapp.normal") and not mails(out) for out in (first, *others))
    assert all(not out.of("timers") for out in others)

    outgoing = end(role, timer_in(first), clock)
    [mail] = mails(outgoing)
    assert mail.members == tuple(like.notification_id for like in likes)
    assert mail.content is not None
    assert mail.content.group is not None
    assert mail.content.group.count == 3
    assert mail.content.address == "ann@example.com"
    [decided] = decisions(outgoing)
    assert decided.notification.notification_id == mail.notification_id
    assert decided.notification.source == "/digest"


def test_a_verdict_says_which_digest_it_waits_for_and_until_when(role: Orchestrator) -> None:
    [decided] = decisions(take(role, a_like()))
    assert decided.verdicts[1] == Collect(
        channel="email", window="digest/social", until=NOW - NOW % HOUR + HOUR, reason=Reason.DIGEST
    )


def test_a_second_end_of_the_same_window_sends_the_same_bytes_until_its_items_are_gone(
    role: Orchestrator, clock: Clock
) -> None:
    timer = timer_in(take(role, a_like()))
    first = end(role, timer, clock)
    second = end(role, timer, clock, timer.due_at + 5_000)
    assert [r for r in first.records if r.topic != "state-log"] == [r for r in second.records if r.topic != "state-log"]

    ended = role.take(arrived(bytes(timer.payload)), Recording())
    assert ended is not None
    partition, user, key, number = ended
    role.states.empty(partition, user, key, number, Recording())
    assert mails(end(role, timer, clock)) == []


def test_an_ended_window_is_forgotten_a_day_later_with_all_that_is_left_in_it(role: Orchestrator, clock: Clock) -> None:
    outgoing = end(role, timer_in(take(role, a_like())), clock)
    over = timers_in(outgoing)["over"]
    assert over.due_at == clock.now + DAY
    end(role, over, clock)
    assert role.states.windows(0, b"ann") == []
    assert role.states.items(0, b"\x00\x03annw", b"\x00\x03annx", 9) == []


def test_a_window_that_is_open_is_not_forgotten(role: Orchestrator, clock: Clock) -> None:
    timer = timer_in(take(role, a_like()))
    early = msgspec.structs.replace(decode_flush(timer), over=True)
    role.take(arrived(encode(early)), Recording())
    assert len(mails(end(role, timer, clock))) == 1


def test_an_item_met_again_is_not_in_two_digests(role: Orchestrator, clock: Clock) -> None:
    """DIG-07 under a crash: the event is repeated before and after its window was ended."""
    like = a_like()
    timer = timer_in(take(role, like))
    assert timer_in(take(role, like)) == timer
    [mail] = mails(end(role, timer, clock))
    assert mail.members == (like.notification_id,)
    again = take(role, like)
    assert again.of("timers") == []
    assert [type(v) for v in decisions(again)[0].verdicts] == [Deliver, Collect]
    next_ = timer_in(take(role, a_like()))
    [mail] = mails(end(role, next_, clock))
    assert like.notification_id not in mail.members


def test_what_waits_already_is_not_sent_at_once_when_it_is_met_again_under_another_profile(
    role: Orchestrator, clock: Clock
) -> None:
    like = a_like()
    timer = timer_in(take(role, like))
    set_profile(role)
    again = take(role, like)
    assert mails(again) == []
    assert [v.channel for v in decisions(again)[0].verdicts] == ["inapp"]
    assert len(mails(end(role, timer, clock))) == 1


def test_preferences_expiry_and_stops_are_asked_again_of_each_item(role: Orchestrator, clock: Clock) -> None:
    stays, late, cancelled = a_like("a"), a_like("b", expires_at=NOW + MINUTE), a_like("c")
    timer = timer_in(take(role, stays))
    for like in (late, cancelled):
        take(role, like)
    state = role.states.load(0, b"ann")
    stopped = {print_of(cancelled.notification_id): Stopped(NOW + DAY, Reason.READ, ("email",))}
    role.states.store(0, b"ann", msgspec.structs.replace(state, stopped=stopped), Recording())

    outgoing = end(role, timer, clock)
    [mail] = mails(outgoing)
    assert mail.members == (stays.notification_id,)
    assert mail.content is not None
    assert mail.content.group is not None
    assert mail.content.group.count == 1
    left_out = {d.notification.notification_id: d for d in decisions(outgoing) if not d.notification.members}
    assert left_out[late.notification_id].verdicts == (Suppress(channel="email", reason=Reason.EXPIRED),)
    assert left_out[cancelled.notification_id].verdicts == (Suppress(channel="email", reason=Reason.READ),)
    assert {d.notification.revision for d in left_out.values()} == {1}


def test_nothing_left_to_say_is_no_mail(role: Orchestrator, clock: Clock) -> None:
    """DIG-05."""
    timer = timer_in(take(role, a_like()))
    set_profile(role, categories={"social": {"email": False}})
    outgoing = end(role, timer, clock)
    assert mails(outgoing) == []
    [left_out] = decisions(outgoing)
    assert left_out.verdicts == (Suppress(channel="email", reason=Reason.OPTED_OUT_OF_CATEGORY),)


def test_an_item_of_a_type_that_is_gone_does_not_hold_up_the_others(role: Orchestrator, clock: Clock) -> None:
    """DIG-10: it goes back to where it is buried; the digest goes out."""
    timer = timer_in(take(role, a_like()))
    [window] = role.states.windows(0, b"ann")
    gone = a_like(type="gone", channels=("email",))
    key, id_ = key_of("email", window.key), b"0123456789abcdef"
    role.states.collect(0, b"ann", key, window.number, id_, encode(gone), Recording())
    outgoing = end(role, timer, clock)
    assert len(mails(outgoing)) == 1
    [value] = outgoing.of("notifications.normal")
    assert decode_notification(value).origin.startswith("timer/flush/email/digest/social")


def test_a_digest_waits_out_quiet_hours_and_asks_its_items_only_then(role: Orchestrator, clock: Clock) -> None:
    """What expires meanwhile is not told of."""
    stays, expires = a_like(), a_like(expires_at=NOW + 2 * HOUR)
    timer = timer_in(take(role, stays))
    take(role, expires)
    set_profile(role, **HOURLY, quiet_hours=(QuietHours(start="00:00", end="23:00"),))
    put_off = end(role, timer, clock)
    assert put_off.of("decisions") == []
    [mail] = mails(end(role, timer_in(put_off), clock))
    assert mail.members == (stays.notification_id,)


def test_a_digest_that_is_not_sent_after_all_says_so_of_each_member(role: Orchestrator, clock: Clock) -> None:
    """Opted out while it was on its way: its sender gives it back."""
    like = a_like()
    [mail] = mails(end(role, timer_in(take(role, like)), clock))
    set_profile(role, channels={"email": False})
    outgoing = take(role, send_back(mail))
    [outcome] = map(decode_outcome, outgoing.of("outcomes"))
    assert isinstance(outcome, OutcomeV1)
    assert (outcome.state, outcome.reason) == ("suppressed", Reason.OPTED_OUT_OF_CHANNEL)
    assert outcome.members == (like.notification_id,)


def test_of_many_windows_each_has_a_key_of_its_own(role: Orchestrator) -> None:
    """Thousands of aggregation keys must not make the user's state too large to write."""
    set_profile(role)
    for number in range(300):
        outgoing = take(role, a_like(aggregation_key=f"post:{number}"))
    assert len(role.states.windows(0, b"ann")) == 300
    assert max(len(value) for value in outgoing.of("state-log")) < 16_000


def test_an_item_of_a_window_that_was_full_puts_that_ones_timer_again(role: Orchestrator, clock: Clock) -> None:
    """Its timer may have got lost in the crash that makes the items come again, though the next window is open."""
    likes = [a_like() for _ in range(5)]
    for like in likes:
        clock.now += 1
        take(role, like)
    windows = role.states.windows(0, b"ann")
    assert [window.count for window in windows] == [4, 1]
    again = [decode_operation(value) for value in take(role, likes[0]).of("timers")]
    assert [timer for timer in again if isinstance(timer, PutTimerV1)] == [timer_of(window) for window in windows]


def test_under_another_catalogue_a_repeat_that_is_now_collected_is_kept(role: Orchestrator, clock: Clock) -> None:
    """It was decided to be sent at once, and perhaps never was."""
    like = a_like()
    plain = msgspec.structs.replace(CATALOGUE, types={**CATALOGUE.types, "social.like": a_type(category="social")})
    role.rules = msgspec.structs.replace(role.rules, catalogue=plain)
    assert len(mails(take(role, like))) == 1
    role.rules = msgspec.structs.replace(role.rules, catalogue=CATALOGUE)
    [mail] = mails(end(role, timer_in(take(role, like)), clock))
    assert mail.members == (like.notification_id,)


def test_what_a_sender_gives_back_goes_to_no_digest(role: Orchestrator) -> None:
    """It was paid for, and its other mailboxes have it already."""
    set_profile(role)
    [mail] = mails(take(role, a_like()))
    set_profile(role, **HOURLY)
    [again] = mails(take(role, send_back(mail)))
    assert again.delivery_id == mail.delivery_id


def test_a_mail_whose_mailbox_was_replaced_goes_to_the_new_one(role: Orchestrator) -> None:
    set_profile(role)
    [mail] = mails(take(role, a_like()))
    moved = a_profile(an_endpoint(endpoint_id="work"), version=9)
    role.profiles.store(0, b"ann", moved, Recording())
    [again] = mails(take(role, send_back(mail)))
    assert (again.endpoint_id, again.attempt) == ("work", 1)


def test_likes_of_one_post_go_as_one_with_distinct_actors(role: Orchestrator, clock: Clock) -> None:
    set_profile(role)
    likes = [a_like(f"u{n % 3}", accepted_at=NOW + n, aggregation_key="post:9") for n in range(4)]
    first = take(role, likes[0])
    [decided] = decisions(first)
    assert decided.verdicts[1] == Collect(
        channel="email", window="group/social.like/post:9", until=NOW + 5 * MINUTE, reason=Reason.AGGREGATED
    )
    for like in likes[1:3]:
        clock.now += MINUTE
        take(role, like)
    put_off = end(role, timer_in(first), clock)
    assert mails(put_off) == []
    [mail] = mails(end(role, timer_in(put_off), clock))
    assert mail.content is not None
    assert mail.content.group is not None
    assert [a.id for a in mail.content.group.actors] == ["u2", "u1", "u0"]
    assert mail.content.group.lines == ()


def test_what_the_budget_refuses_goes_to_a_digest_or_nowhere(role: Orchestrator, clock: Clock) -> None:
    """Charged once per notification with a noisy channel; an hour later there is room again."""
    set_profile(role)
    for _ in range(3):
        assert len(mails(take(role, a_like(type="order.shipped")))) == 1
    [over] = decisions(take(role, a_like(type="order.shipped")))
    assert over.verdicts[1] == Suppress(channel="email", reason=Reason.BUDGET_SPENT)
    assert isinstance(over.verdicts[0], Deliver)
    [over] = decisions(take(role, a_like()))
    assert isinstance(over.verdicts[1], Collect)
    assert over.verdicts[1].reason is Reason.BUDGET_SPENT
    clock.now += HOUR
    assert len(mails(take(role, a_like(type="order.shipped", expires_at=NOW + DAY)))) == 1


def test_an_aggregation_costs_the_budget_once_and_what_it_refuses_goes_to_the_digest(
    role: Orchestrator, clock: Clock
) -> None:
    """Forty aggregation keys were forty mails at a limit of ten."""
    set_profile(role)
    likes = [a_like(aggregation_key=f"post:{n // 2}") for n in range(12)]
    put = [timers_in(take(role, like)).get("flush") for like in likes]
    ended = [end(role, timer, clock) for timer in put if timer is not None]
    assert sum(len(mails(outgoing)) for outgoing in ended) == 3
    refused = [d for outgoing in ended for d in decisions(outgoing) if not d.notification.members]
    assert {v.reason for d in refused for v in d.verdicts if isinstance(v, Collect)} == {Reason.BUDGET_SPENT}
    assert len(refused) == 6
    digest = next(timers_in(outgoing)["flush"] for outgoing in ended if "flush" in timers_in(outgoing))
    [mail] = mails(end(role, digest, clock))
    assert set(mail.members) == {d.notification.notification_id for d in refused}


def test_nobody_writes_into_the_aggregations_of_another_source(role: Orchestrator, clock: Clock) -> None:
    set_profile(role)
    honest, evil = a_like(aggregation_key="post:1"), a_like(aggregation_key="post:1", source="/evil")
    timers = [timer_in(take(role, like)) for like in (honest, evil)]
    sent = [mail for timer in timers for mail in mails(end(role, timer, clock))]
    assert [mail.members for mail in sent] == [(honest.notification_id,), (evil.notification_id,)]
    assert sent[0].delivery_id != sent[1].delivery_id


def test_a_record_of_another_user_than_its_key_is_refused(role: Orchestrator) -> None:
    with pytest.raises(ValueError, match="user_id"):
        take(role, a_notification(user_id="bob"))


def test_a_zone_that_is_no_more_gives_way_to_the_tenants(role: Orchestrator) -> None:
    set_profile(role, zone="Mars/Olympus", quiet_hours=(QuietHours(start="00:00", end="23:00"),))
    [decided] = decisions(take(role, a_like()))
    assert isinstance(decided.verdicts[1], Defer)


def test_a_thousand_at_once_on_all_lanes_never_exceed_the_budget(role: Orchestrator) -> None:
    """They come within one millisecond; each is met twice, as after a crash."""
    set_profile(role)
    lanes = ("high", "normal", "low")
    shipped = [a_like(type="order.shipped", lane=lanes[n % 3]) for n in range(1_000)]
    sent: set[str] = set()
    for _ in range(2):
        for notification in shipped:
            outgoing = take(role, notification)
            sent |= {
                decode_delivery(value).notification_id
                for lane in lanes
                for value in outgoing.of(f"deliveries.email.{lane}")
            }
    assert sent == {notification.notification_id for notification in shipped[:3]}


def test_an_unknown_profile_gets_no_digest(role: Orchestrator) -> None:
    role.profiles.store(0, b"ann", ProfileV1(), Recording())
    assert take(role, a_like()).of("timers") == []


def test_what_is_delayed_joins_the_digest_only_when_its_delay_is_over(role: Orchestrator, clock: Clock) -> None:
    """DIG-03: two are delayed to one instant and then gathered; a third is delayed for longer."""
    set_profile(role)
    delayed = [a_like(f"u{n}", send_at=NOW + HOUR + n * HOUR // 2 * (n == 2), aggregation_key="p") for n in range(3)]
    waits = [timer_in(take(role, like)) for like in delayed]
    assert [t.due_at for t in waits] == [NOW + HOUR, NOW + HOUR, NOW + 2 * HOUR]
    released = [end(role, timer, clock) for timer in waits[:2]]
    assert [type(v) for out in released for d in decisions(out) for v in d.verdicts] == [Deliver, Collect] * 2
    clock.now += 5 * MINUTE
    [mail] = mails(end(role, timer_in(released[0]), clock, clock.now))
    assert set(mail.members) == {like.notification_id for like in delayed[:2]}
