"""The `inbox_state` table: a header per user, and one key per item that holds its sequence."""

from notify_streams.streaming.outgoing import Outgoing
from schemas.codec import pack
from schemas.inbox import InboxEntry, InboxHeader, decode_header, decode_inbox_entry
from tables.by_event import ByEvent
from tables.keys import of_user

_NEW = InboxHeader()


class InboxStates(ByEvent):
    """All calls are synchronous: within one record nothing else sees a user's inbox half way."""

    def header(self, partition: int, user: bytes) -> InboxHeader:
        """The user's header, zeros for somebody new."""
        value = self.get(partition, of_user(user, b"h"))
        return _NEW if value is None else decode_header(value)

    def knows(self, partition: int, user: bytes, print_: bytes) -> bool:
        """Whether the item has its sequence already."""
        return self.get(partition, of_user(user, b"i", print_)) is not None

    def add(
        self, partition: int, user: bytes, print_: bytes, expires_at: int, outgoing: Outgoing
    ) -> tuple[int, InboxHeader, bool]:
        """Give the item its sequence, the stored one when it comes again.

        The sequence, the header after it, and whether the item is new.
        """
        key, header = of_user(user, b"i", print_), self.header(partition, user)
        known = self.get(partition, key)
        if known is not None:
            return decode_inbox_entry(known).sequence, header, False
        sequence = header.sequence + 1
        header = InboxHeader(sequence, header.unread + 1, header.unseen + 1, header.read_through)
        self.write(partition, key, pack(InboxEntry(sequence, expires_at=expires_at)), outgoing)
        self.write(partition, of_user(user, b"h"), pack(header), outgoing)
        return sequence, header, True
