"""The order in which the providers of a channel are asked."""

from notify_streams.domain.routing import Blocked, By, Nobody, is_left, route

CHAIN = ("ses", "sendgrid", "smtp")


def test_the_first_is_asked_while_it_takes_calls() -> None:
    assert route(CHAIN, avoid=(), closed_to=()) == By("ses")


def test_who_failed_it_or_takes_no_calls_is_passed_over_with_the_reason() -> None:
    expected = By("smtp", (("ses", "open"), ("sendgrid", "failed")))
    assert route(CHAIN, avoid=("sendgrid",), closed_to=("ses",)) == expected


def test_who_failed_it_is_asked_again_when_nobody_else_is_left() -> None:
    assert route(CHAIN, avoid=CHAIN, closed_to=("ses",)) == By("sendgrid", (("ses", "open"),))


def test_a_chain_of_closed_ones_blocks_and_an_empty_one_carries_nothing() -> None:
    assert route(CHAIN, avoid=(), closed_to=CHAIN) == Blocked()
    assert route((), avoid=(), closed_to=()) == Nobody()


def test_another_is_left_only_if_it_was_not_tried_and_takes_calls() -> None:
    assert is_left(CHAIN, avoid=("ses",), closed_to=("smtp",))
    assert not is_left(CHAIN, avoid=("ses", "sendgrid"), closed_to=("smtp",))
