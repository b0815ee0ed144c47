"""`notify explain`, `inspect` and `reconcile` as an operator types them."""

import asyncio
import json
from collections.abc import Callable, Mapping
from uuid import uuid4

import msgspec
import pytest
from click.testing import CliRunner, Result

from notify_streams.cli import notify
from notify_streams.cli.schema import create_tables
from notify_streams.domain.ids import notification_id
from notify_streams.records.cassandra import CassandraRecords
from notify_streams.settings import Cassandra, Kafka, Settings
from notify_streams.stores.cassandra import connect
from notify_streams.streaming import topics
from schemas.codec import encode
from schemas.facts import Fact
from tests.decisions import CATALOGUE, a_recorded_decision
from tests.facts import a_decision, an_id, an_inbox_fact, an_outcome

Typed = Callable[..., Result]


@pytest.fixture(scope="module")
def config(cassandra: Cassandra, kafka: Kafka) -> Settings:
    """Tables and topics of their own."""
    own = msgspec.structs.replace(cassandra, keyspace="commands")
    config = Settings(cassandra=own, kafka=msgspec.structs.replace(kafka, prefix=f"cmd-{uuid4().hex[:8]}."))
    asyncio.run(create_tables(config))
    asyncio.run(topics.create(config.kafka, topics.all_topics(config.kafka)))
    return config


@pytest.fixture
def typed(config: Settings, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Typed:
    """Run a command line; nothing of this machine's settings is read."""
    monkeypatch.chdir(tmp_path_factory.mktemp("empty"))
    env = {
        "NOTIFY_CASSANDRA__PORT": str(config.cassandra.port),
        "NOTIFY_CASSANDRA__KEYSPACE": config.cassandra.keyspace,
        "NOTIFY_KAFKA__BOOTSTRAP": config.kafka.bootstrap,
        "NOTIFY_KAFKA__PREFIX": config.kafka.prefix,
    }
    return lambda *words: CliRunner().invoke(notify, list(words), env=env)


def known(config: Settings, *facts: Fact, catalogues: Mapping[str, bytes] | None = None) -> None:
    async def write() -> None:
        session = await connect(config.cassandra)
        records = await CassandraRecords.open(session)
        await records.write(facts)
        await records.write_catalogues(catalogues or {})
        await session.close()

    asyncio.run(write())


def test_explain_tells_the_story_by_id_and_by_event(config: Settings, typed: Typed) -> None:
    user = an_id()
    one = notification_id("/shop/orders", "e1", None, user)
    known(config, a_decision(notification_id=one, user_id=user), an_inbox_fact(one), an_outcome(notification_id=one))
    told = typed("explain", one)
    assert told.exit_code == 0
    assert "written to the inbox as number 17" in told.stdout
    assert told.stdout.endswith("The inbox: sent.\nMail: sent.\n")
    by_event = typed("explain", "--user", user, "--source", "/shop/orders", "--event", "e1")
    assert by_event.stdout == told.stdout
    as_json = json.loads(typed("explain", one, "--json").stdout)
    assert as_json["status"]["state"] == "sent"
    assert as_json["decisions"][0]["catalogue"] == "hash-of-the-catalogue"


def test_explain_verifies_every_decision_by_the_catalogue_that_it_names(config: Settings, typed: Typed) -> None:
    one = an_id()
    decision = a_recorded_decision()
    decision = msgspec.structs.replace(
        decision, notification=msgspec.structs.replace(decision.notification, notification_id=one)
    )
    known(config, decision)
    unknown = typed("explain", "--verify", one)
    assert unknown.exit_code == 1
    assert "the catalogue c0ffee, by which it was decided, is not in the records" in unknown.stdout
    known(config, catalogues={CATALOGUE.hash: encode(CATALOGUE)})
    verified = typed("explain", "--verify", one)
    assert verified.exit_code == 0
    assert verified.stdout.endswith("verified\n1 of 1 decision verified.\n")
    assert json.loads(typed("explain", "--verify", "--json", one).stdout)["verified"] is True
    assert typed("explain", "--verify", an_id()).exit_code == 1


@pytest.mark.parametrize("command", ["explain", "inspect"])
def test_nothing_recorded_is_said_and_exit_1(typed: Typed, command: str) -> None:
    answer = typed(command, an_id())
    assert answer.exit_code == 1
    assert answer.stderr.startswith("Nothing is recorded of notification")
    assert answer.stdout == ""


@pytest.mark.parametrize("words", [["explain"], ["explain", "--user", "u"], ["explain", "no-uuid"], ["inspect", "x"]])
def test_half_a_question_is_wrong_usage(typed: Typed, words: list[str]) -> None:
    assert typed(*words).exit_code == 2


def test_inspect_shows_every_attempt(config: Settings, typed: Typed) -> None:
    one = an_id()
    retried = an_outcome("retrying", notification_id=one, detail="451 4.7.1")
    known(config, a_decision(notification_id=one), retried, an_outcome(notification_id=one, attempt=2))
    shown = typed("inspect", one)
    assert shown.exit_code == 0
    assert "451 4.7.1" in shown.stdout
    deliveries = json.loads(typed("inspect", one, "--json").stdout)["channels"][1]["deliveries"]
    assert [attempt["state"] for attempt in deliveries[0]["attempts"]] == ["retrying", "sent"]


def test_reconcile_of_a_silent_span_adds_up(typed: Typed) -> None:
    quiet = typed("reconcile", "--since", "10m")
    assert quiet.exit_code == 0
    assert quiet.stdout.endswith("It adds up.\n")
    assert json.loads(typed("reconcile", "--json").stdout)["published"] == 0
    assert typed("reconcile", "--since", "2026-11-30T10:00:00").exit_code == 2
    assert typed("reconcile", "--watch", "--since", "2026-11-30T10:00:00Z").exit_code == 2


def test_an_engine_that_is_away_is_one_sentence(typed: Typed, monkeypatch: pytest.MonkeyPatch) -> None:
    answer = CliRunner().invoke(notify, ["inspect", an_id()], env={"NOTIFY_CASSANDRA__PORT": "1"})
    assert answer.exit_code == 1
    assert answer.stderr.startswith("notify: cassandra: ")
    assert answer.stderr.count("\n") == 1
