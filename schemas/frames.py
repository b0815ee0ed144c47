"""What a live stream says, and what may be said to it: the frames of WebSocket and SSE."""

from datetime import datetime
from typing import Annotated, Literal

import msgspec

from schemas.inbox import MAX_ITEM_IDS, ItemId, ItemState


class ItemView(msgspec.Struct, frozen=True, kw_only=True):
    """An inbox item as people see it, in lists and in frames alike; the instant is RFC 3339 in UTC.

    `item_id` stays the same while an aggregated item grows; `sequence` is that of its last appearance on top.
    `count`, `actors` and `others` speak of an aggregated item: "Ann, Ben and 3 others".
    """

    item_id: str
    notification_id: str
    type: str
    category: str
    accepted_at: datetime
    sequence: int
    state: Literal["unread", "read", "archived"] = "unread"
    seen: bool = False
    title: str
    body: str = ""
    link: str | None = None
    count: int = 1
    actors: tuple[str, ...] = ()
    others: int = 0
    payload: msgspec.Raw


class _Frame(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True, tag_field="type"):
    """One JSON object per WebSocket message, or per SSE `data` with its type as `event` and its sequence as `id`."""


class Hello(_Frame, frozen=True, tag="hello"):
    """First of all: where the stream begins, and the counts that hold there."""

    sequence: int
    unread: int
    unseen: int


class ItemFrame(_Frame, frozen=True, tag="item"):
    """A new item on top, or an aggregated one that grew."""

    sequence: int
    unread: int
    unseen: int
    item: ItemView


class Changed(_Frame, frozen=True, tag="changed"):
    """Items are in another state: those of `item_ids`, or `all` whose sequence is at most `up_to`."""

    sequence: int
    unread: int
    unseen: int
    state: ItemState
    item_ids: tuple[str, ...] = ()
    all: bool = False
    up_to: int | None = None


class Reset(_Frame, frozen=True, tag="reset"):
    """What came between cannot be told any more: list again; the stream goes on after `sequence`."""

    reason: str
    sequence: int


class Ping(_Frame, frozen=True, tag="ping"):
    """Say `pong`."""


class Bye(_Frame, frozen=True, tag="bye"):
    """The gateway stops: come back in `reconnect_ms`, which differs from client to client."""

    reconnect_ms: int


class Read(_Frame, frozen=True, tag="read"):
    """The user has read these items."""

    item_ids: Annotated[tuple[ItemId, ...], msgspec.Meta(min_length=1, max_length=MAX_ITEM_IDS)]


class Seen(_Frame, frozen=True, tag="seen"):
    """The user has seen the list as of the last frame."""


class Pong(_Frame, frozen=True, tag="pong"):
    """The answer to a ping."""


ServerFrame = Hello | ItemFrame | Changed | Reset | Ping | Bye
ClientFrame = Read | Seen | Pong
decode_server_frame = msgspec.json.Decoder(ServerFrame).decode
decode_client_frame = msgspec.json.Decoder(ClientFrame).decode
