"""What may be asked of an inbox, the answer, and what the inbox role remembers of one user."""

from typing import Annotated, Literal

import msgspec

from schemas.commands import CommandResultV1, FieldError
from schemas.words import Millis, Sequence

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
    """Value of `inbox_state` under the user's own key (msgpack): the last sequence given out, and the counts."""

    sequence: int = 0
    unread: int = 0
    unseen: int = 0
    read_through: int = 0


class InboxEntry(msgspec.Struct, frozen=True, array_like=True):
    """Value of `inbox_state` under an item's key (msgpack): its sequence, its state, when it expires (ms)."""

    sequence: int
    read: bool = False
    seen: bool = False
    expires_at: int = 0


decode_answer = msgspec.json.Decoder(CommandResultV1 | InboxResultV1).decode
decode_inbox_record = msgspec.json.Decoder(InboxCommandV1 | InboxSweepV1).decode
decode_header = msgspec.msgpack.Decoder(InboxHeader).decode
decode_inbox_entry = msgspec.msgpack.Decoder(InboxEntry).decode
