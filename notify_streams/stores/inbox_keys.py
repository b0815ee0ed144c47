"""Where an inbox's live part lies in Redis: names that its writer and every gateway share."""

from dataclasses import dataclass

from notify_streams.settings import Kafka


@dataclass(frozen=True, slots=True)
class InboxKeys:
    """Named after the topics' prefix and generation: two systems on one Redis share nothing.

    The braces keep all of one user's keys on one shard.
    """

    place: str

    @classmethod
    def of(cls, kafka: Kafka) -> "InboxKeys":
        """Those of this installation."""
        return cls(f"{kafka.prefix}:{kafka.generation}:")  # a topic's name has no colon

    def tail(self, user_id: str) -> str:
        """A sorted set of frames (JSON) by sequence: the last changes."""
        return f"{self.place}tail:{{{user_id}}}"

    def channel(self, user_id: str) -> str:
        """The sharded channel on which frames are published as they come."""
        return f"{self.place}live:{{{user_id}}}"

    def counts(self, user_id: str) -> str:
        """{"sequence", "unread", "unseen"} as JSON: set only once lists show all of it."""
        return f"{self.place}counts:{{{user_id}}}"

    def page(self, user_id: str) -> str:
        """The first page: `SEQUENCE:` and the body; good for as long as the counts are of that sequence."""
        return f"{self.place}page:{{{user_id}}}"

    def online(self, user_id: str) -> str:
        """A sorted set: the gateways that have a connection of this user, by when that is no longer known (s)."""
        return f"{self.place}online:{{{user_id}}}"

    def ticket(self, print_: str) -> str:
        """Whose a ticket is, by its hash."""
        return f"{self.place}ticket:{print_}"
