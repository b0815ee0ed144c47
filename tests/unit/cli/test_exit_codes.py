"""0 done, 1 failed, 2 wrong usage; and never a traceback."""

from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from notify_streams.cli import notify
from notify_streams.content.catalogue import EXAMPLE
from notify_streams.settings import SettingsError


@pytest.fixture(autouse=True)
def nothing_runs_here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("NOTIFY_CASSANDRA__PORT", "1")
    monkeypatch.setenv("NOTIFY_KAFKA__BOOTSTRAP", "127.0.0.1:1")


def run(words: str) -> Result:
    return CliRunner().invoke(notify, words.split())


@pytest.mark.parametrize(
    "words",
    [
        "frobnicate",
        "worker nobody",
        "worker ingest --instance -1",
        "send",
        "send order.confirmed --to ann --payload {",
        "publish absent.jsonl",
        "inspect no-uuid",
        "explain",
        "keys create a/b --role producer",
        "keys create ann --role nobody",
        "reconcile --since yesterday",
        "timers",
        "timers " + "u" * 129,
        "replay profiles",
    ],
)
def test_wrong_usage_is_2(words: str) -> None:
    assert run(words).exit_code == 2


@pytest.mark.parametrize(
    "words",
    [
        "status",
        "schema check",
        "topics check",
        "inspect 00000000-0000-0000-0000-000000000000",
        "explain 00000000-0000-0000-0000-000000000000",
        "send nobody.knows --to ann",
        "keys revoke nobody",
        "timers ann",
        "replay events.normal",
    ],
)
def test_what_cannot_be_done_is_1_and_a_sentence_on_standard_error(words: str) -> None:
    result = run(words)
    assert result.exit_code == 1
    assert isinstance(result.exception, SystemExit)
    assert result.stderr.strip()


def test_stopping_what_does_not_run_is_done() -> None:
    assert run("down").exit_code == 0


@pytest.mark.parametrize(
    "words",
    [
        *("", "up", "down", "status", "demo", "worker", "topics", "topics create", "topics check", "providers"),
        *("providers simulate", "config", "config check", "config show", "explain", "inspect", "reconcile", "schema"),
        *("schema create", "schema check", "gateway", "keys", "keys create", "keys list", "keys revoke", "send"),
        *("publish", "preferences", "preferences show", "preferences import", "timers", "replay"),
    ],
)
def test_every_command_says_what_it_is_for(words: str) -> None:
    result = run(f"{words} --help")
    assert result.exit_code == 0
    assert "Usage: " in result.output


@pytest.mark.parametrize("words", ["worker orchestrator", "worker ingest", "worker sender-email", "gateway"])
def test_a_catalogue_that_does_not_check_out_is_refused_at_once_with_its_line(
    words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not when the engines answer: here none does."""
    path = tmp_path / "catalogue.toml"
    path.write_text((EXAMPLE / "catalogue.toml").read_text().replace("hour = 20", "hour = 200"))
    monkeypatch.setenv("NOTIFY_CATALOGUE__PATH", str(path))
    refused = run(words).exception
    assert isinstance(refused, SettingsError)  # which `main` prints, and exits 2
    assert f"{path}, line 12: budget.hour: 200" in str(refused)
