"""What `chaos timers` takes for a fault."""

from typing import Any

import msgspec
import pytest

from tests.chaos.timers import Found, Plan, scheduled
from tests.chaos.timers_report import faults

FOUND = Found(
    accepted=2,
    once=2,
    twice={},
    early={},
    strangers=[],
    missing=[],
    late=[0.1, 0.2],
    acts=[],
    ends=[],
    dead_letters=0,
)


def test_each_mail_once_and_none_early_is_no_fault() -> None:
    assert faults(FOUND) == []


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"missing": ["timers-1 high: queued"]}, "no mail: timers-1 high: queued"),
        ({"twice": {"d1": 2}}, "mail d1 was taken 2 times"),
        ({"early": {"d1": 0.004}}, "mail d1 was taken 0.004 s early"),
        ({"strangers": ["d9"]}, "mail d9 belongs to nothing accepted"),
        ({"dead_letters": 3}, "3 dead letters"),
        ({"accepted": 0}, "nothing was accepted"),
    ],
)
def test_everything_else_is(changes: dict[str, Any], words: str) -> None:
    assert faults(msgspec.structs.replace(FOUND, **changes)) == [words]


def test_half_of_the_mails_are_due_at_one_instant_and_all_within_the_span() -> None:
    due: dict[str, int] = {}
    plan = Plan(mails=100, span_s=10.0)
    events = list(scheduled(plan, ["ann", "bob"], 1_000_000, due))
    assert {event.delivery_id for event in events} == due.keys()
    assert sum(at == 1_005_000 for at in due.values()) >= 50
    assert all(1_000_000 <= at <= 1_010_000 for at in due.values())
    for event in events:
        assert msgspec.json.decode(event.value)["data"]["channels"] == ["email"]
