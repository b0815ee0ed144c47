"""`notify suppressions` beside a running registry."""

import asyncio
import json
import sys
from asyncio.subprocess import PIPE
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from notify_streams.domain.addresses import address_key
from notify_streams.local.child import Child
from notify_streams.streaming import topics
from notify_streams.streaming.partitions import Partitions
from schemas.addresses import ClaimAddressV1
from schemas.codec import encode
from schemas.profiles import Address
from tests.builders import MAILBOX, NOW
from tests.workers import ROOT, Kafka

NOTIFY = str(Path(sys.executable).with_name("notify"))


class Desk:
    """A registry on one broker, and the command line beside it."""

    def __init__(self, broker: Kafka, folder: Path) -> None:
        self.broker, self.folder = broker, folder
        kafka = msgspec.to_builtins(broker.config)
        self.environment = {f"NOTIFY_KAFKA__{key}".upper(): str(value) for key, value in kafka.items()}
        self.environment["NOTIFY_WORKER__DATA"] = str(folder / "data")
        self.registry = Child([NOTIFY, "worker", "registry"], log=folder / "r.log", env=self.environment, cwd=ROOT)

    async def ask(self, *words: str) -> tuple[int, str, str]:
        """Exit code, standard output and error."""
        environment = {"PATH": "", **self.environment}
        process = await asyncio.create_subprocess_exec(
            NOTIFY, "suppressions", *words, env=environment, stdout=PIPE, stderr=PIPE, cwd=self.folder
        )
        output, said = await process.communicate()
        assert process.returncode is not None
        return process.returncode, output.decode(), said.decode()

    async def told(self, *words: str) -> Any:
        """The answer's JSON."""
        code, output, said = await self.ask(*words, "--json")
        assert code == 0, said
        return json.loads(output)


@pytest.fixture
async def desk(broker: Kafka, tmp_path: Path) -> AsyncIterator[Desk]:
    await topics.create(broker.config, topics.all_topics(broker.config))
    found = Desk(broker, tmp_path)
    await found.registry.start()
    await broker.until(lambda: "Worker ready" in found.registry.log.read_text())
    yield found
    await found.registry.kill()


async def test_the_list_is_shown_added_to_and_lifted_in_any_spelling(desk: Desk) -> None:
    """EML-14"""
    key = address_key("email", MAILBOX)
    claim = ClaimAddressV1(
        channel="email", at=NOW, command_id="c", user_id="ann", endpoint_id="home", content=Address(MAILBOX)
    )
    home = Partitions(desk.broker.config.partitions).of(key.encode())
    await desk.broker.fill(topics.ADDRESS_CHANGES, [(home, key, encode(claim).decode())])

    code, words, _ = await desk.ask("show", "email", "Ann <ANN@example.com>")
    assert (code, words.splitlines()) == (0, ["ANN@example.com: nothing is held against it", "users: ann"])
    found = await desk.told("add", "email", "Ann@Example.COM ", "--reason", "complaint")
    assert (found["suppressed"], found["until"], found["reasons"][0]["address"]) == (
        "complaint",
        None,
        "Ann@Example.COM",
    )
    await desk.told("add", "email", MAILBOX, "--until", "24h")
    code, words, _ = await desk.ask("show", "email", MAILBOX)
    assert code == 0
    assert words.startswith(f"{MAILBOX}: nothing is sent there (complaint), until it is lifted\n")
    assert [line.split()[0] for line in words.splitlines()[2:4]] == ["complaint", "manual"]
    assert (await desk.told("lift", "email", MAILBOX, "--only", "complaint"))["suppressed"] == "manual"
    assert (await desk.told("lift", "email", MAILBOX))["suppressed"] is None
    assert (await desk.told("show", "email", "ann+news@example.com"))["users"] == []


async def test_lines_are_imported_confirmed_and_added_up(desk: Desk) -> None:
    lines = [json.dumps({"channel": "email", "address": f"user{n}@example.com"}) for n in range(2000)]
    lines.insert(100, json.dumps({"channel": "email", "address": "user7@example.com."}))
    path = desk.folder / "list.jsonl"
    path.write_text("\n".join(lines))
    code, output, said = await desk.ask("import", str(path), "--yes", "--json")
    tally = json.loads(output)
    assert (code, tally["lines"], tally["applied"], tally["bad_lines"]) == (1, 2001, 2000, 1)
    assert "line 101: /address" in said
    assert "user7" not in said
    assert (await desk.told("show", "email", "USER1999@example.com"))["suppressed"] == "manual"


async def test_without_a_registry_it_says_so_and_nothing_is_confirmed(desk: Desk) -> None:
    await desk.registry.stop(20)
    path = desk.folder / "list.jsonl"
    path.write_text(json.dumps({"channel": "email", "address": MAILBOX}))
    code, output, said = await desk.ask("import", str(path), "--yes", "--json", "--patience", "1")
    assert (code, json.loads(output)["unconfirmed"]) == (1, 1)
    assert "line 1: not confirmed" in said
