"""The end of a window: what waited in it becomes one notification that goes the way of every other."""

from collections.abc import Sequence

import msgspec

from notify_streams.domain import ids, windows
from notify_streams.domain.digest_lines import group, newest
from schemas.catalogue import Windows
from schemas.content import Content
from schemas.decisions import Suppress
from schemas.notifications import FlushV1, NotificationV1
from schemas.outcomes import OutcomeV1
from schemas.words import Channel, Lane, Reason

SOURCE = "/digest"
DIGEST_ENDPOINT = "digest"  # where what became of a digest that was not sent is told


def item_of(notification: NotificationV1, channel: Channel, revision: int) -> NotificationV1:
    """What is kept of a notification that waits: as it is to be decided next, on the channel alone."""
    return msgspec.structs.replace(notification, channels=(channel,), revision=revision + 1)


def digest(
    flush: FlushV1, user_id: str, members: Sequence[NotificationV1], limits: Windows, *, lane: Lane, at: int
) -> NotificationV1:
    """The notification that speaks for these, at least one. Its id follows from user, channel and numbered window.

    It takes type, tenant and language from the newest one, and where it has no lines the payload. It expires with the
    last of them. `at` in ms.
    """
    members = sorted(members, key=lambda member: (member.accepted_at, member.notification_id))
    last = newest(members)
    content = last.content or Content()
    told = group(members, shown=limits.shown, digest=windows.is_digest(flush.window))
    return NotificationV1(
        notification_id=ids.digest_id(user_id, flush.channel, flush.window, flush.number),
        user_id=user_id,
        type=last.type,
        source=SOURCE,
        event_id=f"{flush.channel}/{flush.window}/{flush.number}",
        accepted_at=at,
        expires_at=max(member.expires_at for member in members),
        origin=f"flush/{flush.channel}/{flush.window}/{flush.number}",
        lane=lane,
        channels=(flush.channel,),
        tenant=last.tenant,
        members=tuple(member.notification_id for member in members),
        aggregation_key=None if told.lines else last.aggregation_key,
        locale=last.locale,
        traceparent=last.traceparent,
        content=Content(group=told) if told.lines else msgspec.structs.replace(content, group=told),
    )


def not_sent(digest: NotificationV1, verdict: Suppress, now: int) -> OutcomeV1:
    """What its members are told where a digest is not sent: each of them waited for it. `now` in ms."""
    expired = verdict.reason in (Reason.EXPIRED, Reason.QUIET_PAST_EXPIRY)
    stopped = verdict.reason in (Reason.CANCELLED, Reason.COLLAPSED, Reason.READ)
    return OutcomeV1(
        delivery_id=ids.delivery_id(digest.notification_id, verdict.channel, DIGEST_ENDPOINT),
        notification_id=digest.notification_id,
        user_id=digest.user_id,
        type=digest.type,
        channel=verdict.channel,
        endpoint_id=DIGEST_ENDPOINT,
        state="expired" if expired else "cancelled" if stopped else "suppressed",
        at=now,
        lane=digest.lane,
        reason=verdict.reason,
        accepted_at=digest.accepted_at,
        tenant=digest.tenant,
        members=digest.members,
    )
