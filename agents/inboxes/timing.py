"""A user's one timer: when something of their inbox is to be swept."""

import msgspec

from notify_streams.streaming import topics
from notify_streams.streaming.outgoing import Outgoing
from schemas.codec import encode
from schemas.inbox import InboxHeader, InboxSweepV1
from schemas.timers import PutTimerV1

TIMER_ID = "inbox-sweep"


def wake(partition: int, user: bytes, header: InboxHeader, outgoing: Outgoing) -> None:
    """Have the inbox swept when the header says; a later call replaces an earlier one."""
    if not header.swept_at:
        return
    timer = PutTimerV1(
        timer_id=TIMER_ID,
        due_at=header.swept_at,
        revision=header.sequence,
        target=topics.INBOX_COMMANDS,
        payload=msgspec.Raw(encode(InboxSweepV1(due_at=header.swept_at))),
        lane="low",
    )
    outgoing.add(topics.TIMERS, partition, user, encode(timer))
