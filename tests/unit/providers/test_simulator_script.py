"""What the simulator answers, by script and by convention."""

import msgspec
import pytest

from notify_streams.providers.simulator.script import Reply, Rule, Script, Weather

BUSY = Reply("rcpt", 451, "4.7.1 busy")
SPAM = Reply("data", 554, "5.7.1 spam")


def codes(script: Script, recipient: str, mails: int) -> list[int]:
    found = []
    for _ in range(mails):
        refused = script.at_rcpt(recipient)
        reply = refused or script.at_end(recipient) or Reply("data")
        found.append(reply.code if reply.stage != "drop" else 0)
    return found


def test_answers_are_used_up_in_order_and_then_mails_are_taken() -> None:
    script = Script()
    script.put(Rule("Ann@example.com", (BUSY, SPAM, Reply("drop"))))
    assert codes(script, "ann@example.com", 5) == [451, 554, 0, 250, 250]
    assert codes(script, "ben@example.com", 1) == [250]


def test_each_recipient_of_a_pattern_gets_all_answers() -> None:
    script = Script()
    script.put(Rule("*@example.com", (BUSY,)))
    assert codes(script, "ann@example.com", 2) == [451, 250]
    assert codes(script, "ben@example.com", 2) == [451, 250]


def test_a_rule_put_again_begins_anew_and_an_empty_one_is_gone() -> None:
    script = Script()
    script.put(Rule("ann@example.com", (BUSY,)))
    assert codes(script, "ann@example.com", 2) == [451, 250]
    script.put(Rule("ann@example.com", (BUSY,)))
    assert codes(script, "ann@example.com", 1) == [451]
    script.put(Rule("ann@example.com", ()))
    assert script.rules == ()


def test_conventions_of_the_address() -> None:
    script = Script()
    assert codes(script, "bounce+ann@example.com", 3) == [550, 550, 550]
    assert codes(script, "busy-2+ann@example.com", 4) == [451, 451, 250, 250]
    assert codes(script, "lost+ann@example.com", 2) == [0, 250]
    assert script.at_end("slow-3+ann@example.com") == Reply("delay", seconds=3.0)
    assert codes(script, "bouncer@example.com", 1) == [250]


def test_a_rule_wins_over_a_convention() -> None:
    script = Script()
    script.put(Rule("bounce+*", (SPAM,)))
    assert codes(script, "bounce+ann@example.com", 2) == [554, 250]


def test_weather_says_since_when_it_is_in_force_and_what_it_met() -> None:
    script = Script(chance=lambda: 0.0, clock=lambda: 1700.0)
    script.forecast(Weather("fcm", refused=1.0))
    assert [script.next("fcm", f"device-{n}") is not None for n in range(3)] == [True] * 3
    assert (script.since["fcm"], script.struck["fcm"]) == (1700.0, 3)
    script.forecast(Weather("fcm"))
    assert (script.weather, script.struck["fcm"]) == ((), 0)


@pytest.mark.parametrize("name", ["fmc", "FCM", "", "*"])
def test_weather_of_a_provider_that_is_none_is_refused(name: str) -> None:
    with pytest.raises(msgspec.ValidationError, match="provider: one of smtp, ses, sendgrid, fcm"):
        msgspec.convert({"provider": name, "refused": 1.0}, Weather)


def test_a_rule_that_no_provider_can_meet_is_refused() -> None:
    assert msgspec.convert({"recipient": "ann", "provider": "s*", "answers": []}, Rule).provider == "s*"
    with pytest.raises(msgspec.ValidationError, match="provider: one of smtp, ses, sendgrid, fcm"):
        msgspec.convert({"recipient": "ann", "provider": "fmc", "answers": []}, Rule)


def test_a_rule_knows_how_many_it_has_answered() -> None:
    script = Script()
    rule = Rule("ann*", (Reply("data", 503),) * 2, provider="fcm")
    script.put(rule)
    for recipient in ("ann-1", "ann-1", "ann-1", "ann-2"):
        script.next("fcm", recipient)
    assert script.begun(rule) == (2, 3)
