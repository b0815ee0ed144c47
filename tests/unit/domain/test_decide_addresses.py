"""Which of a user's endpoints a decision takes: each address once, and for a code the one that it is for."""

from typing import Any

import pytest

from notify_streams.domain.decide import decide, slice_of
from notify_streams.domain.fan_out import deliveries
from schemas.decisions import Deliver, StateSlice, Suppress, Verdict
from schemas.profiles import Address, Endpoint
from schemas.words import Channel, Reason
from tests.builders import HOUR, MAILBOX, NOW, a_catalogue, a_notification, a_profile, a_type, an_endpoint

CODES = a_type(category="security", mandatory=True, verifies=True, channels=("email", "sms", "webhook"))
CATALOGUE = a_catalogue(endpoint_verification=CODES)


def at(endpoint_id: str, address: str = MAILBOX, channel: Channel = "email", **changes: Any) -> Endpoint:
    return an_endpoint(channel, endpoint_id, content=Address(address), **changes)


def decided(*endpoints: Endpoint, channel: Channel = "email", **changes: Any) -> Verdict:
    """Of an order, for somebody with these."""
    notification = a_notification(channels=(channel,), **changes)
    profile = a_profile(*endpoints)
    of_profile = slice_of(profile, notification, CATALOGUE.types[notification.type])
    [verdict] = decide(notification, of_profile, StateSlice(), CATALOGUE, NOW)
    if isinstance(verdict, Deliver):
        sent = {
            d.endpoint_id: d.content and d.content.address for d in deliveries(notification, profile, verdict, NOW, 0)
        }
        known = {e.endpoint_id: e.content and e.content.address for e in endpoints}
        assert sent.items() <= known.items()
    return verdict


def chosen(*endpoints: Endpoint, channel: Channel = "email", **changes: Any) -> tuple[str, ...]:
    verdict = decided(*endpoints, channel=channel, **changes)
    return verdict.endpoint_ids if isinstance(verdict, Deliver) else ()


def test_a_mailbox_in_two_spellings_gets_one_mail_as_the_first_spells_it() -> None:
    """IDM-08"""
    assert chosen(at("home", "Ann@example.com"), at("work", "ann@example.com")) == ("home",)
    assert chosen(at("work", "ann@example.com"), at("home", "Ann@example.com"), at("x", "eve@example.com")) == (
        "work",
        "x",
    )


def test_a_token_that_is_there_twice_gets_one_push_and_every_other_one_of_its_own() -> None:
    """IDM-08: rows from before a token was one row."""
    tokens = [at(name, token * 64, "push") for name, token in (("a", "t"), ("b", "t"), ("c", "u"))]
    assert chosen(*tokens, channel="push") == ("a", "c")


def test_a_subscription_is_one_by_its_url() -> None:
    one, other = (f'{{"endpoint":"https://p.example/1","keys":{{"p256dh":"{key}","auth":"b"}}}}' for key in "xy")
    assert chosen(at("a", one, "push"), at("b", other, "push"), channel="push") == ("a",)


def test_of_two_spellings_the_verified_one_is_used() -> None:
    assert chosen(at("home", verified=False), at("work", MAILBOX.upper())) == ("work",)


def test_what_comes_back_for_one_endpoint_is_decided_for_that_one() -> None:
    """Its delivery id is made of it: by the other spelling it would go out twice."""
    both = (at("home", MAILBOX.upper()), at("work"))
    assert chosen(*both, endpoint_id="work", origin="sender/d/0/1") == ("work",)


def test_the_same_text_on_two_channels_is_two_addresses() -> None:
    hook = at("hook", "https://a.example/x", "webhook")
    assert chosen(hook, at("home"), channel="webhook") == ("hook",)


def code(*endpoints: Endpoint, **changes: Any) -> Verdict:
    return decided(*endpoints, **{"type": "endpoint.verification", "endpoint_id": "new", **changes})


def test_a_code_goes_to_the_unverified_endpoint_that_it_is_for() -> None:
    assert code(at("new", "new@example.com", verified=False)) == Deliver(channel="email", endpoint_ids=("new",))


def test_a_code_goes_to_no_other_endpoint() -> None:
    new = at("new", "new@example.com", verified=False)
    assert code(at("home"), new, at("x", "x@example.com", verified=False)) == Deliver(
        channel="email", endpoint_ids=("new",)
    )
    assert code(at("home"), at("x", verified=False)) == Suppress(channel="email", reason=Reason.NO_ENDPOINT)


def test_a_code_for_an_address_that_is_there_twice_goes_to_the_name_that_it_is_for() -> None:
    assert code(at("home"), at("new", MAILBOX.upper(), verified=False)) == Deliver(
        channel="email", endpoint_ids=("new",)
    )


def test_a_code_that_names_no_endpoint_goes_nowhere() -> None:
    """An event of this type that a producer makes."""
    verdict = code(at("new", verified=False), endpoint_id=None)
    assert verdict == Suppress(channel="email", reason=Reason.NO_ENDPOINT)


@pytest.mark.parametrize("until", [None, NOW + 1])
def test_a_code_never_goes_to_a_suppressed_address(until: int | None) -> None:
    held = at("new", verified=False, suppressed="opt_out", suppressed_until=until)
    assert code(held) == Suppress(channel="email", reason=Reason.ENDPOINT_SUPPRESSED)


def test_a_code_goes_to_an_address_that_is_suppressed_no_longer() -> None:
    over = at("new", verified=False, suppressed="mailbox_full", suppressed_until=NOW)
    assert code(over) == Deliver(channel="email", endpoint_ids=("new",))


def test_nothing_else_goes_to_an_unverified_endpoint_mandatory_or_not() -> None:
    unverified = at("new", verified=False)
    for type_ in ("order.confirmed", "auth.otp"):
        verdict = decided(unverified, type=type_, endpoint_id="new")
        assert verdict == Suppress(channel="email", reason=Reason.ENDPOINT_UNVERIFIED)


def test_a_code_past_its_time_is_not_sent() -> None:
    late = code(at("new", verified=False), accepted_at=NOW - HOUR, expires_at=NOW)
    assert late == Suppress(channel="email", reason=Reason.EXPIRED)
