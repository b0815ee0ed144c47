"""How far a time that somebody signed may be from ours."""

import re

TOLERANCE_S = 300
_SECONDS = re.compile(r"[0-9]{1,15}", re.ASCII)


def why_stale(stamp: str, now: int, *, before_s: int = TOLERANCE_S, after_s: int = TOLERANCE_S) -> str | None:
    """What is wrong with a stamp in whole seconds since the epoch at `now` (ms); both edges are still taken."""
    if not _SECONDS.fullmatch(stamp):
        return "the timestamp is no whole number of seconds"
    age = now // 1000 - int(stamp)
    if age > before_s:
        return f"the timestamp is more than {before_s} s ago"
    if age < -after_s:
        return f"the timestamp is more than {after_s} s ahead"
    return None
