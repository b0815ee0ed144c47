"""The `addresses` table of the registry: who has an address and what is held against it, by address key."""

from notify_streams.streaming.outgoing import Outgoing
from schemas.addresses import AddressState, decode_address
from schemas.codec import pack
from tables.by_event import ByEvent


class Addresses(ByEvent):
    """Typed access; keys are those of the records on `address-changes`."""

    def load(self, partition: int, key: bytes) -> AddressState | None:
        """What is kept of the address, None for one that nobody has and nothing is held against."""
        value = self.get(partition, key)
        return None if value is None else decode_address(value)

    def store(self, partition: int, key: bytes, state: AddressState | None, outgoing: Outgoing) -> None:
        """Replace it; None forgets the address."""
        if state is None:
            self.delete(partition, key, outgoing)
        else:
            self.write(partition, key, pack(state), outgoing)
