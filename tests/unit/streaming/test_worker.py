"""What a worker does with its tables before its app starts and after it has stopped."""

from pathlib import Path
from typing import Any

import pytest

from notify_streams import settings
from notify_streams.streaming import app as apps
from notify_streams.streaming import worker
from notify_streams.streaming.trust import MARK


@pytest.fixture
def app(tmp_path: Path) -> apps.App:
    """An app that has not started, with one table on its own disk."""
    config = settings.Settings(worker=settings.Worker(data=str(tmp_path)))
    built = apps.build(config, "tested")
    apps.table(built, "kept", "log")
    built.conf.tabledir.mkdir(parents=True)
    return built


def database(app: Any) -> Any:
    return app.tables["kept"].data._db_for_partition(0)


def is_marked(app: Any) -> bool:
    return Path(app.conf.datadir / MARK).exists()


def test_what_ended_with_everything_acknowledged_goes_on_with_its_rows(app: apps.App) -> None:
    database(app).put(b"a", b"row")
    worker.mark_tables(app)
    assert is_marked(app)
    worker.trust_tables(app)
    assert database(app).get(b"a") == b"row"
    assert not is_marked(app)


def test_what_ended_with_a_batch_that_nobody_acknowledged_starts_with_nothing(app: apps.App) -> None:
    database(app).put(b"a", b"row")
    app.unsettled = 1
    worker.mark_tables(app)
    assert not is_marked(app)
    worker.trust_tables(app)
    assert database(app).get(b"a") is None
