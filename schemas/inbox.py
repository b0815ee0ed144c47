"""What the inbox role remembers of one user."""

import msgspec


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


decode_header = msgspec.msgpack.Decoder(InboxHeader).decode
decode_inbox_entry = msgspec.msgpack.Decoder(InboxEntry).decode
