"""`notify providers simulate` with what it cannot use."""

from pathlib import Path

import pytest
from click.testing import CliRunner

from notify_streams.cli import notify

FREE = [f"--{kind}-port=0" for kind in ("smtp", "http", "apns")]


@pytest.mark.parametrize("port", ["70000", "-1", "65536"])
@pytest.mark.parametrize("kind", ["smtp", "http", "apns"])
def test_a_port_that_is_none_is_wrong_usage(kind: str, port: str) -> None:
    result = CliRunner().invoke(notify, ["providers", "simulate", *FREE, f"--{kind}-port={port}"])
    assert result.exit_code == 2
    assert f"--{kind}-port" in result.stderr


@pytest.mark.parametrize("name", ["words.json", "fcm.pem", "apns.p8"])
def test_a_key_that_is_none_is_named(name: str, tmp_path: Path) -> None:
    (tmp_path / name).write_text("hunter2")
    log = f"--log={tmp_path / 'log'}"
    result = CliRunner().invoke(notify, ["providers", "simulate", *FREE, f"--credentials={tmp_path}", log])
    assert result.exit_code == 1
    assert f"{tmp_path / name} cannot be read" in result.stderr
    assert "hunter2" not in result.stderr
