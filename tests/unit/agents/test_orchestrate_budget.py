"""What is aggregated, delayed, or more than the attention budget allows."""

import pytest

from agents.orchestrate import Orchestrator
from schemas.decisions import Collect, Defer, Deliver, Suppress
from schemas.deliveries import decode_delivery
from schemas.profiles import ProfileV1, QuietHours
from schemas.words import Reason
from tests.builders import DAY, HOUR, MINUTE, NOW, a_notification
from tests.fakes import Clock, Recording, Table
from tests.one_orchestrator import (
    a_like,
    an_orchestrator,
    decisions,
    end,
    mails,
    set_profile,
    take,
    timer_in,
    timers_in,
)


@pytest.fixture
def role(state_table: Table, profile_table: Table, clock: Clock) -> Orchestrator:
    return an_orchestrator(state_table, profile_table, clock)


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
