"""What a client of a live stream sees, and frames as the inbox role makes them."""

from collections.abc import Iterable, Sequence

import msgspec

from notify_streams.gateway.live.session import Act, Send
from notify_streams.gateway.live.told import Change, Reading, Told, change_of
from notify_streams.ports import InboxCounts
from schemas.codec import encode
from schemas.frames import Changed, Hello, Reset, decode_server_frame


def a_change(sequence: int) -> Change:
    """Everything is unread."""
    frame = Changed(sequence=sequence, unread=sequence, unseen=0, state="unread", item_ids=(f"item-{sequence}",))
    return change_of(encode(frame))


def a_reading(sequence: int, *told: int) -> Reading:
    """An inbox at this sequence, whose tail tells these changes."""
    return Reading(InboxCounts(sequence, sequence, 0), tuple(map(a_change, told)))


def sent(acts: Iterable[Act]) -> list[Told]:
    """Only the frames."""
    return [frame for act in acts if isinstance(act, Send) for frame in act.frames]


def words(acts: Iterable[Act]) -> list[tuple[str, int | None]]:
    """Types and sequences of the frames."""
    return [(frame.type, frame.sequence) for frame in sent(acts)]


class Client(msgspec.Struct):
    """Keeps to the protocol, and finds it broken when it is. `at` is the last sequence it was told of."""

    at: int | None = None
    resets: int = 0
    seen: list[int] = []

    def take(self, frames: Sequence[Told]) -> None:
        """Raises AssertionError for a gap, a repeat, or a wrong beginning."""
        for one in frames:
            match decode_server_frame(one.payload):
                case Hello(sequence=sequence):
                    self.at = sequence if self.at is None else self.at
                case Reset(sequence=sequence):
                    self.at, self.resets = sequence, self.resets + 1
                case Changed(sequence=sequence, unread=unread):
                    assert self.at is not None, "a change came before the hello"
                    assert sequence == self.at + 1, f"{sequence} came after {self.at}"
                    assert unread == sequence
                    self.at = sequence
                    self.seen.append(sequence)
                case _:
                    pass
