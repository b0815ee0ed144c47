"""Which partition a user's records are on: Kafka's murmur2, the same for every topic."""

from functools import lru_cache

from aiokafka.partitioner import murmur2


class Partitions:
    """Hashing in Python costs ten microseconds: remember the users met last."""

    def __init__(self, count: int) -> None:
        self._count = count
        self.of = lru_cache(maxsize=50_000)(self._hashed)

    def _hashed(self, key: bytes) -> int:
        partition: int = (murmur2(key) & 0x7FFFFFFF) % self._count
        return partition
