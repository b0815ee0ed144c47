"""Figures and instants as people read them: the filters of the console's pages. Pure but for the clock."""

import time
from datetime import UTC, datetime
from typing import Any

from markupsafe import Markup, escape

from notify_streams.gateway.console.now import seconds

_UNITS = ((86_400, "d"), (3600, "h"), (60, "min"))
_MOODS = {
    "sent": "ok",
    "delivered": "ok",
    "failed": "bad",
    "expired": "warn",
    "suppressed": "warn",
    "cancelled": "warn",
}


def rate(value: float) -> str:
    """2,410/s; small ones with a digit."""
    return f"{value:,.0f}/s" if value >= 9.95 or value == 0 else f"{value:.1f}/s"


def count(value: float | None) -> str:
    """12,345; a dash for nothing known."""
    return "—" if value is None else f"{value:,.0f}"


def span(value: float | None) -> str:
    """80 ms, 0.6 s, 4 min."""
    return "—" if value is None else seconds(value)


def share(value: float) -> str:
    """1.2 %."""
    return f"{value * 100:.1f} %"


def instant(ms: float) -> str:
    """2026-11-30 10:00:00 UTC."""
    return datetime.fromtimestamp(ms / 1000, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")


def clock(at: float) -> str:
    """Of seconds: 14:02 UTC."""
    return datetime.fromtimestamp(at, UTC).strftime("%H:%M UTC")


def clock_ms(ms: float) -> str:
    """22:02:11.020."""
    return datetime.fromtimestamp(ms / 1000, UTC).strftime("%H:%M:%S.%f")[:-3]


def ago_ms(ms: float) -> Markup:
    """How long ago, with the instant on hover."""
    return _when(ms, " ago")


def ago(at: datetime) -> Markup:
    """The same of a datetime."""
    return _when(at.timestamp() * 1000, " ago")


def due(ms: float) -> Markup:
    """How soon, or how late."""
    return _when(ms, " ago") if ms <= time.time() * 1000 else _when(ms, "", "in ")


def story(notification_id: str) -> Markup:
    """A short id that leads to its page."""
    return Markup('<a class="mono" href="/console/notifications/{0}" title="{0}">{1}</a>').format(
        notification_id, notification_id[:8]
    )


def text(value: bytes | None) -> str:
    """A record's value, whatever it is."""
    return "(no value: a tombstone)" if value is None else value.decode(errors="replace")


def mood(state: Any) -> str:
    """A class for a state."""
    return _MOODS.get(str(state), "")


FILTERS = {
    f.__name__: f for f in (rate, count, span, share, instant, clock, clock_ms, ago_ms, ago, due, story, text, mood)
}


def _when(ms: float, after: str, before: str = "") -> Markup:
    off = abs(time.time() - ms / 1000)
    words = next((f"{off // size:.0f} {unit}" for size, unit in _UNITS if off >= size), f"{off:.0f} s")
    return Markup('<time datetime="{0}" title="{0}">{1}</time>').format(instant(ms), escape(before + words + after))
