"""Alerts, dashboards and the code speak of the same metrics; the rules do what they say, by Prometheus' own judge."""

import importlib.util
import json
import re
import subprocess
from pathlib import Path
from types import ModuleType

import pytest
from prometheus_client import REGISTRY

import notify_streams.metrics  # noqa: F401  (it registers all that there is)

DOCKER = Path(__file__).parents[2] / "docker"
RULES, TESTS = DOCKER / "prometheus" / "notify.rules.yml", DOCKER / "prometheus" / "notify.rules.test.yml"
BOARDS = DOCKER / "grafana" / "dashboards"
# Of Prometheus' client library, about every process.
OTHERS = {"process_cpu_seconds_total", "process_resident_memory_bytes"}


def test_the_rules_hold_against_recorded_courses_of_their_metrics() -> None:
    judged = subprocess.run(["promtool", "test", "rules", TESTS.name], cwd=TESTS.parent, capture_output=True, text=True)
    assert judged.returncode == 0, judged.stdout + judged.stderr


def test_a_rule_that_is_bent_is_noticed(tmp_path: Path) -> None:
    """The judge can fail: with one threshold moved, the recorded course no longer fits."""
    (tmp_path / RULES.name).write_text(RULES.read_text().replace("> 10000", "> 20000"))
    (tmp_path / TESTS.name).write_text(TESTS.read_text())
    judged = subprocess.run(["promtool", "test", "rules", TESTS.name], cwd=tmp_path, capture_output=True, text=True)
    assert judged.returncode == 1
    assert "NotifyLag" in judged.stderr + judged.stdout


def test_every_alert_is_shown_to_come_and_the_readme_names_it() -> None:
    alerts = set(re.findall(r"- alert: (\w+)", RULES.read_text()))
    fired = set(re.findall(r"alertname: (\w+)\n\s+exp_alerts:\n\s+- exp_labels", TESTS.read_text()))
    assert alerts
    assert alerts - fired == set()
    readme = (DOCKER.parent / "README.md").read_text()
    assert [alert for alert in sorted(alerts) if f"`{alert}`" not in readme] == []


def test_what_alerts_and_dashboards_ask_for_is_there() -> None:
    known = _names() | set(re.findall(r"- record: (\S+)", RULES.read_text())) | OTHERS
    asked = [RULES.read_text(), *(expr for board in BOARDS.glob("*.json") for expr in _expressions(board))]
    names = {name for text in asked for name in re.findall(r"\b(?:notify[:_][a-z0-9_:]+|process_\w+)", text)}
    assert names - known == set()


@pytest.mark.parametrize("board", sorted(BOARDS.glob("*.json")), ids=lambda path: path.stem)
def test_every_expression_of_a_dashboard_is_one(board: Path, tmp_path: Path) -> None:
    exprs = [re.sub(r"\$\w+", ".*", expr) for expr in _expressions(board)]
    rules = [{"record": f"checked:{number}", "expr": expr} for number, expr in enumerate(exprs)]
    file = tmp_path / "rules.yml"
    file.write_text(json.dumps({"groups": [{"name": board.stem, "rules": rules}]}))  # JSON is YAML
    checked = subprocess.run(["promtool", "check", "rules", str(file)], capture_output=True, text=True)
    assert checked.returncode == 0, checked.stdout + checked.stderr


def test_the_dashboards_are_as_their_source_writes_them() -> None:
    assert {path.name: path.read_text() for path in BOARDS.glob("*.json")} == _source().written()


def test_panels_lie_beside_and_below_each_other() -> None:
    for board in BOARDS.glob("*.json"):
        places = [panel["gridPos"] for panel in json.loads(board.read_text())["panels"]]
        cells = [(x, y) for place in places for x in range(place["x"], place["x"] + place["w"]) for y in (place["y"],)]
        assert len(cells) == len(set(cells)), board.name
        assert all(place["x"] + place["w"] <= 24 for place in places)


def _names() -> set[str]:
    return set(REGISTRY._names_to_collectors)


def _expressions(board: Path) -> list[str]:
    panels = json.loads(board.read_text())["panels"]
    return [target["expr"] for panel in panels for target in panel["targets"]]


def _source() -> ModuleType:
    spec = importlib.util.spec_from_file_location("dashboards", DOCKER / "grafana" / "dashboards.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
