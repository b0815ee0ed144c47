"""`notify dead-letters` on a real broker."""

import asyncio
import json

import pytest
from click.testing import CliRunner, Result

from notify_streams import settings
from notify_streams.cli.dead_letters import dead_letters
from tests.integration.test_dead_letter_log import EVENTS, bury, config
from tests.workers import Kafka

__all__ = ["config"]


def run(kafka: settings.Kafka, *words: str) -> Result:
    env = {
        "NOTIFY_KAFKA__BOOTSTRAP": kafka.bootstrap,
        "NOTIFY_KAFKA__PREFIX": kafka.prefix,
        "NOTIFY_KAFKA__PARTITIONS": str(kafka.partitions),
    }
    return CliRunner().invoke(dead_letters, list(words), env=env)


@pytest.fixture
async def buried(config: settings.Kafka) -> settings.Kafka:
    for number in range(4):
        await bury(config, number, value=b'{"n":%d}' % number)
    return config


async def asked(kafka: settings.Kafka, *words: str) -> Result:
    return await asyncio.to_thread(run, kafka, *words)


async def test_they_are_listed_with_place_and_reason(buried: settings.Kafka) -> None:
    result = await asked(buried, "list")
    assert result.exit_code == 0
    assert result.output.startswith("4 dead letters: 2 ")
    assert "reason 3" in result.output
    found = json.loads((await asked(buried, "list", "--class", "ValidationError", "--json")).output)
    assert [one["offset"] for one in found] == [3, 0]
    assert "No dead letters that fit." in (await asked(buried, "list", "--stage", "inbox")).output


async def test_one_is_shown_whole(buried: settings.Kafka) -> None:
    result = await asked(buried, "show", "1-0")
    assert result.exit_code == 0
    assert '{"n":1}' in result.output
    assert json.loads((await asked(buried, "show", "1-0", "--json")).output)["value"] == '{"n":1}'
    missing = await asked(buried, "show", "1-9")
    assert (missing.exit_code, "no dead letter 1-9" in missing.output) == (1, True)


async def test_they_are_put_back_once_it_is_agreed(
    buried: settings.Kafka, tmp_path_factory: pytest.TempPathFactory
) -> None:
    events = Kafka(buried, tmp_path_factory.mktemp("events"))
    refused = await asked(buried, "redrive", "0-0")
    assert (refused.exit_code, "--yes is needed" in refused.output) == (1, True)
    assert await events.read(EVENTS) == []
    done = await asked(buried, "redrive", "--class", "ValidationError", "--yes")
    assert (done.exit_code, done.output) == (0, "2 dead letters were put back.\n")
    assert sorted(record.value or b"" for record in await events.read(EVENTS)) == [b'{"n":0}', b'{"n":3}']


@pytest.mark.parametrize("words", [("redrive",), ("redrive", "0-0", "--stage", "ingest"), ("list", "--limit", "0")])
async def test_wrong_usage_is_told(buried: settings.Kafka, words: tuple[str, ...]) -> None:
    assert (await asked(buried, *words)).exit_code == 2
