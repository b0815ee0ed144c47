"""One inbox, one mail, one thing that was not sent: fetched as anybody would fetch them."""

import email
import email.policy
from collections import Counter
from collections.abc import Sequence
from email.message import EmailMessage
from typing import Any

import aiohttp
import msgspec

from notify_streams.domain.status import NotificationStatus
from schemas.words import Channel, Reason, State

from .api import Api, ApiError
from .messages import MAIL, Entry

_HEADERS = ("From", "To", "Subject", "Message-ID", "Content-Language")
_ITEMS = 6


class Inbox(msgspec.Struct, frozen=True):
    """The newest items of a user, as the gateway shows them, and the count of unread ones."""

    user_id: str
    items: list[dict[str, Any]]
    unread: int


class Mail(msgspec.Struct, frozen=True):
    """As it reached the provider; `n` is its number in the simulator's log."""

    n: int
    headers: list[tuple[str, str]]
    text: str


class Untold(msgspec.Struct, frozen=True):
    """A channel that was decided against, with the story that explains it."""

    notification_id: str
    channel: Channel
    headline: str
    lines: list[str]
    ending: list[str]


async def inbox(api: Api, statuses: Sequence[NotificationStatus]) -> Inbox | None:
    """Of somebody who heard of many kinds of things. Raises ApiError."""
    kinds = {(s.user_id, s.type) for s in statuses if any(_is(c, "inapp", State.SENT) for c in s.channels)}
    if not kinds:
        return None
    [(user, _)] = Counter(user for user, _ in sorted(kinds)).most_common(1)
    path, token = f"/v1/users/{user}/inbox", api.secrets.token(user)
    page, counts = await api.get(f"{path}?limit={_ITEMS}", token), await api.get(f"{path}/counts", token)
    return Inbox(user, page["items"], counts["unread"])


async def mail(
    http: aiohttp.ClientSession, simulator: str, statuses: Sequence[NotificationStatus], entries: Sequence[Entry]
) -> Mail | None:
    """The last order confirmation that was taken at once, by a mailbox without a quirk. Raises ApiError."""
    orders = {d.delivery_id for s in statuses if s.type == "order.confirmed" for c in s.channels for d in c.deliveries}
    taken = [e for e in entries if _at_once(e) and e.delivery_id in orders]
    entry = taken[-1] if taken else None
    if entry is None:
        return None
    try:
        async with http.get(f"{simulator}/message/{entry.n}/source") as answer:
            parsed = email.message_from_bytes(await answer.read(), EmailMessage, policy=email.policy.default)
    except (aiohttp.ClientError, TimeoutError) as error:
        raise ApiError(f"{simulator}/message/{entry.n}/source: {error!r}") from error
    body = parsed.get_body(("plain",))
    text = "" if body is None else body.get_content().strip()
    return Mail(entry.n, [(name, str(parsed[name])) for name in _HEADERS if name in parsed], text)


async def untold(api: Api, statuses: Sequence[NotificationStatus]) -> Untold | None:
    """Something that a user's own preference held back. Raises ApiError."""
    for reason in (Reason.OPTED_OUT_OF_CATEGORY, Reason.OPTED_OUT_OF_CHANNEL):
        for status in statuses:
            for channel in status.channels:
                if channel.reason is reason and channel.channel == "email":
                    return await _explained(api, status.notification_id, channel.channel)
    return None


async def _explained(api: Api, notification_id: str, channel: Channel) -> Untold:
    story = await api.get(f"/v1/notifications/{notification_id}/explain", api.secrets.operator)
    lines = [line["text"] for line in story["lines"]]
    return Untold(notification_id, channel, story["headline"], lines, list(story["ending"]))


def _at_once(entry: Entry) -> bool:
    return entry.event == "accepted" and entry.provider in MAIL and "+" not in entry.to


def _is(channel: Any, name: Channel, state: State) -> bool:
    return bool(channel.channel == name and channel.state is state)
