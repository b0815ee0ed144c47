"""Topics are made as they should be, and what is otherwise is named."""

import time

import msgspec
import pytest

from notify_streams.ports import Unavailable
from notify_streams.settings import Kafka as Settings
from notify_streams.streaming import topics
from notify_streams.streaming.topics import Topic
from tests.workers import Kafka


async def test_a_second_creation_makes_nothing_and_the_check_finds_no_fault(broker: Kafka) -> None:
    wanted = topics.all_topics(broker.config)
    assert len(await topics.create(broker.config, wanted)) == len(wanted)
    assert await topics.create(broker.config, wanted) == []
    assert await topics.check(broker.config, wanted) == []


async def test_another_number_of_partitions_is_named(broker: Kafka) -> None:
    await broker.make("in")
    more = msgspec.structs.replace(broker.config, partitions=3)
    faults = await topics.check(more, [Topic("in", {})])
    assert faults == [f"{broker.config.prefix}in has 2 partitions, the setting says 3"]


async def test_another_setting_is_named_with_what_it_is_and_what_it_should_be(broker: Kafka) -> None:
    await broker.make("in", retention_ms="1000")
    faults = await topics.check(broker.config, [Topic("in", {"retention.ms": "2000", "cleanup.policy": "compact"})])
    name = f"{broker.config.prefix}in"
    assert faults == [f"{name}: retention.ms is 1000, wanted 2000", f"{name}: cleanup.policy is delete, wanted compact"]


async def test_topics_of_an_earlier_version_get_todays_settings_and_keep_what_an_operator_has_set(
    broker: Kafka,
) -> None:
    earlier = Topic("in", {"retention.ms": "1000", "segment.bytes": "1048576"})
    await topics.create(broker.config, [earlier])
    today = [Topic("in", {"retention.ms": "2000", "cleanup.policy": "compact"})]

    assert await topics.align(broker.config, today) == [f"{broker.config.prefix}in"]
    assert await topics.check(broker.config, today) == []
    assert await topics.check(broker.config, [Topic("in", {"segment.bytes": "1048576"})]) == []
    assert await topics.align(broker.config, today) == []


async def test_a_missing_topic_is_named(broker: Kafka) -> None:
    assert await topics.check(broker.config, [Topic("nowhere", {})]) == [
        f"{broker.config.prefix}nowhere does not exist"
    ]


async def test_without_a_broker_it_is_unavailable_and_says_where_it_looked() -> None:
    with pytest.raises(Unavailable, match=r"127\.0\.0\.1:9"):
        await topics.check(Settings(bootstrap="127.0.0.1:9"), [])


async def test_the_record_time_of_events_is_the_brokers_whatever_producers_say(broker: Kafka) -> None:
    """KAF-09: nanoseconds for milliseconds, 1970, the day after tomorrow."""
    config = next(topic for topic in topics.all_topics(broker.config) if topic.name == topics.events("normal"))
    await topics.create(broker.config, [config])
    now = time.time() * 1000
    await broker.send_at(config.name, [round(now * 1000), 1, round(now) + 2 * 86_400_000])

    stamps = [record.timestamp for record in await broker.read(config.name)]
    assert len(stamps) == 3
    assert all(abs(stamp - now) < 60_000 for stamp in stamps)
