"""Instants and spans in words."""

from datetime import datetime


def ago(at: str, now: datetime) -> str:
    """A past instant: "just now", "12 s ago", "3 min ago", "2 h ago", "4 d ago"."""
    seconds = int((now - datetime.fromisoformat(at)).total_seconds())
    if seconds < 2:
        return "just now"
    for unit, length in (("d", 86400), ("h", 3600), ("min", 60)):
        if seconds >= length:
            return f"{seconds // length} {unit} ago"
    return f"{seconds} s ago"


def took(seconds: float | None) -> str:
    """An answer's latency: "0.4 ms", "12 ms", "3.0 s"; empty where none was measured."""
    if seconds is None:
        return ""
    if seconds >= 1:
        return f"{seconds:.1f} s"
    return f"{seconds * 1000:.1f} ms" if seconds < 0.01 else f"{seconds * 1000:.0f} ms"
