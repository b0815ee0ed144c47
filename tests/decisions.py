"""Whatever a decision may be about: profiles with all that one can set, states, catalogues, notifications, instants."""

from typing import Any, TypeVar, get_args

import msgspec
from hypothesis import strategies as st

from notify_streams.domain import fan_out
from notify_streams.domain.decide import decide, slice_of
from schemas.catalogue import Budget, Catalogue, NotificationType, Windows
from schemas.decisions import DecisionV1, ProfileSlice, StateSlice, Verdict
from schemas.notifications import NotificationV1
from schemas.profiles import Day, Endpoint, Frequency, ProfileV1, QuietHours
from schemas.words import CHANNELS, Channel, Reason
from tests.builders import A_NOTIFICATION, DAY, HOUR, NOW, a_catalogue, a_notification, a_slice, a_type
from tests.clocks import at

HERE = "2026.6"
CATALOGUE = a_catalogue()
EVENING = QuietHours(start="14:00", end="15:00")  # NOW is 14:13 UTC
YEAR = (at("2026-01-01T00:00Z"), at("2027-01-01T00:00Z"))
# Two that change their clocks on different dates, one of a half hour, one that skips half of one, one that never does.
ZONES = ("Europe/Paris", "America/New_York", "Asia/Kolkata", "Australia/Lord_Howe", "Etc/UTC")
CHANGES = ("2026-03-29T01:00Z", "2026-10-25T01:00Z", "2026-03-08T07:00Z", "2026-11-01T06:00Z", "2026-10-03T15:30Z")

T = TypeVar("T")


def mostly(usual: st.SearchStrategy[T], other: st.SearchStrategy[T]) -> st.SearchStrategy[T]:
    """So that one rule alone often decides, and not always the first."""
    return st.integers(0, 7).flatmap(lambda chance: other if chance == 7 else usual)


channels = st.sampled_from(CHANNELS)
some_channels = st.lists(channels, unique=True, max_size=3).map(tuple)
zones = st.sampled_from(ZONES)
instants = st.integers(*YEAR) | st.builds(
    lambda change, off: at(change) + off, st.sampled_from(CHANGES), st.integers(-DAY, DAY)
)
times_of_day = st.sampled_from(["00:00", "01:30", "02:00", "02:30", "03:00", "07:00", "12:00", "22:00", "23:30"])
windows = st.builds(
    QuietHours,
    start=times_of_day,
    end=times_of_day | st.just("24:00"),
    days=st.lists(st.sampled_from(get_args(Day)), unique=True, max_size=4).map(tuple),
    channels=some_channels,
)
switches = mostly(st.just({}), st.dictionaries(channels, st.booleans(), max_size=3))
digests = st.builds(
    lambda frequency, off: {c: {"social": frequency, "orders": frequency} for c in CHANNELS if c not in off},
    st.sampled_from(get_args(Frequency)),
    some_channels,
)
endpoints = st.builds(
    Endpoint,
    channel=channels,
    endpoint_id=st.sampled_from(["home", "work", "inbox"]),
    verified=st.booleans(),
    suppressed=st.sampled_from([None, "bounced"]),
)
a_few = st.lists(endpoints, max_size=4).map(tuple)
everywhere = tuple(Endpoint(channel=channel, endpoint_id="home", verified=True) for channel in CHANNELS[1:])
profiles = st.builds(
    ProfileV1,
    version=st.integers(0, 9),
    zone=st.none() | zones,
    channels=switches,
    categories=st.fixed_dictionaries({"orders": switches, "security": switches, "social": switches}),
    quiet_hours=st.lists(windows, max_size=3).map(tuple),
    digest=st.just({}) | digests,
    digest_at=st.none() | times_of_day,
    endpoints=mostly(a_few.map(lambda few: everywhere + few), a_few),
    erased=mostly(st.just(False), st.booleans()),
)
states = st.builds(
    StateSlice,
    stopped=mostly(st.none(), st.sampled_from([Reason.CANCELLED, Reason.COLLAPSED, Reason.READ])),
    stopped_on=some_channels,
    hour=st.integers(0, 4),
    day=st.integers(0, 12),
    paid=st.booleans(),
)
types = st.builds(
    a_type,
    category=st.just("social"),
    channels=mostly(st.just(CHANNELS), some_channels),
    digestible=st.booleans(),
    aggregate=st.booleans(),
)
catalogues = st.builds(
    lambda type_, carried, budget, digest_at, zone, shop: msgspec.structs.replace(
        a_catalogue(channels=carried, social_like=type_),
        budget=budget,
        windows=Windows(digest_at=digest_at),
        zone=zone,
        zones={"shop": shop},
    ),
    types,
    mostly(st.just(CHANNELS), some_channels),
    st.builds(Budget, hour=st.none() | st.integers(1, 8), day=st.none() | st.integers(1, 24)),
    times_of_day,
    zones,
    zones,
)


@st.composite
def moments(draw: st.DrawFn, /, **fixed: Any) -> tuple[NotificationV1, ProfileV1, StateSlice, Catalogue, int]:
    """A notification, its user, the catalogue and an instant, most often before it expires."""
    now = draw(instants)
    accepted_at = now - draw(st.integers(0, 2 * HOUR))
    plain: dict[str, Any] = {
        "type": draw(mostly(st.just("social.like"), st.sampled_from(["order.confirmed", "auth.otp"]))),
        "channels": draw(mostly(st.just(CHANNELS), some_channels)),
        "excluded": draw(mostly(st.just(()), some_channels)),
        "accepted_at": accepted_at,
        "expires_at": accepted_at + draw(st.sampled_from([HOUR, 3 * HOUR, DAY, 7 * DAY])),
        "send_at": draw(mostly(st.none(), st.integers(now - HOUR, now + HOUR))),
        "aggregation_key": draw(st.none() | st.just("post:9")),
        "tenant": draw(st.sampled_from(["", "shop"])),
        "members": draw(mostly(st.just(()), st.just((A_NOTIFICATION,)))),
    }
    notification = a_notification(**{**plain, **fixed})
    return notification, draw(profiles), draw(states), draw(catalogues), now


def decided(
    notification: NotificationV1, profile: ProfileV1, state: StateSlice, catalogue: Catalogue, now: int
) -> dict[Channel, Verdict]:
    """Over the slice that the orchestrator takes of the profile."""
    verdicts = decide(notification, sliced(notification, profile, catalogue), state, catalogue, now)
    return {verdict.channel: verdict for verdict in verdicts}


def sliced(notification: NotificationV1, profile: ProfileV1, catalogue: Catalogue) -> ProfileSlice:
    return slice_of(profile, notification, catalogue.types[notification.type])


def with_type(catalogue: Catalogue, name: str, **changes: Any) -> Catalogue:
    """The same, with one type changed."""
    type_: NotificationType = msgspec.structs.replace(catalogue.types[name], **changes)
    return msgspec.structs.replace(catalogue, types={**catalogue.types, name: type_})


def a_recorded_decision(**changes: Any) -> DecisionV1:
    """A mail in quiet hours and its inbox entry, as the orchestrator records them."""
    notification = a_notification(channels=("inapp", "email"))
    seen, state = a_slice(zone="Etc/UTC", quiet_hours=(EVENING,)), StateSlice()
    verdicts = decide(notification, seen, state, CATALOGUE, NOW)
    made = fan_out.record(notification, seen, state, verdicts, now=NOW, catalogue=CATALOGUE.hash, tzdata=HERE)
    return msgspec.structs.replace(made, **changes)
