"""The schedule of `chaos providers`."""

from collections import Counter

import pytest

from tests.chaos.providers_people import events, wanted
from tests.chaos.providers_plan import PROVIDERS, QUICK, SENDERS, TROUBLES, Plan, schedule, weather


@pytest.mark.parametrize("plan", [Plan(), QUICK])
def test_every_provider_has_every_trouble_and_every_sender_is_killed(plan: Plan) -> None:
    changes = schedule(plan)
    troubles = Counter((c.whom, c.trouble) for c in changes if c.trouble not in (None, "fine"))
    assert troubles == {(provider, trouble): plan.rounds for provider in PROVIDERS for trouble in TROUBLES}
    assert Counter(c.whom for c in changes if c.trouble is None) == dict.fromkeys(SENDERS, plan.kills)


def test_it_is_in_order_within_the_span_and_always_the_same() -> None:
    changes = schedule(Plan())
    assert changes == sorted(changes) == schedule(Plan())
    assert 0 <= changes[0].at <= changes[-1].at <= Plan().span_s


def test_each_trouble_is_over_before_the_next_of_its_provider() -> None:
    for provider in PROVIDERS:
        words = [c.trouble for c in schedule(Plan()) if c.whom == provider]
        assert all(word == "fine" for word in words[1::2])
        assert set(words[::2]) == set(TROUBLES)


def test_smtp_is_never_told_to_refuse_for_good() -> None:
    assert {weather("smtp", trouble).code for trouble in ("5xx", "429")} == {451}
    assert weather("fcm", "429").headers["Retry-After"]
    assert not weather("fcm", "fine").bad


def test_the_events_lead_to_as_many_deliveries_on_each_channel() -> None:
    deliveries = [one for event in events(12, ["ann", "ben"]) for one in wanted(event)]
    assert Counter(one.channel for one in deliveries) == dict.fromkeys(("email", "push", "sms", "webhook"), 12)
    assert len({one.delivery_id for one in deliveries}) == 48
