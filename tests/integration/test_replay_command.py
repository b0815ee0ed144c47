"""`notify replay` as a data engineer types it, over a real topic and recorded facts."""

import asyncio
import json
from collections.abc import Callable
from uuid import uuid4

import msgspec
import pytest
from aiokafka import AIOKafkaProducer
from click.testing import CliRunner, Result

from notify_streams.cli import notify
from notify_streams.cli.schema import create_tables
from notify_streams.domain.ids import notification_id
from notify_streams.records.cassandra import CassandraRecords
from notify_streams.settings import Cassandra, Kafka, Settings
from notify_streams.stores.cassandra import connect
from notify_streams.streaming import topics
from schemas.facts import Fact
from tests.facts import a_decision, an_inbox_fact, an_outcome
from tests.system import traffic

Typed = Callable[..., Result]
SENT, LOST = "sent", "lost"


@pytest.fixture(scope="module")
def config(cassandra: Cassandra, kafka: Kafka) -> Settings:
    """Two events of Ann's: one with all its effects, one whose mail got lost; and one that is none."""
    own = msgspec.structs.replace(cassandra, keyspace="replaying")
    config = Settings(cassandra=own, kafka=msgspec.structs.replace(kafka, prefix=f"rpl-{uuid4().hex[:8]}."))
    asyncio.run(create_tables(config))
    asyncio.run(topics.create(config.kafka, topics.all_topics(config.kafka)))
    asyncio.run(_fill(config))
    return config


async def _fill(config: Settings) -> None:
    facts: list[Fact] = []
    async with AIOKafkaProducer(bootstrap_servers=config.kafka.bootstrap, acks="all") as producer:
        name = config.kafka.prefix + topics.events("normal")
        for id_ in (SENT, LOST):
            payload: dict[str, object] = {"order": "1", "total": "9 EUR", "items": [], "url": "https://a.example"}
            event = traffic.event(id_, "ann", "order.confirmed", "normal", payload, mail=True)
            await producer.send_and_wait(name, event.value, b"ann", partition=1, headers=traffic.HEADERS)
            facts += [a_decision(notification_id=event.notification_id, user_id="ann")]
            facts += [an_inbox_fact(event.notification_id)]
            facts += [an_outcome(notification_id=event.notification_id)] if id_ == SENT else []
        await producer.send_and_wait(name, b"{", partition=2)
    session = await connect(config.cassandra)
    await (await CassandraRecords.open(session)).write(facts)
    await session.close()


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
    return lambda *words: CliRunner().invoke(notify, ["replay", *words], env=env)


def test_a_report_finds_exactly_what_had_no_effect(config: Settings, typed: Typed) -> None:
    lost = notification_id(traffic.SOURCE, LOST, None, "ann")
    told = typed("events.normal", "--json")
    assert told.exit_code == 0
    # No role has read these three, so what is young may be on its way.
    assert json.loads(told.stdout)["terms"] == {"sent": 3, "under_way": 1}
    by_event = json.loads(typed(config.kafka.prefix + "events.normal", "--event", LOST, "--json").stdout)
    assert (by_event["read"], by_event["filtered"], by_event["asides"]) == (3, 1, {"rejected": 1})
    assert by_event["channels"] == {"inapp": {"sent": 1}, "email": {"under_way": 1}}
    assert by_event["adds_up"] is True
    in_words = typed("events.normal", "--offsets", "1:1-2")
    assert "1 records of events.normal read = 1 taken" in in_words.stdout
    assert "On their way just now: ingest 3" in in_words.stderr
    assert in_words.stdout.endswith("It adds up.\n")
    assert lost not in in_words.stdout


@pytest.mark.parametrize(
    ("words", "exit_code", "said"),
    [
        (["events.normal", "--offsets", "1:0-9"], 1, "offsets 0 to 8 are outside of its log, which holds 0 to 1"),
        (["events.normal", "--since", "2001-01-01T00:00:00Z", "--until", "2001-01-02T00:00:00Z"], 1, "it holds 20"),
        (["events.high"], 1, "events.high holds no records"),
        (["events.normal", "--offsets", "1"], 0, ""),
        (["profiles"], 2, "profiles cannot be replayed"),
        (["events.normal", "--offsets", "x"], 2, "expected PARTITION:FROM-TO"),
        (["events.normal", "--since", "1h", "--until", "2h"], 2, "--since has to lie before --until"),
        ([], 2, "Missing argument 'TOPIC'"),
    ],
)
def test_what_cannot_be_read_is_named(typed: Typed, words: list[str], exit_code: int, said: str) -> None:
    answer = typed(*words)
    assert answer.exit_code == exit_code
    assert said in answer.stderr
