"""`notify keys create` says where the key is."""

from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from notify_streams.cli import notify


@pytest.fixture(autouse=True)
def nothing_runs_here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def created(name: str) -> Result:
    result = CliRunner().invoke(notify, ["keys", "create", name, "--role", "producer"])
    assert result.exit_code == 0
    assert result.stdout.startswith("nk_")
    return result


def test_the_file_is_named_whole_and_a_new_one_is_said_to_be_new(tmp_path: Path) -> None:
    path = tmp_path / ".local" / "keys.json"
    first = created("shop").stderr
    assert f"{path} is a new file: a gateway knows the key only if its auth.keys_file names it" in first
    assert f"producer key shop is in {path} (auth.keys_file)" in first
    second = created("bank").stderr
    assert "new file" not in second
    assert f"producer key bank is in {path} (auth.keys_file)" in second
