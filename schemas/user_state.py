"""What the orchestrator remembers of one user between notifications."""

import msgspec

from schemas.words import Channel, Lane, Reason


class Pending(msgspec.Struct, frozen=True, array_like=True):
    """A channel of a notification that a timer brings back.

    `resolved_at` in ms, 0 while it waits; `verdict` as in prints.
    """

    revision: int
    due_at: int
    origin: bytes = b""
    decided_at: int = 0
    profile_version: int = 0
    resolved_at: int = 0
    timer_id: str = ""
    verdict: int = 0


class Stopped(msgspec.Struct, frozen=True, array_like=True):
    """Why a notification may not be sent any more, on these channels (none named means all).

    Known from `at`, the last time it was said, and until `until` (ms).
    """

    until: int
    reason: Reason
    channels: tuple[Channel, ...] = ()
    at: int = 0


class Latest(msgspec.Struct, frozen=True, array_like=True):
    """The newest notification under a collapse key, and the last ones that were replaced. Instants in ms.

    What was accepted until `stopped_at` is cancelled, whenever it is met.
    """

    notification_id: str
    accepted_at: int
    expires_at: int
    replaced: tuple[str, ...] = ()
    stopped_at: int = 0


class Window(msgspec.Struct, frozen=True, array_like=True):
    """A window of a digest or an aggregation on one channel: value under a key of its own (msgpack). Instants in ms.

    `number` only grows. `closed_at` is 0 while it is open. `kind` is the reason for which its first item waits.
    `count` and `size` (bytes) are of its items. `source` is that of an aggregation: nobody writes into another's.
    """

    number: int
    channel: Channel
    key: str
    lane: Lane
    kind: Reason
    tenant: str
    opened_at: int
    due_at: int
    revision: int = 0
    count: int = 0
    closed_at: int = 0
    size: int = 0
    source: str = ""


class UserState(msgspec.Struct, frozen=True, array_like=True):
    """Value of the `user_state` table under the user's own key (msgpack).

    `seen` is a row of fixed-width prints, oldest first: see notify_streams.domain.dedup, which alone reads it.
    `pending` is keyed by the notification's id (16 bytes), the channel's index, and the endpoint where there is only
    one. `charged` is a row of what counted against the attention budget: see notify_streams.domain.budget. `stopped`
    is keyed by the print of the notification, `latest` by that of the collapse key. `older` names the hours whose
    prints are kept under keys of their own, as windows and what waits in them are: see tables.user_state.
    """

    seen: bytes = b""
    pending: dict[bytes, Pending] = {}
    charged: bytes = b""
    stopped: dict[bytes, Stopped] = {}
    older: tuple[int, ...] = ()
    latest: dict[bytes, Latest] = {}


EMPTY = UserState()
decode_user_state = msgspec.msgpack.Decoder(UserState).decode
decode_window = msgspec.msgpack.Decoder(Window).decode
