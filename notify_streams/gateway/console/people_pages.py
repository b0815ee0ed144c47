"""Find, Story and User: what is recorded of somebody, or of one notification."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, NamedTuple
from urllib.parse import quote
from uuid import UUID, uuid4

import msgspec
from aiohttp import web

from notify_streams.domain import ids
from notify_streams.domain.accept import why_no_user_id
from notify_streams.domain.addresses import address_key
from notify_streams.domain.status import NotificationStatus, fold
from notify_streams.gateway.commands import Commands
from notify_streams.gateway.console.rooms import Rooms
from notify_streams.gateway.keys import Key
from notify_streams.gateway.notifications import Told
from notify_streams.gateway.problems import not_found
from notify_streams.gateway.profiles import Profiles
from notify_streams.gateway.routes import Route
from notify_streams.gateway.spelling import Spelling
from notify_streams.ports import InboxStore, Records
from schemas.addresses import ShowAddressV1
from schemas.commands import CommandResultV1
from schemas.decisions import DecisionV1, Verdict
from schemas.profiles import Endpoint, ProfileV1
from schemas.words import Channel

_SHOWN, _LOOKED_AT = 50, 400
_NUMBER = re.compile(r"\+[0-9][0-9 ().-]{4,20}")


class Hit(NamedTuple):
    """Something that was found."""

    kind: str
    name: str
    path: str
    says: str = ""


class Reached(NamedTuple):
    """One endpoint as it is shown: the address masked."""

    channel: str
    platform: str
    endpoint_id: str
    masked: str
    state: str
    mood: str


@dataclass(frozen=True, slots=True)
class PeoplePages:
    """Reads what is recorded. `clock` in ms."""

    rooms: Rooms
    records: Records
    inbox: InboxStore
    profiles: Profiles
    commands: Commands
    spelling: Spelling
    explain: Told
    clock: Callable[[], int]

    def routes(self) -> tuple[Route, ...]:
        """The twins are the API's own: explain, preferences, endpoints, inbox."""
        return (
            self.rooms.page("/console/find", "Find", self.find),
            self.rooms.page("/console/notifications/{notification_id}", "Story", self.story),
            self.rooms.page("/console/users/{user_id}", "User", self.user),
        )

    async def find(self, request: web.Request, key: Key) -> web.StreamResponse:
        """One box. What can only be one thing leads there at once."""
        asked = request.query.get("q", "").strip()
        found = await self._found(asked, key) if asked else []
        if len(found) == 1 and found[0].path:
            return web.Response(status=303, headers={"Location": found[0].path})
        sentence = f"{len(found)} things fit." if found else "Nothing fits." if asked else "What are you looking for?"
        given = {"sentence": sentence, "found": found, "asked": asked}
        return self.rooms.shown(request, key, "find", "Find", given)

    async def story(self, request: web.Request, key: Key) -> web.StreamResponse:
        """From the event to the receipt."""
        try:
            notification_id = str(UUID(request.match_info["notification_id"]))
        except ValueError:
            raise not_found() from None
        story = self.explain(notification_id, await self.records.facts(notification_id))
        if story is None:
            words = "Nothing is recorded of it: it may be on its way still, or was never accepted."
            return self.rooms.shown(request, key, "problem", "Story", {"sentence": words}, status=404)
        decisions = [_decision(one) for one in story.decisions]
        return self.rooms.shown(request, key, "story", "Story", {"story": story, "decisions": decisions})

    async def user(self, request: web.Request, key: Key) -> web.StreamResponse:
        """What they chose, where they are reached, what they were told."""
        user_id = request.match_info["user_id"]
        if why_no_user_id(user_id) is not None:
            raise not_found()
        profile, counts = await self.profiles.read(user_id), await self.inbox.counts(user_id)
        now = datetime.fromtimestamp(self.clock() / 1000, UTC)
        items = await self.inbox.page(user_id, before=None, limit=10, now=now)
        known = await self.records.notifications_of(user_id)
        told = await self._newest(known)
        given = {
            "user_id": user_id,
            "sentence": _sentence(profile, len(known)),
            "profile": profile,
            "off": _off(profile),
            "digests": [f"{c} {n} {f}" for c, names in profile.digest.items() for n, f in names.items()],
            "endpoints": [_reached(one, self.clock()) for one in profile.endpoints],
            "counts": counts,
            "items": [item.view() for item in items],
            "notifications": told,
            "more": len(known) if len(known) > len(told) else 0,
        }
        return self.rooms.shown(request, key, "user", "User", given)

    async def _newest(self, known: Any) -> list[NotificationStatus]:
        """Ids say nothing of time: of very many only some are looked at."""
        facts = await self.records.facts_of(known[:_LOOKED_AT])
        statuses = [fold(id_, found) for id_, found in facts.items()]
        return sorted((s for s in statuses if s is not None), key=lambda s: -s.accepted_at)[:_SHOWN]

    async def _found(self, asked: str, key: Key) -> list[Hit]:
        try:
            return [Hit("notification", asked, f"/console/notifications/{UUID(asked)}")]
        except ValueError:
            pass
        parts = asked.split()
        if len(parts) == 3 and parts[1].startswith("/"):
            user, source, event = parts
            made = ids.notification_id(source, event, None, user)
            return [Hit("notification", made, f"/console/notifications/{made}", f"{event} of {source} for {user}")]
        hits = [await self._address("email", asked, key)] if "@" in asked else []
        hits += [await self._address("sms", asked, key)] if _NUMBER.fullmatch(asked) else []
        if why_no_user_id(asked) is None:
            known = await self.records.notifications_of(asked)
            profile = await self.profiles.read(asked)
            if known or profile.version or not hits:
                says = f"{len(known)} notifications" if known or profile.version else "nothing is recorded"
                hits.append(Hit("user", asked, f"/console/users/{quote(asked, safe='')}", says))
        return hits

    async def _address(self, channel: Channel, asked: str, key: Key) -> Hit:
        kept = self.spelling.kept(channel, asked)
        command = ShowAddressV1(channel=channel, at=self.clock(), by=key.own_source, command_id=uuid4().hex)
        result = await self.commands.change(address_key(channel, kept), command)
        if not isinstance(result, CommandResultV1) or result.address is None:
            return Hit("address", asked, "", "the registry does not answer")
        held = ", ".join(one.reason for one in result.address.held) or "nothing is held against it"
        owners = ", ".join(sorted({one.user_id for one in result.address.owners})) or "nobody has it"
        return Hit("address", asked, "", f"{held}; {owners}")


def _decision(one: DecisionV1) -> dict[str, Any]:
    verdicts = "; ".join(f"{verdict.channel} {_word(verdict)}" for verdict in one.verdicts)
    data = msgspec.json.format(msgspec.json.encode(one), indent=1).decode()
    return {"revision": one.notification.revision, "at": one.now, "words": verdicts, "data": data}


def _word(verdict: Verdict) -> str:
    name, reason = type(verdict).__name__.lower(), getattr(verdict, "reason", None)
    return f"{name} ({reason})" if reason else name


def _sentence(profile: ProfileV1, notifications: int) -> str:
    usable = sum(one.verified and one.suppressed is None for one in profile.endpoints)
    where = f"reached at {usable} of {len(profile.endpoints)} endpoints" if profile.endpoints else "reached nowhere"
    return f"{notifications:,} notifications, {where}."


def _off(profile: ProfileV1) -> list[str]:
    channels = [channel for channel, on in profile.channels.items() if not on]
    cells = [f"{name} by {c}" for name, cells in profile.categories.items() for c, on in cells.items() if not on]
    return [*channels, *cells]


def _reached(one: Endpoint, now: int) -> Reached:
    held = one.suppressed is not None and (one.suppressed_until is None or one.suppressed_until > now)
    state = f"suppressed: {one.suppressed}" if held else "verified" if one.verified else "not verified"
    mood = "bad" if held else "ok" if one.verified else "warn"
    address = one.content.address if one.content is not None else ""
    return Reached(one.channel, one.platform or "", one.endpoint_id, _masked(one.channel, address), state, mood)


def _masked(channel: str, address: str) -> str:
    """Enough to recognise it by, not enough to use it."""
    if channel == "email":
        local, _, domain = address.rpartition("@")
        return f"{local[:1]}…@{domain}"
    return f"{address[:4]}…{address[-3:]}" if len(address) > 12 else "…"
