"""RocksDB for Faust's tables with one block cache and one write-buffer budget per process.

Faust gives every table and partition a cache of its own, by default 2 GiB each.
"""

import functools
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import rocksdict
from faust.stores import STORES
from faust.stores import rocksdb as stock
from faust.types import TP

from notify_streams.streaming import trust

SCHEME = "notifyrocks"
_MIB = 1024 * 1024


@functools.cache
def _budget() -> tuple[rocksdict.Cache, rocksdict.WriteBufferManager]:
    """One of each per process."""
    return rocksdict.Cache(16 * _MIB), rocksdict.WriteBufferManager(32 * _MIB, False)


def unlogged() -> Any:
    """Past the write-ahead log; all writes to a database, or none, or its rows and its offset part in a crash."""
    options: Any = rocksdict.WriteOptions()  # its stub calls the property a method
    options.disable_wal = True
    return options


class Options(stock.RocksDBOptions):
    """Small buffers, shared budget, filters that make a look-up of an unknown key cheap."""

    def open(self, path: Path, *, read_only: bool = False) -> Any:
        """Open or make the database at `path`.

        Without a write-ahead log, which would be three quarters of a write: the changelog is one. What was in the
        buffers is lost in a crash, and what was not may be rows that no changelog has: `streaming.trust` drops them.
        """
        database = rocksdict.Rdict(str(path), options=self.as_options())
        database.set_write_options(unlogged())
        return database

    def as_options(self) -> Any:
        """Sizes in bytes; together at most 48 MiB for all tables of the process."""
        cache, buffers = _budget()
        options = rocksdict.Options(raw_mode=True)
        options.create_if_missing(True)
        options.set_max_open_files(256)
        options.set_write_buffer_size(4 * _MIB)
        options.set_max_write_buffer_number(2)
        options.set_target_file_size_base(32 * _MIB)
        options.set_keep_log_file_num(2)
        options.set_write_buffer_manager(buffers)
        blocks = rocksdict.BlockBasedOptions()
        blocks.set_bloom_filter(10, False)
        blocks.set_block_cache(cache)
        blocks.set_cache_index_and_filter_blocks(True)
        # A whole index or filter is a quarter of a MiB, and a shard of the cache only twice that: they drive each other
        # out, and are read and unpacked for every look-up of a known key (600 µs at 300,000 keys; in parts 18 µs).
        blocks.set_index_type(rocksdict.BlockBasedIndexType.two_level_index_search())
        blocks.set_partition_filters(True)
        blocks.set_metadata_block_size(4096)
        blocks.set_pin_top_level_index_and_filter(True)
        options.set_block_based_table_factory(blocks)
        return options


class Store(stock.Store):
    """Found by the scheme `notifyrocks`."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.rocksdb_options = Options()

    def revoke_partitions(self, table: Any, tps: Iterable[TP]) -> None:
        """Close and delete what is somebody else's now.

        When it comes back after a week, its changelog may no longer say what was deleted meanwhile; and what is
        erased there must not stay here.
        """
        gone = [tp.partition for tp in tps if tp.topic in table.changelog_topic.topics]
        super().revoke_partitions(table, set(tps))
        for partition in gone:
            trust.forget(self.partition_path(partition))

    def close(self) -> None:
        """Write what is in the buffers to disk and close every database; nobody uses this store any more."""
        while self._dbs:
            self._dbs.popitem()[1].close()


def close(tables: Iterable[Any]) -> None:
    """Close the databases of these Faust tables. Raises an Exception where one cannot be written to disk."""
    for table in tables:
        table.data.close()


STORES.aliases[SCHEME] = f"{__name__}:Store"
