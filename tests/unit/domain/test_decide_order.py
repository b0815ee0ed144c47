"""The order of the rules, as a table: of all that hold at once the first is the verdict."""

from collections.abc import Callable
from itertools import combinations
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from notify_streams.domain.decide import decide
from schemas.catalogue import Budget, Catalogue
from schemas.decisions import Deliver, ProfileSlice, StateSlice
from schemas.notifications import NotificationV1
from schemas.profiles import QuietHours
from schemas.words import Reason
from tests.builders import HOUR, MINUTE, NOW, a_catalogue, a_notification, a_type, an_endpoint
from tests.decisions import with_type

ALL_DAY = (QuietHours(start="00:00", end="24:00"),)
HERE = "social.like"


class Scene:
    """A push about a like, which nothing speaks against."""

    def __init__(self) -> None:
        self.notification: NotificationV1 = a_notification(type=HERE, channels=("push",), aggregation_key="post:9")
        self.profile = ProfileSlice(endpoints=(an_endpoint("push", "phone", content=None),), zone="Etc/UTC")
        self.state = StateSlice()
        self.catalogue: Catalogue = a_catalogue(social_like=a_type(category="social", digestible=True))

    def says(self, **changes: Any) -> None:
        self.notification = msgspec.structs.replace(self.notification, **changes)

    def prefers(self, **changes: Any) -> None:
        self.profile = msgspec.structs.replace(self.profile, **changes)

    def stands(self, **changes: Any) -> None:
        self.state = msgspec.structs.replace(self.state, **changes)

    def type_is(self, **changes: Any) -> None:
        self.catalogue = with_type(self.catalogue, HERE, **changes)

    def has_a_budget(self) -> None:
        self.catalogue = msgspec.structs.replace(self.catalogue, budget=Budget(hour=3))
        self.stands(hour=3)

    def verdict(self) -> Reason | None:
        """The reason; None for delivered."""
        [verdict] = decide(self.notification, self.profile, self.state, self.catalogue, NOW)
        return None if isinstance(verdict, Deliver) else verdict.reason


# In order: the reason, what makes the rule hold, whether it holds for mandatory types as well.
RULES: tuple[tuple[Reason, Callable[[Scene], None], bool], ...] = (
    (Reason.EXPIRED, lambda s: s.says(expires_at=NOW), True),
    (Reason.ERASED, lambda s: s.prefers(erased=True), True),
    (Reason.READ, lambda s: s.stands(stopped=Reason.READ), True),
    (Reason.CHANNEL_NOT_OFFERED, lambda s: s.type_is(channels=("inapp", "email")), True),
    (Reason.CHANNEL_EXCLUDED, lambda s: s.says(excluded=("push",)), True),
    (Reason.SCHEDULED, lambda s: s.says(send_at=NOW + MINUTE), True),
    (Reason.OPTED_OUT_OF_CHANNEL, lambda s: s.prefers(channels={"push": False}), False),
    (Reason.OPTED_OUT_OF_CATEGORY, lambda s: s.prefers(category={"push": False}), False),
    (Reason.NO_ENDPOINT, lambda s: s.prefers(endpoints=()), True),
    (Reason.BUDGET_SPENT, lambda s: s.has_a_budget(), False),
    (Reason.DIGEST, lambda s: s.prefers(digest={"push": "daily"}), False),
    (Reason.AGGREGATED, lambda s: s.type_is(aggregate=True), False),
    (Reason.QUIET_PAST_EXPIRY, lambda s: s.prefers(quiet_hours=ALL_DAY), False),
)
NAMES = [reason.value for reason, *_ in RULES]


def scene(*names: str, mandatory: bool = False) -> Scene:
    """Where these rules hold at once."""
    made = Scene()
    for reason, hold, _ in RULES:
        if reason.value in names:
            hold(made)
    made.type_is(mandatory=mandatory)
    return made


def test_where_no_rule_holds_it_is_delivered() -> None:
    assert scene().verdict() is None
    assert scene(mandatory=True).verdict() is None


@pytest.mark.parametrize("name", NAMES)
def test_each_rule_alone_is_the_verdict(name: str) -> None:
    assert scene(name).verdict() == name


@pytest.mark.parametrize(("first", "second"), list(combinations(NAMES, 2)))
def test_of_two_rules_that_hold_at_once_the_earlier_one_is_the_verdict(first: str, second: str) -> None:
    assert scene(first, second).verdict() == first


@settings(max_examples=1_000)
@given(st.sets(st.sampled_from(NAMES)), st.booleans())
def test_of_any_rules_that_hold_at_once_the_first_is_the_verdict(names: set[str], mandatory: bool) -> None:
    """A mandatory type: the first of those that it may not ignore."""
    holding = [r.value for r, _, binds_all in RULES if r.value in names and (binds_all or not mandatory)]
    assert scene(*names, mandatory=mandatory).verdict() == (holding[0] if holding else None)


@pytest.mark.parametrize(
    ("hold", "reason"),
    [
        (lambda s: s.prefers(endpoints=(an_endpoint("push", verified=False),)), Reason.ENDPOINT_UNVERIFIED),
        (lambda s: s.prefers(endpoints=(an_endpoint("push", suppressed="gone"),)), Reason.ENDPOINT_SUPPRESSED),
    ],
)
def test_an_endpoint_that_cannot_be_used_stands_where_a_missing_one_does(
    hold: Callable[[Scene], None], reason: Reason
) -> None:
    for name in NAMES:
        made = scene(name)
        if name != Reason.NO_ENDPOINT:
            hold(made)
            earlier = NAMES.index(name) < NAMES.index(Reason.NO_ENDPOINT)
            assert made.verdict() == (name if earlier else reason)


def test_quiet_hours_that_end_in_time_stand_where_those_that_do_not_stand() -> None:
    hour = (QuietHours(start="14:00", end="15:00"),)  # NOW is 14:13 UTC, it expires at 15:13
    for name in NAMES[:-1]:
        made = scene(name)
        made.prefers(quiet_hours=hour)
        assert made.verdict() == name
    quiet = scene()
    quiet.prefers(quiet_hours=hour)
    assert quiet.verdict() == Reason.QUIET_HOURS


def test_a_stop_of_other_channels_stops_nothing() -> None:
    made = scene(Reason.READ)
    made.stands(stopped_on=("email", "sms"))
    assert made.verdict() is None
    made.stands(stopped_on=("email", "push"))
    assert made.verdict() is Reason.READ


def test_what_expires_before_it_may_be_sent_expires_before_all_else() -> None:
    made = scene(*NAMES[1:])
    made.says(send_at=NOW + 2 * HOUR)
    assert made.verdict() is Reason.EXPIRED


def test_every_reason_that_a_decision_can_give_is_in_the_table_or_beside_it() -> None:
    beside = {Reason.CANCELLED, Reason.COLLAPSED, Reason.ENDPOINT_UNVERIFIED, Reason.ENDPOINT_SUPPRESSED}
    by_senders = {
        *(Reason.GUARDED, Reason.TEMPLATE_FAILED, Reason.ENDPOINT_GONE, Reason.REFUSED, Reason.ATTEMPTS_EXHAUSTED),
        *(Reason.PROVIDER_UNAVAILABLE, Reason.HELD, Reason.UNKNOWN_OUTCOME, Reason.LIMITED, Reason.FAILED_OVER),
        *(Reason.MISCONFIGURED, Reason.MAILBOX_FULL, Reason.SENDER_BLOCKED, Reason.NO_PROVIDER, Reason.SETTLED),
        Reason.RECIPIENT_OPTED_OUT,
    }
    by_receipts = {Reason.BOUNCED, Reason.COMPLAINED, Reason.UNDELIVERED}
    assert {*NAMES, *beside, Reason.QUIET_HOURS} == set(Reason) - by_senders - by_receipts - {Reason.FALLBACK}
