"""How instants and durations are written on the command line."""

import re
import time
from datetime import datetime

import click

from notify_streams.settings import SettingsError, milliseconds

_DURATION = re.compile(r"\d+(\.\d+)?(ms|s|m|h|d)")


def now_ms() -> int:
    """Milliseconds since the epoch."""
    return time.time_ns() // 1_000_000


def is_duration(text: str) -> bool:
    """Whether it is one, such as 10m."""
    return _DURATION.fullmatch(text) is not None


class Duration(click.ParamType):
    """'2m' as milliseconds."""

    name = "duration"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """Fails with what a duration looks like."""
        if isinstance(value, int):
            return value
        try:
            return milliseconds(str(value))
        except SettingsError as error:
            self.fail(str(error))


class Instant(click.ParamType):
    """'10m' means so long ago; else ISO 8601 with a zone. Milliseconds since the epoch."""

    name = "time"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """Fails with what an instant looks like."""
        if isinstance(value, int):
            return value
        text = str(value)
        if is_duration(text):
            return now_ms() - milliseconds(text)
        try:
            at = datetime.fromisoformat(text)
        except ValueError:
            self.fail(f"{text!r} is neither a duration such as 10m nor an instant such as 2026-11-30T10:00:00Z")
        if at.tzinfo is None:
            self.fail(f"{text!r} names no zone: append Z or an offset")
        return round(at.timestamp() * 1000)
