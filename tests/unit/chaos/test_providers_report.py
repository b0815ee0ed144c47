"""What `chaos providers` takes for a fault of the whole run, and whom a key in Redis says is calling."""

import io
import json
from collections import Counter
from typing import Any

import msgspec
import pytest
from rich.console import Console

from notify_streams.records.account import Account
from schemas.words import Channel
from tests.chaos.providers import Found, calling
from tests.chaos.providers_account import Books, Cause, Row
from tests.chaos.providers_plan import CARRIED, Plan
from tests.chaos.providers_report import faults, show


def an_account(*, sent: int = 2, pending: int = 0, unaccounted: int = 0) -> Account:
    terms: dict[Channel, Counter[str]] = {channel: Counter(sent=sent, pending=pending) for channel in CARRIED}
    return Account(
        since=0, until=1, published=4, accepted=4, notifications=4, channels=terms, unaccounted_count=unaccounted
    )


FOUND = Found(
    plan=Plan(events=2),
    accepted=4,
    books=Books(rows={channel: Row(deliveries=2, calls=2) for channel in CARRIED}),
    account=an_account(),
    kills=Counter({"sender-sms": 1}),
    ends=[],
    storms=Counter({"smtp 5xx": 1, "fcm 5xx": 1}),
    not_ready=[],
    unread=0,
    dead_letters=0,
    settled_s=1.0,
    pending=[],
)


def test_a_run_whose_sums_come_out_has_no_fault() -> None:
    assert faults(FOUND) == []


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"books": Books(faults=["email d: sent, and not in the log"])}, "email d: sent, and not in the log"),
        ({"pending": ["e-1 queued"]}, "not final: e-1 queued"),
        ({"not_ready": ["not ready after 120 s: sender-sms"]}, "not ready after 120 s: sender-sms"),
        ({"accepted": 3}, "3 events accepted, 4 by reconcile"),
        ({"account": an_account(unaccounted=1)}, "reconcile: published 4, 1 unaccounted for"),
        ({"account": an_account(sent=1)}, "sms: 2 accepted, and {'sent': 1, 'pending': 0}"),
        ({"account": an_account(sent=1, pending=1)}, "webhook: 2 accepted, and {'sent': 1, 'pending': 1}"),
        ({"unread": 1}, "1 ends of senders after which Redis did not say what was being called"),
    ],
)
def test_everything_else_is(changes: dict[str, Any], words: str) -> None:
    assert words in faults(msgspec.structs.replace(FOUND, **changes))


def test_the_last_line_is_for_programs(capsys: pytest.CaptureFixture[str]) -> None:
    row = Row(deliveries=2, calls=3, twice=1, seen_twice=1, causes=Counter({Cause.KILLED: 1}))
    text = io.StringIO()
    found = msgspec.structs.replace(FOUND, books=Books(rows={"email": row}))
    assert show(found, Console(file=text, width=120)) == 0
    summary = json.loads(capsys.readouterr().out)
    assert summary["channels"]["email"]["causes"] == {"killed": 1}
    assert (summary["kills"], summary["violations"], summary["ok"]) == (1, 0, True)
    assert "sender killed while calling" in text.getvalue()
    assert "2 spells of bad weather (2 5xx)" in text.getvalue()


def test_only_a_call_that_has_not_ended_counts_as_calling() -> None:
    keys = [
        (b"delivery:a", b"calling|me|2|1700|fcm"),
        (b"delivery:b", b"final|me|1|1700|{}"),
        (b"delivery:c", b"claimed|me|1|0|"),
        (b"delivery:d", None),
    ]
    assert calling(keys) == {("a", "me 2")}
