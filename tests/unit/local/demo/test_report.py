"""What a run ends with, as it is read."""

from datetime import UTC, datetime, timedelta
from typing import Any

from rich.console import Console, RenderableType

from notify_streams.domain.ids import delivery_id
from notify_streams.local.demo import report
from notify_streams.local.demo.lines import Run
from notify_streams.local.demo.play import Played
from notify_streams.local.demo.tally import sheet
from tests.demo_runs import DEFERRED, FAILED, SENT, a_status, all_measured, some_inputs
from tests.facts import NOON, a_decision, an_outcome

BEGAN = datetime(2026, 11, 30, 10, 0, tzinfo=UTC)


def a_run(*, missing: str = "", **measured: Any) -> Played:
    found = all_measured(**measured)
    return Played(
        run=Run.starting(BEGAN),
        sheet=sheet(some_inputs(), found),
        measured=found,
        entries=(),
        first_mail_at=BEGAN + timedelta(seconds=19.44),
        seconds=12.0,
        missing=missing,
    )


def printed(what: RenderableType) -> str:
    console = Console(width=120, color_system=None)
    with console.capture() as capture:
        console.print(what)
    return capture.get()


def the_verdict(played: Played) -> str:
    return printed(report.verdict(played, BEGAN.timestamp()))


def test_the_verdict_is_one_sentence_with_the_time_of_the_first_mail() -> None:
    assert the_verdict(a_run()) == (
        "Everything adds up. First mail after 19.4 s; the hour was final 12.0 s after it began (run 20261130-100000).\n"
    )


def test_the_verdict_names_every_line_that_differs() -> None:
    said = the_verdict(a_run(mails=[]))
    assert said.startswith("It does not add up.")
    assert "\n  mails: 1 sent by their facts, 0 accepted in the simulator's log, 0 the same deliveries\n" in said


def test_what_did_not_end_in_time_does_not_add_up() -> None:
    assert "\n  not final in time: 1 email queued\n" in the_verdict(a_run(missing="1 email queued"))


def test_the_account_marks_the_line_that_differs() -> None:
    assert "differs" not in printed(report.account(a_run()))
    differing = [line for line in printed(report.account(a_run(dropped=1))).splitlines() if "differs" in line]
    assert [line.split("  ")[0] for line in differing] == ["published", "+ duplicates"]


def test_what_is_pending_or_dead_is_listed_by_id_with_its_reason() -> None:
    said = printed(report.leftovers(a_run().measured))
    assert f"{DEFERRED}  order.confirmed, inapp  until" in said
    assert "because the event asks to be sent later" in said
    assert "events.normal/0/7  $: truncated" in said
    assert f"sender-email: 451 later (1)\n{FAILED}" in said


def test_a_mail_that_was_taken_twice_is_listed_with_the_reason() -> None:
    unknown = an_outcome("unknown", notification_id=SENT, attempt=1, at=NOON + 500, next_at=NOON + 900)
    status = a_status(SENT, a_decision(notification_id=SENT), unknown, an_outcome(notification_id=SENT, attempt=2))
    delivery = delivery_id(SENT, "email", "home")
    said = printed(report.leftovers(all_measured(statuses=[status], mails=[delivery] * 2)))
    assert "Mails that were taken twice: 1" in said
    assert f"nobody knows whether the provider took it, so it was tried again (1)\n{delivery}" in said
