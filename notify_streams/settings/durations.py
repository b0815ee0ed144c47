"""Durations as settings write them, and the one error that settings raise."""

import re

_UNITS_S = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}


class SettingsError(ValueError):
    """A setting is unknown or has a value of the wrong kind; the message names it."""


def seconds(duration: str) -> float:
    """'2s', '5m', '500ms', '24h', '7d' in seconds. Raises SettingsError for anything else."""
    match = re.fullmatch(r"(\d+(?:\.\d+)?)(ms|s|m|h|d)", duration.strip())
    if match is None:
        raise SettingsError(f"{duration!r} is no duration such as 500ms, 2s, 5m, 24h or 7d")
    return float(match[1]) * _UNITS_S[match[2]]


def milliseconds(duration: str) -> int:
    """The same in whole milliseconds."""
    return round(seconds(duration) * 1000)
