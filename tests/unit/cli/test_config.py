"""`notify config`: what it prints and how it ends."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from notify_streams.cli.config import config
from tests.rendering import Folder


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Folder:
    monkeypatch.chdir(tmp_path)
    folder = Folder(tmp_path)
    monkeypatch.setenv("NOTIFY_CATALOGUE__PATH", str(folder.path))
    monkeypatch.setenv("NOTIFY_TEMPLATES__PATH", str(tmp_path / "templates"))
    return folder


def run(*words: str) -> Result:
    return CliRunner().invoke(config, words)


def test_a_sound_catalogue_ends_with_0_and_says_what_each_type_needs(folder: Folder) -> None:
    folder.path.write_text(folder.path.read_text() + 'sample = {name = "Ann"}\n')
    folder.mail(text="{{ name }}").mail(locale="de").inbox()
    result = run("check")
    assert result.exit_code == 0
    assert "falls back" in result.output
    assert "name" in result.output


def test_a_sample_that_lacks_a_variable_ends_with_1_and_names_file_and_variable(folder: Folder) -> None:
    folder.mail(text="{{ name }}").inbox()
    result = run("check")
    assert result.exit_code == 1
    assert "order.confirmed/en/email.txt: name is missing" in result.output


def test_a_broken_file_ends_with_1_and_is_named(folder: Folder) -> None:
    folder.path.write_text("channels = 1")
    result = run("check")
    assert result.exit_code == 1
    assert str(folder.path) in result.output


def test_json_lists_every_result(folder: Folder) -> None:
    folder.mail().inbox()
    found = json.loads(run("check", "--json").output)
    assert [(r["channel"], r["outcome"]) for r in found["results"]] == [("inapp", "ok"), ("email", "ok")]


def test_show_masks_what_is_secret(folder: Folder, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NOTIFY_PROVIDERS__SMTP__PASSWORD", "hunter2")
    for result in (run("show"), run("show", "--json")):
        assert result.exit_code == 0
        assert "hunter2" not in result.output
        assert "***" in result.output
    assert json.loads(run("show", "--json").output)["catalogue"]["path"] == str(folder.path)
