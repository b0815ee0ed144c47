"""`notify preferences import` before anything is sent: lines judged, the plan shown, nothing without --yes."""

from io import BytesIO
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from notify_streams.cli import notify
from notify_streams.cli.importing import Change, Refused, judged
from schemas.profiles import QuietHours
from tests.wire.gateway_parts import CATALOGUE

GOOD = b'{"user_id":"ann","preferences":{"channels":{"email":false}}}'


@pytest.fixture(autouse=True)
def nothing_runs_here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("NOTIFY_KAFKA__BOOTSTRAP", "127.0.0.1:1")


def lines(*content: bytes) -> list[Change | Refused]:
    return list(judged(BytesIO(b"\n".join(content)), CATALOGUE))


def run(*words: str, given: bytes | None = None) -> Result:
    return CliRunner().invoke(notify, ["preferences", "import", *words], input=given)


def test_a_line_is_a_user_and_the_body_of_a_patch() -> None:
    window = b'{"user_id":"ben","if_match":3,"preferences":{"quiet_hours":[{"start":"22:00","end":"07:00"}]}}'
    first, second = lines(GOOD, b"  ", window)
    assert isinstance(first, Change)
    assert isinstance(second, Change)
    assert (first.number, first.user_id, first.command.patch.channels) == (1, "ann", {"email": False})
    assert (second.number, second.user_id, second.command.if_match) == (3, "ben", 3)
    assert second.command.patch.quiet_hours == (QuietHours(start="22:00", end="07:00"),)
    assert first.command.command_id != second.command.command_id


@pytest.mark.parametrize(
    ("line", "field"),
    [
        (b"{", ""),
        (b"[]", ""),
        (b'{"preferences":{}}', "/user_id"),
        (b'{"user_id":"ann"}', "/preferences"),
        (b'{"user_id":"","preferences":{}}', "/user_id"),
        (b'{"user_id":7,"preferences":{}}', "/user_id"),
        (b'{"user_id":"ann","preferences":{},"if_mach":1}', "/if_mach"),
        (b'{"user_id":"ann","preferences":{},"if_match":"1"}', "/if_match"),
        (b'{"user_id":"ann","preferences":[]}', "/preferences"),
        (b'{"user_id":"ann","preferences":{"zone":"Mars/Base"}}', "/preferences/zone"),
        (b'{"user_id":"ann","preferences":{"digest_at":"25:00"}}', "/preferences/digest_at"),
        (b'{"user_id":"ann","preferences":{"channel":{"email":false}}}', "/preferences/channel"),
        (b'{"user_id":"ann","preferences":{"channels":{"fax":false}}}', "/preferences/channels/fax"),
        (
            b'{"user_id":"ann","preferences":{"quiet_hours":[{"start":"22:00","end":"07:00","dayz":["mon"]}]}}',
            "/preferences/quiet_hours/0/dayz: unknown field; did you mean days?",
        ),
        (b'{"user_id":"ann","user_id":"ben","preferences":{}}', "'user_id' is there twice"),
        (b'{"user_id":"ann","preferences":{"channels":{"email":true,"email":false}}}', "'email' is there twice"),
        (b'{"user_id":"ann","preferences":{"quiet_hours":[7]}}', "/preferences/quiet_hours/0"),
        (
            b'{"user_id":"ann","preferences":{"categories":{"orders":{"push":true}}}}',
            "/preferences/categories/orders/push",
        ),
        (b'{"user_id":"ann","preferences":{"categories":{"x":{"email":false}}}}', "/preferences/categories/x"),
        (
            b'{"user_id":"ann","preferences":{"categories":{"security":{"email":false}}}}',
            "/preferences/categories/security/email",
        ),
        (b'{"user_id":"ann","preferences":' + b"[" * 40 + b"]" * 40 + b"}", ""),
    ],
)
def test_a_bad_line_is_named_with_its_field_and_holds_nothing_up(line: bytes, field: str) -> None:
    """PRF-09."""
    before, bad, after = lines(GOOD, line, GOOD)
    assert isinstance(bad, Refused)
    assert bad.number == 2
    assert bad.words.startswith(field)
    assert isinstance(before, Change)
    assert isinstance(after, Change)


def test_without_yes_the_plan_is_all_there_is() -> None:
    Path("changes.jsonl").write_bytes(GOOD + b"\n" + GOOD)
    result = run("changes.jsonl")
    assert result.exit_code == 1
    assert "2 changes of preferences to 127.0.0.1:1; 0 bad lines" in result.stderr
    assert "--yes is needed" in result.stderr


def test_a_dry_run_names_the_bad_lines_of_standard_input() -> None:
    good = b'{"user_id":"ann","preferences":{"locale":"fr"}}\n'
    bad = b'{"user_id":"ann","preferences":{"locale":"!"}}\n'
    result = run("-", "--dry-run", given=good + bad + good)
    assert result.exit_code == 1
    assert "2 changes of preferences" in result.stdout
    assert "line 2: /preferences/locale: " in result.stderr
    assert run("-", "--dry-run", given=good).exit_code == 0


def test_without_a_broker_it_says_so() -> None:
    result = run("-", "--yes", "--json", given=GOOD)
    assert result.exit_code == 1
    assert "no broker answers" in result.stderr


@pytest.mark.parametrize("words", [["absent.jsonl"], ["-", "--patience", "soon"], []])
def test_wrong_usage_is_2(words: list[str]) -> None:
    assert run(*words).exit_code == 2


def test_a_user_that_cannot_be_is_wrong_usage() -> None:
    assert CliRunner().invoke(notify, ["preferences", "show", "a\nb"]).exit_code == 2
