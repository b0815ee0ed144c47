"""What people do over a stream, on its way to the inbox role. There is no answer: the stream itself will show it."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from uuid import UUID

from notify_streams.domain import patch
from notify_streams.gateway.commands import new_command_id
from notify_streams.gateway.live.session import Command
from notify_streams.gateway.publisher import Publisher
from notify_streams.streaming import topics
from schemas.codec import encode
from schemas.inbox import InboxCommandV1


def _wall_clock() -> int:
    return time.time_ns() // 1_000_000


@dataclass(frozen=True, slots=True)
class Orders:
    """Commands onto the log. `clock` in ms."""

    publisher: Publisher
    clock: Callable[[], int] = _wall_clock

    async def give(self, user_id: str, command: Command) -> None:
        """Return once it is on the log; nothing for ids that no item can have. Raises Unavailable."""
        items = tuple(filter(_is_item, command.item_ids))
        if command.item_ids and not items:
            return
        value = InboxCommandV1(
            command_id=new_command_id(),
            action=command.action,
            item_ids=items,
            up_to=command.up_to,
            at=self.clock(),
            by=patch.BY_USER,
        )
        await self.publisher.publish(topics.INBOX_COMMANDS, user_id.encode(), encode(value))


def _is_item(text: str) -> bool:
    try:
        return UUID(text).version == 1 and len(text) == 36
    except ValueError:
        return False
