"""What may be asked of an inbox, the answer, and what the inbox role remembers of one user."""

from typing import Annotated, Literal

import msgspec

from schemas.commands import CommandResultV1, FieldError
from schemas.content import Actor
from schemas.words import Millis, Sequence

ItemState = Literal["unread", "read", "seen", "archived", "expired"]
InboxAction = Literal["read", "unread", "archive", "seen"]
MAX_ITEM_IDS = 100
ItemId = Annotated[str, msgspec.Meta(max_length=36)]


class InboxCommandV1(
    msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True, tag="inbox-command.v1", tag_field="schema"
):
    """Published on `notify.inbox-commands`, keyed by user id: what somebody did to their inbox.

    Either the items of `item_ids`, or all whose sequence is at most `up_to` (`read` and `seen` only). `at` is when the
    gateway took it (ms). Items that are not there, or are so already, are left as they are.
    """

    command_id: Annotated[str, msgspec.Meta(max_length=128)]
    action: InboxAction
    item_ids: Annotated[tuple[ItemId, ...], msgspec.Meta(max_length=MAX_ITEM_IDS)] = ()
    up_to: Sequence | None = None
    at: Millis
    by: str = ""


class InboxSweepV1(
    msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True, tag="inbox-sweep.v1", tag_field="schema"
):
    """Brought to `notify.inbox-commands` by a timer: something of the user's inbox may have expired."""

    due_at: Millis


class InboxResultV1(
    msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True, tag="inbox-result.v1", tag_field="schema"
):
    """Published on `notify.command-results` once an inbox command is done: lists and counts show it from now on.

    The counts are those after it, and hold at `sequence`.
    """

    command_id: str
    user_id: str
    status: Literal["applied", "invalid"] = "applied"
    sequence: int = 0
    unread: int = 0
    unseen: int = 0
    errors: tuple[FieldError, ...] = ()


class InboxHeader(msgspec.Struct, frozen=True, array_like=True):
    """Value of `inbox_state` under the user's own key (msgpack): the last sequence given out, and what holds there.

    Whatever appeared at or before `read_through` is read, at or before `seen_through` seen. `swept_at` is when the
    user's one timer is due (ms), 0 for none. `commands` counts what was carried out, `applied_through` is the offset
    of the last one in that `generation` of the topic. Nothing older than the item of the key `oldest` is unread.
    """

    sequence: int = 0
    unread: int = 0
    unseen: int = 0
    read_through: int = 0
    seen_through: int = 0
    swept_at: int = 0
    commands: int = 0
    generation: int = 0
    applied_through: int = -1
    oldest: bytes = b""


class InboxEntry(msgspec.Struct, frozen=True, array_like=True):
    """Value of `inbox_state` under an item's key (msgpack): its state, and when it expires (ms).

    `sequence` is that of its last appearance on top, `fresh` that of the last time it became unread. `gone` says why
    it is in no count any more: 1 archived, 2 expired. `row` is the key of the row that shows it, where that is not the
    item's own. `ids` are its newest notifications (16 bytes each) and `channels` the other ones of its type, a bit for
    each, where reading it may stop something. `evicted` is the item that had to make room for it, one sequence before
    it. `group` is the key of the group that it shows.
    """

    sequence: int
    read: bool = False
    seen: bool = False
    expires_at: int = 0
    fresh: int = 0
    gone: int = 0
    row: bytes = b""
    ids: bytes = b""
    channels: int = 0
    evicted: bytes = b""
    group: bytes = b""


class InboxMember(msgspec.Struct, frozen=True, array_like=True):
    """Value of `inbox_state` under the print of a notification that an aggregated item tells of (msgpack).

    Its sequence, the item, the row that was written for it and the one that this replaced; kept until then (ms).
    """

    sequence: int
    item: bytes
    row: bytes
    before: bytes
    kept_until: int
    evicted: bytes = b""


class InboxGroup(msgspec.Struct, frozen=True, array_like=True):
    """Value of `inbox_state` under an aggregation key (msgpack): what its item tells of, kept until then (ms).

    `actors` are the newest few, `prints` four bytes for each of the last distinct ones, `distinct` how many there were.
    """

    item: bytes
    opened_at: int
    kept_until: int
    count: int = 0
    distinct: int = 0
    actors: tuple[Actor, ...] = ()
    prints: bytes = b""


class InboxDone(msgspec.Struct, frozen=True, array_like=True):
    """Value of `inbox_state` under a command's slot (msgpack): what it did, so that it can be said again.

    `sequence` is 0 where it changed nothing. `items` are keys, joined; with `up_to` it was about all until there.
    """

    command_id: str
    sequence: int
    unread: int
    unseen: int
    state: ItemState = "read"
    items: bytes = b""
    up_to: int | None = None


decode_answer = msgspec.json.Decoder(CommandResultV1 | InboxResultV1).decode
decode_inbox_record = msgspec.json.Decoder(InboxCommandV1 | InboxSweepV1).decode
decode_header = msgspec.msgpack.Decoder(InboxHeader).decode
decode_inbox_entry = msgspec.msgpack.Decoder(InboxEntry).decode
decode_inbox_member = msgspec.msgpack.Decoder(InboxMember).decode
decode_inbox_group = msgspec.msgpack.Decoder(InboxGroup).decode
decode_inbox_done = msgspec.msgpack.Decoder(InboxDone).decode
