"""`notify suppressions` before anything is sent: addresses and instants judged, lines read, nothing without --yes."""

from io import BytesIO
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from notify_streams.cli import notify
from notify_streams.cli.importing import Refused
from notify_streams.cli.suppressing import Suppressed, judged
from notify_streams.domain.addresses import address_key
from notify_streams.gateway.spelling import Spelling
from schemas.addresses import decode_change
from schemas.profiles import Address
from tests.builders import MAILBOX

GOOD = b'{"channel":"email","address":"Ann <Ann@Example.com>"}'


@pytest.fixture(autouse=True)
def nothing_runs_here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("NOTIFY_KAFKA__BOOTSTRAP", "127.0.0.1:1")


def lines(*content: bytes) -> list[Suppressed | Refused]:
    return list(judged(BytesIO(b"\n".join(content)), Spelling("DE")))


def run(*words: str, given: bytes | None = None) -> Result:
    return CliRunner().invoke(notify, ["suppressions", *words], input=given)


def test_a_line_is_an_address_in_any_spelling_and_why() -> None:
    """EML-14, SMS-01"""
    number = b'{"channel":"sms","address":"0170 1234567","reason":"opt_out","until":"2099-01-01T00:00:00Z"}'
    first, second = lines(GOOD, b"", number)
    assert isinstance(first, Suppressed)
    assert isinstance(second, Suppressed)
    assert (first.number, first.key) == (1, address_key("email", MAILBOX))
    assert (first.change.content, first.change.reason, first.change.by) == (
        Address("Ann@Example.com"),
        "manual",
        "/shell",
    )
    assert (second.number, second.key) == (3, address_key("sms", "+491701234567"))
    assert (second.change.reason, second.change.until) == ("opt_out", 4_070_908_800_000)
    record = second.record()
    assert (record.topic, record.key.decode(), record.command_id) == (
        "address-changes",
        second.key,
        second.change.command_id,
    )
    assert decode_change(record.value) == second.change
    assert first.change.command_id != second.change.command_id


@pytest.mark.parametrize(
    ("line", "field"),
    [
        (b"{", ""),
        (b"[]", ""),
        (b'{"address":"ann@example.com"}', "/channel"),
        (b'{"channel":"email"}', "/address"),
        (b'{"channel":"inapp","address":"ann"}', "/address"),
        (b'{"channel":"fax","address":"ann@example.com"}', "/channel"),
        (b'{"channel":"email","address":"ann@example.com."}', "/address"),
        (b'{"channel":"sms","address":"999"}', "/address"),
        (b'{"channel":"email","address":"ann@example.com","reason":"dislike"}', "/reason"),
        (b'{"channel":"email","address":"ann@example.com","reason":"mailbox_full"}', "/until"),
        (b'{"channel":"email","address":"ann@example.com","until":"2000-01-01T00:00:00Z"}', "/until"),
        (b'{"channel":"email","address":"ann@example.com","until":"2099-01-01T00:00:00"}', "/until"),
        (b'{"channel":"email","address":"ann@example.com","untill":null}', "/untill"),
        (b'{"channel":"email","address":"a@b.example","address":"c@d.example"}', "'address' is there twice"),
    ],
)
def test_a_bad_line_is_named_with_its_field_and_holds_nothing_up(line: bytes, field: str) -> None:
    before, bad, after = lines(GOOD, line, GOOD)
    assert isinstance(bad, Refused)
    assert (bad.number, bad.words.startswith(field)) == (2, True)
    assert isinstance(before, Suppressed)
    assert isinstance(after, Suppressed)


def test_without_yes_the_plan_is_all_there_is() -> None:
    Path("list.jsonl").write_bytes(GOOD + b"\n" + GOOD + b"\n{")
    result = run("import", "list.jsonl")
    assert result.exit_code == 1
    assert "2 suppressions to 127.0.0.1:1; 1 bad lines" in result.stderr
    assert "line 3: " in result.stderr
    assert "--yes is needed" in result.stderr


def test_a_dry_run_of_standard_input_is_judged_and_no_more() -> None:
    assert run("import", "-", "--dry-run", given=GOOD).exit_code == 0
    result = run("import", "-", "--dry-run", given=GOOD + b"\n{}")
    assert (result.exit_code, "1 suppressions" in result.stdout, "line 2: /channel" in result.stderr) == (1, True, True)


@pytest.mark.parametrize(
    "words",
    [
        ["show", "email"],
        ["show", "fax", "ann@example.com"],
        ["show", "inapp", "ann"],
        ["show", "email", "ann@example.com."],
        ["add", "sms", "999"],
        ["add", "email", MAILBOX, "--reason", "dislike"],
        ["add", "email", MAILBOX, "--reason", "mailbox_full"],
        ["add", "email", MAILBOX, "--until", "soon"],
        ["add", "email", MAILBOX, "--until", "2000-01-01T00:00:00Z"],
        ["add", "email", MAILBOX, "--until", "2099-01-01T00:00:00"],
        ["lift", "email", MAILBOX, "--only", "dislike"],
        ["import", "absent.jsonl"],
        [],
    ],
)
def test_wrong_usage_is_2(words: list[str]) -> None:
    assert run(*words).exit_code == 2


@pytest.mark.parametrize(
    "words",
    [
        ["show", "email", MAILBOX],
        ["add", "email", MAILBOX, "--until", "24h"],
        ["lift", "email", MAILBOX],
        ["import", "-", "--yes"],
    ],
)
def test_without_a_broker_it_says_so(words: list[str]) -> None:
    result = run(*words, given=GOOD)
    assert (result.exit_code, "no broker answers" in result.stderr) == (1, True)
