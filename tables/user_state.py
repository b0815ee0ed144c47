"""The `user_state` table: one value per user, one read and one write per notification."""

from notify_streams.streaming.outgoing import Outgoing
from schemas.codec import pack
from schemas.user_state import EMPTY, UserState, decode_user_state
from tables.by_event import ByEvent
from tables.keys import of_user


class UserStates(ByEvent):
    """Typed access; keys are user ids. Other kinds of keys of the same user have room beside `s`."""

    def load(self, partition: int, user: bytes) -> UserState:
        """The user's state, empty for somebody new."""
        value = self.get(partition, of_user(user, b"s"))
        return EMPTY if value is None else decode_user_state(value)

    def store(self, partition: int, user: bytes, state: UserState, outgoing: Outgoing) -> None:
        """Replace the user's state."""
        self.write(partition, of_user(user, b"s"), pack(state), outgoing)
