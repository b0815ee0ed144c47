"""What holds of every decision, whatever the profile, the state, the catalogue and the instant."""

from typing import Any

import msgspec
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from notify_streams.domain import fan_out
from notify_streams.domain.decide import decide
from notify_streams.domain.quiet_hours import AHEAD_MS, closes_at, reopens_at
from notify_streams.domain.windows import zone_of
from schemas.catalogue import Budget, Catalogue
from schemas.codec import encode
from schemas.decisions import Collect, DecisionV1, Defer, Deliver, StateSlice, Suppress, Verdict, decode_decision
from schemas.notifications import NotificationV1
from schemas.profiles import ProfileV1
from schemas.words import MAX_MS, Reason
from tests.builders import A_NOTIFICATION, HOUR, MINUTE
from tests.decisions import decided, moments, sliced, with_type

Moment = tuple[NotificationV1, ProfileV1, StateSlice, Catalogue, int]
BY_WISH = {
    *(Reason.OPTED_OUT_OF_CHANNEL, Reason.OPTED_OUT_OF_CATEGORY, Reason.BUDGET_SPENT, Reason.DIGEST),
    *(Reason.AGGREGATED, Reason.QUIET_HOURS, Reason.QUIET_PAST_EXPIRY),
}
many = settings(max_examples=400)


def without_wishes(profile: ProfileV1, *, switches: bool = True) -> ProfileV1:
    """The same person, with nothing set that a mandatory notification may ignore."""
    off: dict[str, Any] = {"channels": {}, "categories": {}} if switches else {}
    return msgspec.structs.replace(profile, quiet_hours=(), digest={}, **off)


def unhindered(catalogue: Catalogue, name: str) -> Catalogue:
    """The same catalogue where the type neither waits for others nor costs anything, and is not mandatory."""
    plain = with_type(catalogue, name, mandatory=False, digestible=False, aggregate=False)
    return msgspec.structs.replace(plain, budget=Budget())


def zone(notification: NotificationV1, profile: ProfileV1, catalogue: Catalogue) -> str:
    return zone_of(catalogue, notification.tenant, profile.zone)


def _whenever(verdict: Verdict) -> Verdict:
    """Without the instant from which it is held."""
    return msgspec.structs.replace(verdict, hold_from=None) if isinstance(verdict, Deliver) else verdict


@many
@given(moments())
def test_a_decision_is_total_and_the_same_every_time(moment: Moment) -> None:
    notification = moment[0]
    first = decided(*moment)
    assert tuple(first) == notification.channels
    assert encode(tuple(first.values())) == encode(tuple(decided(*moment).values()))


@many
@given(moments())
def test_a_decoded_record_decides_the_same_byte_for_byte(moment: Moment) -> None:
    """From the record alone, and the catalogue as it is on the topic."""
    notification, profile, state, catalogue, now = moment
    seen = sliced(notification, profile, catalogue)
    verdicts = decide(notification, seen, state, catalogue, now)
    made = fan_out.record(notification, seen, state, verdicts, now=now, catalogue="c0ffee", tzdata="2026.6")
    read = decode_decision(encode(made))
    assert isinstance(read, DecisionV1)
    known = msgspec.json.decode(encode(catalogue), type=Catalogue)
    assert encode(decide(read.notification, read.profile, read.state, known, read.now)) == encode(read.verdicts)


@given(moments(), st.integers(0, HOUR))
def test_what_has_expired_is_never_delivered(moment: Moment, late: int) -> None:
    notification, profile, state, catalogue, _ = moment
    verdicts = decided(notification, profile, state, catalogue, notification.expires_at + late)
    assert set(verdicts.values()) <= {Suppress(channel=c, reason=Reason.EXPIRED) for c in notification.channels}


@given(moments())
def test_nothing_waits_beyond_its_expiry(moment: Moment) -> None:
    """Nor is anything put off to an instant that is past."""
    notification, now = moment[0], moment[-1]
    for verdict in decided(*moment).values():
        if isinstance(verdict, Defer):
            assert now < verdict.until < notification.expires_at
        if isinstance(verdict, Collect):
            assert now < verdict.until <= MAX_MS


@many
@given(moments(type="auth.otp"))
def test_a_mandatory_one_is_decided_as_if_the_user_had_no_wishes(moment: Moment) -> None:
    """It ignores what it may ignore."""
    notification, profile, state, catalogue, now = moment
    plain = msgspec.structs.replace(state, hour=0, day=0)
    assert decided(*moment) == decided(notification, without_wishes(profile), plain, catalogue, now)
    assert not BY_WISH & {v.reason for v in decided(*moment).values() if not isinstance(v, Deliver)}


@many
@given(moments(type="auth.otp"))
def test_a_mandatory_one_ignores_nothing_else(moment: Moment) -> None:
    """It is decided as one that may ignore nothing, for somebody with no wishes."""
    notification, profile, state, catalogue, now = moment
    bound = unhindered(catalogue, "auth.otp")
    assert decided(*moment) == decided(notification, without_wishes(profile), state, bound, now)


@many
@given(moments())
def test_quiet_hours_put_off_and_never_drop(moment: Moment) -> None:
    """What would be delivered to somebody without them: never while it is quiet, and never lost."""
    notification, profile, state, catalogue, now = moment
    type_ = catalogue.types[notification.type]
    loud = decided(notification, msgspec.structs.replace(profile, quiet_hours=()), state, catalogue, now)
    where = zone(notification, profile, catalogue)
    for channel, verdict in decided(*moment).items():
        reopens = None if type_.mandatory else reopens_at(profile.quiet_hours, where, channel, now)
        if not isinstance(loud[channel], Deliver) or reopens is None:
            assert _whenever(verdict) == loud[channel]
            continue
        if reopens >= notification.expires_at:
            assert verdict == Suppress(channel=channel, reason=Reason.QUIET_PAST_EXPIRY)
        else:
            assert verdict == Defer(channel=channel, until=reopens, reason=Reason.QUIET_HOURS)
            assert reopens_at(profile.quiet_hours, where, channel, reopens) is None


@many
@given(moments())
def test_what_quiet_hours_put_off_goes_out_when_it_is_decided_again(moment: Moment) -> None:
    notification, profile, state, catalogue, _ = moment
    for channel, verdict in decided(*moment).items():
        if isinstance(verdict, Defer) and verdict.reason is Reason.QUIET_HOURS:
            alone = msgspec.structs.replace(notification, channels=(channel,))
            again = decided(alone, profile, state, catalogue, verdict.until)
            assert isinstance(again[channel], Deliver)


@many
@given(moments(), st.integers(0, 10_000))
def test_a_delivery_is_held_from_the_start_of_the_next_quiet_period(moment: Moment, part: int) -> None:
    notification, profile, _, catalogue, now = moment
    type_, where = catalogue.types[notification.type], zone(notification, profile, catalogue)
    for channel, verdict in decided(*moment).items():
        if not isinstance(verdict, Deliver):
            continue
        held = verdict.hold_from
        end = min(notification.expires_at, now + AHEAD_MS) if held is None else held
        between = now + (end - now) * part // 10_001
        if held is not None:
            assert now < held < notification.expires_at
            assert reopens_at(profile.quiet_hours, where, channel, held) is not None
            assert reopens_at(profile.quiet_hours, where, channel, held - 1) is None
            assert closes_at(profile.quiet_hours, where, channel, now) == held
        if channel == "inapp" or type_.mandatory or not profile.quiet_hours:
            assert held is None
        else:
            assert reopens_at(profile.quiet_hours, where, channel, between) is None


@many
@given(moments())
def test_the_inbox_is_never_put_off_by_quiet_hours_charged_or_collected(moment: Moment) -> None:
    """It is decided as for somebody without them, whatever the budget."""
    notification, profile, state, catalogue, now = moment
    assume("inapp" in notification.channels)
    plain = without_wishes(profile, switches=False)
    free = unhindered(catalogue, notification.type)
    free = with_type(free, notification.type, mandatory=catalogue.types[notification.type].mandatory)
    verdict = decided(*moment)["inapp"]
    assert verdict == decided(notification, plain, state, free, now)["inapp"]
    assert not isinstance(verdict, Collect)


@many
@given(moments(members=(A_NOTIFICATION,)))
def test_a_digest_waits_in_no_window_and_costs_nothing(moment: Moment) -> None:
    notification, profile, state, catalogue, now = moment
    verdicts = decided(*moment)
    assert not any(isinstance(verdict, Collect) for verdict in verdicts.values())
    plain = msgspec.structs.replace(profile, digest={})
    free = msgspec.structs.replace(catalogue, budget=Budget())
    assert verdicts == decided(notification, plain, state, free, now)


@many
@given(moments(endpoint_id="home"))
def test_what_a_sender_gives_back_waits_in_no_window_and_has_been_paid_for(moment: Moment) -> None:
    notification, profile, state, catalogue, now = moment
    verdicts = decided(*moment)
    assert not any(isinstance(verdict, Collect) for verdict in verdicts.values())
    free = msgspec.structs.replace(catalogue, budget=Budget())
    assert verdicts == decided(notification, msgspec.structs.replace(profile, digest={}), state, free, now)


@many
@given(moments())
def test_what_joins_a_digest_is_spared_budget_digest_and_quiet_hours_and_nothing_else(moment: Moment) -> None:
    notification, profile, state, catalogue, now = moment
    joining = msgspec.structs.replace(state, joining=True)
    free = unhindered(catalogue, notification.type)
    free = with_type(free, notification.type, mandatory=catalogue.types[notification.type].mandatory)
    alone = decided(notification, without_wishes(profile, switches=False), state, free, now)
    assert decided(notification, profile, joining, catalogue, now) == alone


@many
@given(moments())
def test_what_has_paid_is_not_refused_by_the_budget(moment: Moment) -> None:
    notification, profile, state, catalogue, now = moment
    free = msgspec.structs.replace(catalogue, budget=Budget())
    paid = msgspec.structs.replace(state, paid=True)
    assert decided(notification, profile, paid, catalogue, now) == decided(notification, profile, paid, free, now)


@many
@given(moments())
def test_only_what_its_type_allows_is_collected_and_only_for_the_reason_given(moment: Moment) -> None:
    notification, profile, _, catalogue, now = moment
    type_ = catalogue.types[notification.type]
    for channel, verdict in decided(*moment).items():
        match verdict:
            case Collect(reason=Reason.AGGREGATED):
                assert type_.aggregate
                assert verdict.window == f"group/{notification.type}/{notification.aggregation_key}"
                assert verdict.until == now + catalogue.windows.wait_ms
            case Collect():
                assert type_.digestible
                assert verdict.window == f"digest/{type_.category}"
                chosen = profile.digest.get(channel, {}).get(type_.category, "instant")
                assert (verdict.reason is Reason.DIGEST) <= (chosen != "instant")
                assert verdict.until <= now + (90 * MINUTE if chosen == "hourly" else 26 * HOUR)
            case Suppress(reason=Reason.BUDGET_SPENT):
                assert not type_.digestible


@many
@given(moments(), st.data())
def test_a_channel_is_decided_by_itself(moment: Moment, data: st.DataObject) -> None:
    """What comes back alone is decided as it would be in company."""
    notification, profile, state, catalogue, now = moment
    assume(notification.channels)
    channel = data.draw(st.sampled_from(notification.channels))
    alone = msgspec.structs.replace(notification, channels=(channel,))
    assert decided(alone, profile, state, catalogue, now)[channel] == decided(*moment)[channel]
