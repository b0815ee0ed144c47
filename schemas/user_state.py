"""What the orchestrator remembers of one user between notifications."""

import msgspec


class Pending(msgspec.Struct, frozen=True, array_like=True):
    """A channel of a notification that a timer will bring back. `resolved_at` in ms, 0 while it waits."""

    revision: int
    due_at: int
    origin: bytes = b""
    decided_at: int = 0
    profile_version: int = 0
    resolved_at: int = 0


class UserState(msgspec.Struct, frozen=True, array_like=True):
    """Value of the `user_state` table under the user's own key (msgpack).

    `seen` is a row of fixed-width prints, oldest first: see notify_streams.domain.dedup, which alone reads it.
    `pending` is keyed by the notification's id (16 bytes) and the channel's index. `charged` are instants (ms) of what
    counted against the attention budget. `stopped` maps prints of cancelled notifications to when that may be
    forgotten (ms). `older` names the hours whose prints are kept under keys of their own: see tables.user_state.
    """

    seen: bytes = b""
    pending: dict[bytes, Pending] = {}
    charged: tuple[int, ...] = ()
    stopped: dict[bytes, int] = {}
    older: tuple[int, ...] = ()


EMPTY = UserState()
decode_user_state = msgspec.msgpack.Decoder(UserState).decode
