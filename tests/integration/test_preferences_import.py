"""`notify preferences import` on a real broker: pipelined, confirmed, counted."""

import asyncio
import json
import os
import sys
from asyncio.subprocess import PIPE
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from uuid import uuid4

import msgspec
import pytest

from notify_streams import bootstrap, settings
from notify_streams.settings import Settings
from notify_streams.streaming import topics
from tests.orchestrating import orchestrate

NAMES = (topics.USER_COMMANDS, topics.COMMAND_RESULTS)


@pytest.fixture
async def own(kafka: settings.Kafka) -> settings.Kafka:
    """Topics of this test's own."""
    mine = msgspec.structs.replace(kafka, prefix=f"imp-{uuid4().hex[:8]}.", partitions=2)
    await topics.create(mine, [t for t in topics.all_topics(mine) if t.name in NAMES])
    return mine


@asynccontextmanager
async def an_orchestrator(kafka: settings.Kafka, *, silent_after: int | None = None) -> AsyncIterator[None]:
    task = asyncio.create_task(orchestrate(kafka, bootstrap.catalogue(Settings()), silent_after=silent_after))
    yield
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)


async def imported(kafka: settings.Kafka, file: Path, *words: str) -> tuple[int, dict[str, float], str]:
    """Exit code, summary, and what was said on standard error."""
    environment = {
        **os.environ,
        "NOTIFY_KAFKA__BOOTSTRAP": kafka.bootstrap,
        "NOTIFY_KAFKA__PREFIX": kafka.prefix,
        "NOTIFY_KAFKA__PARTITIONS": str(kafka.partitions),
    }
    command = ("preferences", "import", str(file), "--yes", "--json", *words)
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "notify_streams", *command, env=environment, stdout=PIPE, stderr=PIPE
    )
    out, said = await process.communicate()
    assert out, said.decode()
    return process.returncode or 0, json.loads(out), said.decode()


def written(path: Path, *lines: object) -> Path:
    path.write_text("\n".join(line if isinstance(line, str) else json.dumps(line) for line in lines))
    return path


def a_line(user: str, *, if_match: int | None = None, **preferences: object) -> dict[str, object]:
    line: dict[str, object] = {"user_id": user, "preferences": preferences}
    return line if if_match is None else {**line, "if_match": if_match}


async def test_ten_thousand_lines_take_seconds(own: settings.Kafka, tmp_path: Path) -> None:
    file = written(
        tmp_path / "all.jsonl", *(a_line(f"user-{n}", channels={"email": n % 2 == 0}) for n in range(10_000))
    )
    async with an_orchestrator(own):
        code, summary, said = await imported(own, file)
    assert (code, summary["applied"], summary["lines"]) == (0, 10_000, 10_000)
    assert summary["seconds"] < 10
    assert "10,000 changes of preferences" in said


async def test_what_cannot_be_is_reported_and_the_rest_is_applied(own: settings.Kafka, tmp_path: Path) -> None:
    file = written(
        tmp_path / "some.jsonl",
        a_line("ann", locale="fr"),
        a_line("ann", zone="Mars/Base"),
        a_line("ann", if_match=7, locale="de"),
        a_line("ann", if_match=1, locale="it"),
        "{",
    )
    async with an_orchestrator(own):
        code, summary, said = await imported(own, file)
    counts = {name: summary[name] for name in ("lines", "applied", "bad_lines", "conflict", "invalid", "unconfirmed")}
    expected = {"lines": 5, "applied": 2, "bad_lines": 2, "conflict": 1, "invalid": 0, "unconfirmed": 0}
    assert (code, counts) == (1, expected)
    assert "line 2: /preferences/zone: " in said
    assert "line 3: /if_match: the version is 1" in said
    assert "line 5: " in said


async def test_what_nobody_answers_is_not_confirmed(own: settings.Kafka, tmp_path: Path) -> None:
    file = written(tmp_path / "few.jsonl", *(a_line(f"user-{n}", locale="fr") for n in range(10)))
    async with an_orchestrator(own, silent_after=7):
        code, summary, said = await imported(own, file, "--patience", "2")
    assert (code, summary["applied"], summary["unconfirmed"]) == (1, 7, 3)
    assert said.count("not confirmed: no answer came") == 3
