"""Inbox items as rows, and what is said of them live."""

from uuid import UUID

from notify_streams.domain import inbox_groups, item_ids
from notify_streams.domain.rendered import RenderedInbox
from notify_streams.ports import InboxChange, InboxItem
from schemas.deliveries import DeliveryV1
from schemas.frames import Changed, ItemFrame
from schemas.inbox import InboxDone, InboxEntry, InboxGroup, InboxHeader
from tables.inbox_state import Given, Room


def item_of(
    delivery: DeliveryV1, rendered: RenderedInbox, category: str, given: Given, group: InboxGroup | None
) -> InboxItem:
    """The row that shows it."""
    names, others = inbox_groups.names(group) if group else ((), 0)
    return InboxItem(
        user_id=delivery.user_id,
        item_id=item_ids.id_of(given.row),
        notification_id=delivery.notification_id,
        type=delivery.type,
        category=category,
        accepted_at=item_ids.accepted_at(given.row),
        sequence=given.sequence,
        title=rendered.title,
        body=rendered.body,
        link=rendered.link,
        payload=b"{}" if delivery.content is None else bytes(delivery.content.payload),
        expires_at=given.entry.expires_at,
        stands_for=None if given.row == given.key else item_ids.id_of(given.key),
        count=1 if group is None else group.count,
        actors=names,
        others=others,
    )


def frame_of(item: InboxItem, header: InboxHeader) -> ItemFrame:
    """The item as it appears, with the header's counts."""
    return ItemFrame(sequence=item.sequence, unread=header.unread, unseen=header.unseen, item=item.view())


def replaced(user_id: str, given: Given) -> InboxChange:
    """The row before is shown no longer."""
    return InboxChange(user_id=user_id, item_id=item_ids.id_of(given.before), sequence=given.sequence, superseded=True)


def of_room(user_id: str, given: Given, room: Room) -> tuple[InboxChange, Changed]:
    """What was archived for an item, one sequence before it; with the counts of now where it is said again."""
    sequence, counts = given.sequence - 1, room.header or given.header
    change = InboxChange(user_id=user_id, item_id=item_ids.id_of(room.row), sequence=sequence, archived=True)
    ids = (str(item_ids.id_of(room.key)),)
    return change, Changed(
        sequence=sequence, unread=counts.unread, unseen=counts.unseen, state="archived", item_ids=ids
    )


def changes_of(user_id: str, done: InboxDone, entries: dict[bytes, InboxEntry]) -> list[InboxChange]:
    """The rows that a command has put into another state."""
    states: dict[str, dict[str, bool]] = {
        "read": {"read": True, "seen": True},
        "unread": {"read": False},
        "seen": {"seen": True},
        "archived": {"archived": True},
    }
    state = states.get(done.state)
    if state is None or done.up_to is not None:
        return []
    return [
        InboxChange(user_id=user_id, item_id=_row(key, entries.get(key)), sequence=done.sequence, **state)
        for key in item_ids.several(done.items)
    ]


def changed(done: InboxDone) -> Changed:
    """What a command did, said live."""
    return Changed(
        sequence=done.sequence,
        unread=done.unread,
        unseen=done.unseen,
        state=done.state,
        item_ids=tuple(str(item_ids.id_of(key)) for key in item_ids.several(done.items)),
        all=done.up_to is not None,
        up_to=done.up_to,
    )


def _row(key: bytes, entry: InboxEntry | None) -> UUID:
    return item_ids.id_of(key if entry is None else entry.row or key)
