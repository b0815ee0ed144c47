"""A raw-bytes table, read and written by the partition of an event."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from faust.types import TP
from rocksdict import ReadOptions

from notify_streams.streaming.outgoing import Offsets, Outgoing


class StoreFailed(RuntimeError):
    """The local database refused (disk full, lock, corruption): nothing that a dead letter could mend."""


class ByEvent:
    """Access to one Faust table by explicit partition.

    Faust's own dictionary interface uses the partition of the *current* event, which in a batch is the last
    one, and queues changelog records whose failure nobody sees. Here the caller names the partition, and the
    changelog record goes out with everything else that follows from the batch.
    """

    def __init__(self, table: Any, prefix: str) -> None:
        self._table = table
        self._changelog: str = table.changelog_topic.get_topic_name()
        self._short = self._changelog.removeprefix(prefix)

    def get(self, partition: int, key: bytes) -> bytes | None:
        """The value as this process last wrote it, or None."""
        try:
            value: bytes | None = self._table.data._db_for_partition(partition).get(key)
        except Exception as error:
            raise StoreFailed(str(error)) from error
        return value

    def items(self, partition: int, from_key: bytes, to_key: bytes, limit: int) -> list[tuple[bytes, bytes]]:
        """At most `limit` entries with from_key <= key < to_key, in key order.

        A list: no iterator may live across an await (it keeps the database's lock through a rebalance). The upper
        bound is the database's own: a scan that merely stops early still crawls over the tombstones that lie
        between its last key and the next living one.
        """
        bounded = ReadOptions()
        bounded.set_iterate_upper_bound(to_key)
        found: list[tuple[bytes, bytes]] = []
        with _refusals():
            for key, value in self._table.data._db_for_partition(partition).items(from_key=from_key, read_opt=bounded):
                if len(found) >= limit:
                    break
                found.append((key, value))
        return found

    def write(self, partition: int, key: bytes, value: bytes, outgoing: Outgoing) -> None:
        """Queue the changelog record, and write the local database at once: what raises TooLarge is not written."""
        outgoing.add(self._short, partition, key, value)
        try:
            self._table.data._db_for_partition(partition).put(key, value)
        except Exception as error:
            raise StoreFailed(str(error)) from error

    def delete(self, partition: int, key: bytes, outgoing: Outgoing) -> None:
        """Delete locally at once, and queue the tombstone."""
        with _refusals():
            self._table.data._db_for_partition(partition).delete(key)
        outgoing.add(self._short, partition, key, None)

    def acknowledged(self, offsets: Offsets) -> None:
        """Note how much of the changelog the local database holds, so that recovery starts there."""
        for tp, offset in offsets.items():
            if tp.topic == self._changelog:
                self._table.data.set_persisted_offset(TP(tp.topic, tp.partition), offset)


@contextmanager
def _refusals() -> Iterator[None]:
    """The driver raises bare Exceptions; give them a name."""
    try:
        yield
    except Exception as error:
        raise StoreFailed(str(error)) from error
