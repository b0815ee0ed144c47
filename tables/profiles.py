"""The `profiles` table; its changelog is the public topic `notify.profiles`, keyed by the plain user id."""

from notify_streams.streaming.outgoing import Outgoing
from schemas.codec import encode
from schemas.profiles import NOBODY, ProfileV1, decode_profile
from tables.by_event import ByEvent


class Profiles(ByEvent):
    """Typed access; keys are user ids."""

    def load(self, partition: int, user: bytes) -> ProfileV1:
        """The user's profile, defaults for somebody unknown."""
        value = self.get(partition, user)
        return NOBODY if value is None else decode_profile(value)

    def store(self, partition: int, user: bytes, profile: ProfileV1, outgoing: Outgoing) -> None:
        """Replace the user's profile."""
        self.write(partition, user, encode(profile), outgoing)
