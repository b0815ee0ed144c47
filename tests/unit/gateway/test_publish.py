"""`notify publish` judges lines before it sends them."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from notify_streams.cli.publish import publish

GOOD = {
    "specversion": "1.0",
    "id": "1",
    "source": "/s",
    "type": "order.confirmed",
    "data": {"recipients": ["a", "b"], "payload": {"order": "1", "total": "9 EUR"}},
}


@pytest.fixture
def lines(tmp_path: Path) -> str:
    path = tmp_path / "events.jsonl"
    path.write_text("\n".join([json.dumps(GOOD), "", '{"x":NaN}', json.dumps(GOOD | {"type": "no.such"})]) + "\n")
    return str(path)


def test_a_bad_line_names_its_number_and_its_fault(lines: str) -> None:
    result = CliRunner().invoke(publish, ["--dry-run", "--json", lines])
    assert result.exit_code == 1
    assert result.stderr.splitlines() == [
        "line 3: $.x: NaN is no JSON number",
        "line 4: $.type: the catalogue has no type 'no.such'",
    ]
    summary = json.loads(result.stdout)
    assert (summary["events"], summary["notifications"], summary["bad_lines"]) == (1, 2, 2)


def test_with_strict_one_bad_line_stops_all(lines: str) -> None:
    result = CliRunner().invoke(publish, ["--strict", lines])
    assert result.exit_code == 1
    assert "nothing was sent: 2 bad lines" in result.stderr
