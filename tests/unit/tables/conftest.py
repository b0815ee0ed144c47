"""Faust's side of a table, over real RocksDB."""

from pathlib import Path

import pytest

from tests.fakes import Recording, Table


@pytest.fixture
def table(tmp_path: Path) -> Table:
    return Table(tmp_path, "notify.the-changelog")


@pytest.fixture
def outgoing() -> Recording:
    return Recording()
