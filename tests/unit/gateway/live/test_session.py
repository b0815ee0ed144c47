"""One client's place in a stream: order, gaps, repeats, resumption, heartbeats, limits."""

import pytest

from notify_streams.gateway.live.session import Acts, Ask, Close, Code, Command, Pace, Session
from schemas.frames import Pong, Read, Seen
from tests.unit.gateway.live.streams import a_change, a_reading, words

PACE = Pace()


def a_session(after: int | None = None, **fields: int) -> Session:
    return Session(after, now=0, pace=PACE, **fields)


def opened(sequence: int = 5, after: int | None = None) -> Session:
    session = a_session(after)
    session.read(a_reading(sequence), 0)
    return session


def hear(session: Session, *sequences: int, now: int = 0) -> list[tuple[str, int | None]]:
    return [word for sequence in sequences for word in words(session.heard(a_change(sequence), now))]


def changes(*sequences: int) -> list[tuple[str, int | None]]:
    return [("changed", sequence) for sequence in sequences]


def code_of(acts: Acts) -> Code | None:
    return next((act.code for act in acts if isinstance(act, Close)), None)


def test_from_now_it_begins_where_the_inbox_stands() -> None:
    session = a_session()
    assert words(session.read(a_reading(5, 4, 5), 0)) == [("hello", 5)]
    assert hear(session, 6) == changes(6)


def test_it_catches_up_before_it_goes_on() -> None:
    """INB-07: the live stream never runs ahead of the catch-up."""
    session = a_session(after=2)
    assert hear(session, 6, 7) == []
    assert words(session.read(a_reading(6, 3, 4, 5, 6), 0)) == [("hello", 2), *changes(3, 4, 5, 6, 7)]


def test_repeats_are_not_told_again() -> None:
    session = opened()
    assert hear(session, 6, 5, 6, 7, 3) == changes(6, 7)


def test_what_comes_out_of_order_waits_for_what_belongs_before_it() -> None:
    session = opened()
    assert hear(session, 8, 7) == []
    assert hear(session, 6) == changes(6, 7, 8)
    assert session.wakes_at == PACE.ping_ms


def test_what_does_not_come_is_looked_up() -> None:
    session = opened()
    hear(session, 7, now=1000)
    assert session.wakes_at == 1000 + PACE.gap_ms
    assert session.tick(1000 + PACE.gap_ms) == (Ask(5),)
    assert words(session.read(a_reading(7, 6, 7), 1400)) == changes(6, 7)


def test_what_the_tail_does_not_tell_either_is_left_out_and_said() -> None:
    session = opened()
    hear(session, 8)
    assert words(session.read(a_reading(8, 7, 8), 500)) == []
    assert session.tick(500 + PACE.gap_ms) == (Ask(5),)
    assert words(session.read(a_reading(8, 7, 8), 900)) == [("reset", 8)]
    assert hear(session, 9) == changes(9)


def test_what_may_still_be_written_is_waited_for_once() -> None:
    session = a_session(after=5)
    assert words(session.read(a_reading(7, 6), 0)) == [("hello", 5), *changes(6)]
    assert session.tick(PACE.gap_ms) == (Ask(6),)
    assert words(session.read(a_reading(7), PACE.gap_ms)) == [("reset", 7)]


def test_a_last_message_that_was_lost_is_found_by_the_next_check() -> None:
    session = opened()
    session.received(Pong(), 0)
    session.tick(PACE.check_ms - 1)
    session.received(Pong(), PACE.check_ms - 1)
    assert Ask(5) in session.tick(PACE.check_ms)
    assert words(session.read(a_reading(6, 6), PACE.check_ms)) == changes(6)


def test_a_sequence_from_the_future_or_of_an_earlier_life_is_reset() -> None:
    assert words(a_session(after=99).read(a_reading(5, 4, 5), 0)) == [("hello", 5), ("reset", 5)]


def test_an_inbox_that_begins_anew_during_a_connection_is_reset_once_that_is_sure() -> None:
    session = opened(50)
    session.interrupted()
    assert words(session.read(a_reading(1, 1), 0)) == []
    assert session.tick(PACE.gap_ms) == (Ask(50),)
    assert words(session.read(a_reading(1, 1), PACE.gap_ms)) == [("reset", 1)]
    assert hear(session, 2) == changes(2)


def test_a_reading_that_is_older_than_what_was_told_meanwhile_changes_nothing() -> None:
    session = opened()
    assert session.interrupted() == (Ask(5),)
    assert hear(session, 6, 7) == changes(6, 7)
    assert session.read(a_reading(6, 6), 10) == ()


def test_when_nobody_can_look_it_is_tried_again() -> None:
    session = a_session(after=5)
    assert session.unread(0) == ()
    assert session.tick(session.wakes_at) == (Ask(5),)
    assert words(session.read(a_reading(5), 3000)) == [("hello", 5)]


def test_more_than_can_be_held_is_looked_up_too() -> None:
    session = a_session(after=0)
    assert hear(session, *range(2, 400)) == []
    told = words(session.read(a_reading(399, *range(1, 400)), 0))
    assert told == [("hello", 0), *changes(*range(1, 400))]
    assert session.tick(0) == (Ask(399),)


def test_who_does_not_answer_a_ping_is_let_go() -> None:
    session = opened()
    assert words(session.tick(PACE.ping_ms)) == [("ping", None)]
    assert session.wakes_at == PACE.ping_ms + PACE.pong_ms
    assert code_of(session.tick(session.wakes_at)) == Code.NO_PONG


def test_who_answers_stays() -> None:
    session, now = opened(), 0
    for _ in range(10):
        now += PACE.ping_ms
        assert ("ping", None) in words(session.tick(now))
        assert session.received(Pong(), now + 1) == ()
    assert session.wakes_at == now + PACE.ping_ms


def test_a_token_that_expires_ends_the_connection() -> None:
    session = a_session(expires_at=7_000)
    session.read(a_reading(1), 0)
    assert session.wakes_at == 7_000
    assert code_of(session.tick(6_999)) is None
    assert code_of(session.tick(7_000)) == Code.EXPIRED


def test_what_the_user_did_becomes_a_command() -> None:
    session = opened(5)
    assert session.received(Read(item_ids=("a", "b")), 0) == (Command("read", ("a", "b")),)
    hear(session, 6)
    assert session.received(Seen(), 0) == (Command("seen", up_to=6),)


@pytest.mark.parametrize("after", [None, 0])
def test_an_empty_inbox_has_nothing_to_be_seen(after: int | None) -> None:
    session = a_session(after)
    session.read(a_reading(0), 0)
    assert session.received(Seen(), 0) == ()


def test_ten_thousand_commands_a_second_are_too_many_and_fifty_are_not() -> None:
    session = opened()
    assert all(code_of(session.received(Seen(), now)) is None for now in range(0, 10_000, 20))
    flood = [code_of(session.received(Seen(), 20_000 + n // 10)) for n in range(10_000)]
    assert flood.index(Code.TOO_MUCH) <= PACE.rate + 1


def test_a_gateway_that_stops_says_when_to_come_back() -> None:
    acts = opened().leaving(1_234)
    assert (words(acts), code_of(acts)) == ([("bye", None)], Code.GOING_AWAY)
