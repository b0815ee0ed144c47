"""When a synthetic notification has arrived, and when it is given up."""

from typing import Any

import pytest

from notify_streams.cli.probing import Probe, Run, judged

ANY = Probe(type="security.alert", user="probe", payload=b"{}", within_s=10)
MAIL = Probe(type="security.alert", user="probe", payload=b"{}", channels=("email",), within_s=10)


def status(**channels: str) -> dict[str, Any]:
    """`state` or `state:reason` by channel."""
    rows = []
    for channel, words in channels.items():
        state, _, reason = words.partition(":")
        rows.append({"channel": channel, "state": state, **({"reason": reason} if reason else {})})
    return {"state": "accepted", "channels": rows}


def short(seen: Any) -> Any:
    return None if seen is None else [(one.channel, one.ok, one.state) for one in seen]


@pytest.mark.parametrize("nothing_yet", [None, {"state": "accepted"}, status(inapp="sent", email="pending")])
def test_while_something_may_still_come_nothing_is_said(nothing_yet: Any) -> None:
    assert judged(nothing_yet, ANY, 9.9) is None


def test_a_channel_without_an_endpoint_is_left_out_unless_it_was_named() -> None:
    found = status(inapp="sent", email="suppressed:no_endpoint", sms="suppressed:channel_not_offered")
    assert short(judged(found, ANY, 1)) == [("inapp", True, "sent")]
    assert short(judged(found, MAIL, 1)) == [("email", False, "suppressed")]


@pytest.mark.parametrize("state", ["failed", "expired", "suppressed:opted_out_of_channel", "collected", "deferred"])
def test_what_does_not_come_now_is_a_failure_at_once(state: str) -> None:
    assert short(judged(status(inapp="delivered", email=state), ANY, 0.3)) == [
        ("inapp", True, "delivered"),
        ("email", False, state.partition(":")[0]),
    ]


def test_at_the_end_of_the_time_what_is_still_on_its_way_has_failed() -> None:
    assert short(judged(status(inapp="sent", email="queued"), ANY, 10)) == [
        ("inapp", True, "sent"),
        ("email", False, "queued"),
    ]
    assert short(judged(None, MAIL, 10)) == [("email", False, "missing")]
    assert short(judged(None, ANY, 10)) == []


def test_a_run_without_any_channel_or_with_a_fault_is_none_that_went_well() -> None:
    seen = judged(status(inapp="sent"), ANY, 1)
    assert seen is not None
    assert Run(seen=seen).ok
    assert not Run().ok
    assert not Run(seen=seen, fault="GET: 500").ok
