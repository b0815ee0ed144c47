"""The comparison of `scripts/chaos preferences` finds what it is there to find."""

from typing import Any

import msgspec

from schemas.decisions import DecisionV1, Deliver, ProfileSlice, Suppress
from schemas.words import Reason
from tests.chaos.agreement import Chosen, Round, Switch, agreement
from tests.facts import a_decision

OFF = Suppress(channel="email", reason=Reason.OPTED_OUT_OF_CHANNEL)
ON = Deliver(channel="email", endpoint_ids=("mailbox",))


def decided(version: int, verdict: Deliver | Suppress) -> DecisionV1:
    return msgspec.structs.replace(a_decision(verdict), profile=ProfileSlice(version=version))


def compared(*decisions: DecisionV1, floor: int = 2, certain: bool = True) -> tuple[dict[str, int], list[str]]:
    """Version 2 said on, 3 said off; 4 was never answered."""
    round_ = Round(notification_id="n", floor=floor, certain=certain)
    user = Chosen("ann", Switch("email"), {2: True, 3: False}, [round_])
    found = agreement([user], {"n": decisions})
    return {name: count for name, count in found.counts.items() if count}, found.faults


def test_the_setting_in_force_is_right() -> None:
    assert compared(decided(2, ON)) == ({"by the setting in force": 1}, [])
    assert compared(decided(3, OFF), floor=3) == ({"by the setting in force": 1}, [])


def test_an_older_version_than_the_answered_is_a_fault_whatever_it_says() -> None:
    for verdict in (ON, OFF):
        _, faults = compared(decided(2, verdict), floor=3, certain=False)
        assert len(faults) == 1
        assert "decided under version 2, 3 had been answered before" in faults[0]


def test_a_verdict_against_its_version_is_a_fault() -> None:
    assert len(compared(decided(2, OFF))[1]) == 1
    assert len(compared(decided(3, ON), floor=3)[1]) == 1


def test_a_later_change_may_govern_only_what_was_not_decided_before_it() -> None:
    assert compared(decided(3, OFF), certain=False) == ({"by a later change": 1}, [])
    assert len(compared(decided(3, OFF), certain=True)[1]) == 1


def test_a_change_that_was_not_confirmed_may_say_either() -> None:
    for verdict in (ON, OFF):
        counts, faults = compared(decided(4, verdict), certain=False)
        assert (counts, faults) == ({"by a change that was not confirmed": 1}, [])


def test_every_repeat_is_judged_and_only_the_first_is_bound_to_its_time() -> None:
    counts, faults = compared(decided(2, ON), decided(3, OFF))
    assert (counts, faults) == ({"by the setting in force": 1, "decided again": 1}, [])
    assert len(compared(decided(2, ON), decided(3, ON))[1]) == 1
    assert len(compared(decided(3, OFF), decided(2, ON), floor=3)[1]) == 1


def test_an_accepted_event_without_a_decision_is_a_fault() -> None:
    assert "never decided" in compared()[1][0]


def test_only_an_opt_out_counts_as_off() -> None:
    late = Suppress(channel="email", reason=Reason.EXPIRED)
    assert compared(decided(2, late)) == ({"by the setting in force": 1}, [])
    assert len(compared(decided(3, late), floor=3)[1]) == 1


def test_a_switch_reads_back_what_it_wrote() -> None:
    body: dict[str, Any] = {"channels": {"email": False}, "categories": {"orders": {"email": True}}}
    assert Switch("email").shown(body) is False
    assert Switch("email", "orders").shown(body) is True
    assert Switch("email", "orders").patch(False) == {"categories": {"orders": {"email": False}}}
