"""Tables over real RocksDB for agents' `take`."""

from pathlib import Path

import pytest

from tests.fakes import Clock, Recording, Table


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path


@pytest.fixture
def outgoing() -> Recording:
    return Recording()


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def state_table(folder: Path) -> Table:
    return Table(folder / "state", "notify.state-log")


@pytest.fixture
def profile_table(folder: Path) -> Table:
    return Table(folder / "profiles", "notify.profiles")
