"""The end of a window: what waited in it becomes one notification that goes the way of every other."""

from collections.abc import Sequence

import msgspec

from notify_streams.domain import ids, windows
from notify_streams.domain.digest_lines import group, newest
from notify_streams.domain.meeting import origin_of_timer
from schemas.catalogue import Windows
from schemas.content import Content
from schemas.decisions import Suppress
from schemas.notifications import NotificationV1
from schemas.outcomes import OutcomeV1
from schemas.user_state import Window
from schemas.words import ENDS, Channel

SOURCE = "/digest"
DIGEST_ENDPOINT = "digest"  # where what became of a digest that was not sent is told


def item_of(notification: NotificationV1, channel: Channel, revision: int) -> NotificationV1:
    """What is kept of a notification that waits: as it is to be decided next, on the channel alone."""
    return msgspec.structs.replace(notification, channels=(channel,), revision=revision + 1)


def given_back(item: NotificationV1, window: Window) -> NotificationV1:
    """An item of a type that the catalogue has no more, as a record of its own: to be buried, and perhaps redriven."""
    return msgspec.structs.replace(item, origin=origin_of_timer(f"flush/{window.channel}/{window.key}", window.number))


def digest(window: Window, user_id: str, members: Sequence[NotificationV1], limits: Windows) -> NotificationV1:
    """The notification that speaks for these, at least one. Its id follows from user, channel and numbered window.

    It takes type, tenant and language from the newest one, and where it has no lines the payload. It expires with the
    last of them.
    """
    members = sorted(members, key=lambda member: (member.accepted_at, member.notification_id))
    last = newest(members)
    content = last.content or Content()
    told = group(members, shown=limits.shown, digest=windows.is_digest(window.key))
    name = f"{window.key}@{window.source}" if window.source else window.key
    place = f"{window.channel}/{name}/{window.number}"
    return NotificationV1(
        notification_id=ids.digest_id(user_id, window.channel, name, window.number),
        user_id=user_id,
        type=last.type,
        source=SOURCE,
        event_id=place,
        accepted_at=window.closed_at,
        expires_at=max(member.expires_at for member in members),
        origin=f"flush/{place}",
        lane=window.lane,
        channels=(window.channel,),
        tenant=last.tenant,
        members=tuple(member.notification_id for member in members),
        aggregation_key=None if told.lines else last.aggregation_key,
        locale=last.locale,
        traceparent=last.traceparent,
        content=Content(group=told) if told.lines else msgspec.structs.replace(content, group=told),
    )


def is_digest(notification: NotificationV1) -> bool:
    """Whether it has lines: it costs no attention budget, as an aggregation does."""
    content = notification.content
    return content is not None and content.group is not None and bool(content.group.lines)


def not_sent(unsent: NotificationV1, verdict: Suppress, now: int) -> OutcomeV1:
    """What its members are told where a digest is not sent: each of them waited for it. `now` in ms."""
    return OutcomeV1(
        delivery_id=ids.delivery_id(unsent.notification_id, verdict.channel, DIGEST_ENDPOINT),
        notification_id=unsent.notification_id,
        user_id=unsent.user_id,
        type=unsent.type,
        channel=verdict.channel,
        endpoint_id=DIGEST_ENDPOINT,
        state=ENDS.get(verdict.reason, "suppressed"),
        at=now,
        lane=unsent.lane,
        reason=verdict.reason,
        accepted_at=unsent.accepted_at,
        tenant=unsent.tenant,
        members=unsent.members,
    )
