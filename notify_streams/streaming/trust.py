"""Whether the tables on this worker's disk may be trusted: only after an orderly end.

Without a write-ahead log a database still writes its rows to disk whenever its buffer is full, also rows whose
changelog records the broker does not have yet. After a kill such a row would be taken for one that everybody knows:
its record comes again, is found done, and its changelog record is never written; the next worker that restores from
the changelog misses it for ever. So a mark says that the tables hold what the changelogs hold and no more. Without
it they are deleted, and restored from the changelogs, which takes seconds.
"""

import logging
import os
import shutil
from collections.abc import Iterator
from pathlib import Path

log = logging.getLogger(__name__)
MARK = "ended-clean"
TRUSTED_S = 5 * 86_400.0  # below the changelogs' delete.retention.ms: a row may be deleted there without a trace after


def begin(directory: Path, tables: Path, now: float) -> bool:
    """Before any table is opened: take the mark away; without a good one delete what is in `tables`.

    `directory` is the worker's own, `tables` lies in it, `now` is in seconds since 1970. A mark is good for TRUSTED_S,
    and only while no file of the tables is newer: a version that knows no marks has not been at work in between.
    Returns whether there are tables to go on with. Raises OSError: then the worker must not start.
    """
    files = list(_files(tables))
    trusted = _is_good(directory / MARK, files, now)
    (directory / MARK).unlink(missing_ok=True)
    _sync(directory)
    if trusted or not files:
        return trusted
    size = sum(file.stat().st_size for file in files)
    for entry in tables.iterdir():
        _delete(entry)
    log.warning("tables.distrusted bytes=%d files=%d: no orderly end before; they are restored", size, len(files))
    return False


def end(directory: Path) -> None:
    """After an orderly stop, with every database closed and nothing unacknowledged. Raises OSError."""
    descriptor = os.open(directory / MARK, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    try:
        os.utime(descriptor)
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
    _sync(directory)


def forget(database: Path) -> None:
    """Delete one closed database: its partition is somebody else's now, who deletes rows that this one still has."""
    if database.exists():
        shutil.rmtree(database)


def _is_good(mark: Path, files: list[Path], now: float) -> bool:
    if not mark.exists():
        return False
    ended = mark.stat().st_mtime_ns
    return 0 <= now - ended / 1e9 < TRUSTED_S and all(file.stat().st_mtime_ns <= ended for file in files)


def _files(tables: Path) -> Iterator[Path]:
    return (path for path in tables.rglob("*") if path.is_file())


def _delete(entry: Path) -> None:
    if entry.is_dir() and not entry.is_symlink():
        shutil.rmtree(entry)
    else:
        entry.unlink()


def _sync(directory: Path) -> None:
    descriptor = os.open(directory, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
