"""The preferences API in memory: enough of it for a pane."""

from dataclasses import dataclass, field
from typing import Any

from aiohttp import web

from notify_streams.gateway.problems import Problem
from schemas.commands import FieldError

CHANNELS = ("inapp", "email", "push", "sms")


def _offered() -> dict[str, Any]:
    return {
        "locale": "en",
        "zone": "Europe/Lisbon",
        "channels": {**dict.fromkeys(CHANNELS, True), "sms": False},
        "categories": {
            "messages": {"inapp": True, "push": True, "email": True},
            "social": {"inapp": True, "push": False, "email": True},
            "marketing": {"inapp": True, "email": False},
            "security": dict.fromkeys(CHANNELS, True),
        },
        "mandatory": ["security"],
        "quiet_hours": [{"start": "22:00", "end": "08:00", "channels": ["push", "sms"]}],
        "digest": {"email": {"social": "daily"}},
        "digest_at": "08:00",
        "titles": {"social": {"en": "Likes and follows", "de": "Likes und Follower"}},
        "digestible": {"email": ["messages", "social"]},
    }


@dataclass
class Preferences:
    """`slow`: the change is made, and answered with 202."""

    version: int = 7
    now: dict[str, Any] = field(default_factory=_offered)
    patches: list[dict[str, Any]] = field(default_factory=list)
    slow: bool = False

    def shown(self) -> web.Response:
        return web.json_response({"version": self.version, **self.now}, headers={"ETag": f'"{self.version}"'})

    def change(self, patch: dict[str, Any], if_match: str) -> web.Response:
        if if_match != f'"{self.version}"':
            raise Problem(412, "version_mismatch", "the preferences are of another version")
        if any(window["start"] == window["end"] for window in patch.get("quiet_hours", ())):
            raise Problem(422, "invalid", errors=[FieldError("/quiet_hours/0/end", "start and end are equal")])
        self.patches.append(patch)
        self.version += 1
        _merge(self.now, patch)
        if self.slow:
            return web.json_response({"status": "pending", "command_id": "c"}, status=202)
        return self.shown()


def _merge(into: dict[str, Any], patch: dict[str, Any]) -> None:
    for key, value in patch.items():
        if isinstance(value, dict):
            _merge(into.setdefault(key, {}), value)
        else:
            into[key] = value
