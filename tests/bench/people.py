"""People with everything set that one can set, and what they are notified of: the load of `bench decide`."""

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import msgspec

from notify_streams.content.catalogue import EXAMPLE
from notify_streams.domain import ids
from notify_streams.domain.local_times import rules_of
from notify_streams.settings import Settings
from notify_streams.streaming.partitions import Partitions
from schemas.codec import encode
from schemas.content import Actor, Content
from schemas.notifications import NotificationV1
from schemas.profiles import Address, Endpoint, ProfileV1, QuietHours
from schemas.words import Channel
from tests.bench import kafka

USERS, TYPE = 20_000, "social.mention"
# Zones that change their clocks on different dates, and one that never does.
ZONES = ("Europe/Paris", "America/New_York", "America/Sao_Paulo", "Asia/Kolkata", "Australia/Sydney", "Europe/London")
_SOON_MS, _LONG_MS, _HOUR_MS = 3 * 3_600_000, 8 * 3_600_000, 3_600_000
_EXAMPLES_BUDGET = "[budget]\nhour = 20\nday = 60\n"
_BUDGET = "[budget]\nhour = 1000\nday = 1000\n"


def with_a_wide_budget(directory: Path) -> Path:
    """The example catalogue with a budget that is kept and never spent, in a file of that directory."""
    text = (EXAMPLE / "catalogue.toml").read_text()
    assert _EXAMPLES_BUDGET in text, "the example's budget is another one"
    path = directory / "wide-budget.toml"
    path.write_text(text.replace(_EXAMPLES_BUDGET, _BUDGET))
    return path


def somebody(number: int, now: int) -> ProfileV1:
    """Two endpoints, switches, a digest by push, a night that starts some hours after `now` (ms), not at once."""
    zone = ZONES[number % len(ZONES)]
    evening = now + _SOON_MS + number // len(ZONES) % 6 * _HOUR_MS
    return ProfileV1(
        version=1,
        locale="en-GB",
        zone=zone,
        channels={"email": True, "sms": False},
        categories={"social": {"email": True}, "marketing": {"email": False, "push": False}},
        quiet_hours=(QuietHours(start=_shown(zone, evening), end=_shown(zone, evening + _LONG_MS)),),
        digest={"push": {"social": "daily"}},
        digest_at="08:00",
        endpoints=(
            Endpoint(channel="email", endpoint_id="e1", verified=True, content=Address(f"u{number}@example.org")),
            Endpoint(channel="push", endpoint_id="p1", verified=True, platform="ios", content=Address("t" * 64)),
        ),
    )


def one(number: int, user: str, channels: tuple[Channel, ...], now: int) -> NotificationV1:
    """A mention, accepted at `now` (ms)."""
    return NotificationV1(
        notification_id=ids.notification_id("bench", str(number), None, user),
        user_id=user,
        type=TYPE,
        source="bench",
        event_id=str(number),
        accepted_at=now,
        expires_at=now + 7 * 24 * _HOUR_MS,
        origin=f"events.low/0/{number}",
        lane="low",
        channels=channels,
        content=Content(
            payload=msgspec.Raw(b'{"text":"Ask @sam, who was there","post":"9","url":"https://x.example/%d"}' % number),
            actor=Actor("user-7", "Ann"),
        ),
    )


def notifications(config: Settings, count: int, channels: tuple[Channel, ...], now: int) -> Iterator[kafka.Record]:
    """For all users in turn."""
    of = Partitions(config.kafka.partitions).of
    for number in range(count):
        user = f"u{number % USERS:06d}"
        yield of(user.encode()), user.encode(), encode(one(number, user, channels, now))


def profiles(config: Settings, now: int) -> Iterator[kafka.Record]:
    """Everybody's."""
    of = Partitions(config.kafka.partitions).of
    for number in range(USERS):
        user = f"u{number:06d}".encode()
        yield of(user), user, encode(somebody(number, now))


def _shown(zone: str, at: int) -> str:
    """The full hour on the zone's clocks."""
    shown = datetime.fromtimestamp(at / 1000, UTC).astimezone(rules_of(zone))
    return f"{shown:%H}:00"
