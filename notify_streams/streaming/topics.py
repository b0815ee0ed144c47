"""Every topic: its name, how it is cleaned up, and how it is made and checked."""

import asyncio
from collections.abc import Iterable, Mapping
from typing import Any

import msgspec
from aiokafka.admin import AIOKafkaAdminClient, NewTopic
from aiokafka.admin.config_resource import ConfigResource, ConfigResourceType
from aiokafka.errors import KafkaError, TopicAlreadyExistsError, for_code

from notify_streams.ports import Unavailable
from notify_streams.settings import Kafka, milliseconds
from schemas.words import CHANNELS, LANES, Channel, Lane

MAX_RECORD_BYTES = 1024 * 1024  # of a record batch; an event has at most 256 KiB, and what follows from it a bit more
OUTCOMES, DECISIONS, RECEIPTS, STOPS = "outcomes", "decisions", "receipts", "stops"
USER_COMMANDS, COMMAND_RESULTS, PROFILES = "user-commands", "command-results", "profiles"
ADDRESS_CHANGES = "address-changes"
TIMERS, TICKS, INBOX_COMMANDS, DEAD_LETTERS = "timers", "ticks", "inbox-commands", "dead-letters"
USER_STATE_LOG, TIMERS_LOG, INBOX_LOG = "user-state-changelog", "timers-changelog", "inbox-state-changelog"
ADDRESSES_LOG = "addresses-changelog"
_WITH_SENDER = tuple(channel for channel in CHANNELS if channel != "inapp")


def events(lane: Lane) -> str:
    """What producers publish."""
    return f"events.{lane}"


def notifications(lane: Lane) -> str:
    """One event for one user, keyed by user id from here on."""
    return f"notifications.{lane}"


def deliveries(channel: Channel, lane: Lane) -> str:
    """What senders take."""
    return f"deliveries.{channel}.{lane}"


def gates_log(channel: Channel) -> str:
    """The changelog of the gates that the channel's sender keeps."""
    return f"gates-sender-{channel}-changelog"


_SET_HERE = 1  # ConfigSource.DYNAMIC_TOPIC_CONFIG of the protocol


class Topic(msgspec.Struct, frozen=True):
    """A topic's name without prefix, and its settings on the broker."""

    name: str
    config: dict[str, str]


def all_topics(kafka: Kafka) -> list[Topic]:
    """Every topic of the system."""
    kept = {"retention.ms": str(milliseconds(kafka.retention)), "cleanup.policy": "delete"}
    short = {"retention.ms": str(10 * 60 * 1000), "cleanup.policy": "delete"}
    compacted = {
        "cleanup.policy": "compact",
        "min.cleanable.dirty.ratio": "0.2",
        "segment.ms": "3600000",
        # A worker that comes back within a week still meets the tombstones of what it knew: no timer rises again.
        "delete.retention.ms": str(7 * 86_400_000),
    }
    named: list[tuple[str, Mapping[str, str]]] = [
        *((events(lane), {**kept, "message.timestamp.type": "LogAppendTime"}) for lane in LANES),
        *((notifications(lane), kept) for lane in LANES),
        *((deliveries(channel, lane), kept) for channel in CHANNELS for lane in LANES),
        *((name, kept) for name in (OUTCOMES, DECISIONS, RECEIPTS, STOPS, TIMERS, INBOX_COMMANDS, ADDRESS_CHANGES)),
        (USER_COMMANDS, {**kept, "message.timestamp.type": "LogAppendTime"}),
        (COMMAND_RESULTS, short),
        (TICKS, short),
        (DEAD_LETTERS, {**kept, "retention.ms": str(30 * 86_400_000)}),
        *((name, compacted) for name in (PROFILES, USER_STATE_LOG, TIMERS_LOG, INBOX_LOG, ADDRESSES_LOG)),
        *((gates_log(channel), compacted) for channel in _WITH_SENDER),
    ]
    common = {"max.message.bytes": str(2 * MAX_RECORD_BYTES), "min.insync.replicas": str(kafka.min_insync)}
    return [Topic(name, {**common, **config}) for name, config in named]


async def create(kafka: Kafka, topics: Iterable[Topic]) -> list[str]:
    """Make those that are missing; their full names. Raises Unavailable."""
    admin = await _connected(kafka)
    try:
        known = set(await admin.list_topics())
        missing = [topic for topic in topics if kafka.prefix + topic.name not in known]
        new = [
            NewTopic(kafka.prefix + t.name, kafka.partitions, kafka.replication, topic_configs=t.config)
            for t in missing
        ]
        if new:
            answer = await admin.create_topics(new)
            for name, code, *_ in answer.topic_errors:
                error = for_code(code)
                if code and not issubclass(error, TopicAlreadyExistsError):
                    raise Unavailable(f"the broker did not make {name}: {error.__name__}")
            await _until_known(admin, [topic.name for topic in new])
        return [topic.name for topic in new]
    except KafkaError as error:
        raise Unavailable(f"making topics: {error!r}") from error
    finally:
        await admin.close()


async def align(kafka: Kafka, topics: Iterable[Topic]) -> list[str]:
    """Give those that exist the settings of this version; their full names where something differed. What an operator
    has set besides stays. Raises Unavailable.
    """
    admin = await _connected(kafka)
    try:
        known = set(await admin.list_topics())
        wanted = {kafka.prefix + t.name: t.config for t in topics if kafka.prefix + t.name in known}
        found = await _configs(admin, list(wanted))
        changed = {
            name: {**(await _own_configs(admin, name)), **config}
            for name, config in wanted.items()
            if any(found[name].get(key) != value for key, value in config.items())
        }
        resources = [ConfigResource(ConfigResourceType.TOPIC, name, config) for name, config in changed.items()]
        for answer in await admin.alter_configs(resources) if resources else []:
            for code, words, _, name in answer.resources:
                if code:
                    raise Unavailable(f"the broker did not change {name}: {for_code(code).__name__} {words or ''}")
        return sorted(changed)
    except KafkaError as error:
        raise Unavailable(f"changing topics: {error!r}") from error
    finally:
        await admin.close()


async def _until_known(admin: AIOKafkaAdminClient, names: list[str]) -> None:
    """A broker answers before it knows its new topics: a worker that starts at once would find them missing."""
    for _ in range(100):
        if all(not topic["error_code"] for topic in await admin.describe_topics(names)):
            return
        await asyncio.sleep(0.1)
    raise Unavailable(f"the broker does not know its new topics after 10 s: {', '.join(names)}")


async def check(kafka: Kafka, topics: Iterable[Topic]) -> list[str]:
    """What is wrong with the topics on the broker, one sentence each; empty when all is well. Raises Unavailable."""
    admin = await _connected(kafka)
    try:
        wanted = {kafka.prefix + topic.name: topic for topic in topics}
        found = {t["topic"]: t for t in await admin.describe_topics(list(wanted)) if not t["error_code"]}
        faults = [f"{name} does not exist" for name in wanted if name not in found]
        for name, described in found.items():
            partitions = len(described["partitions"])
            if partitions != kafka.partitions:
                faults.append(f"{name} has {partitions} partitions, the setting says {kafka.partitions}")
        configs = await _configs(admin, list(found))
        for name in found:
            for key, value in wanted[name].config.items():
                if configs[name].get(key) != value:
                    faults.append(f"{name}: {key} is {configs[name].get(key)}, wanted {value}")
        return faults
    except KafkaError as error:
        raise Unavailable(f"checking topics: {error!r}") from error
    finally:
        await admin.close()


async def _configs(admin: AIOKafkaAdminClient, names: list[str]) -> dict[str, dict[str, str]]:
    resources = [ConfigResource(ConfigResourceType.TOPIC, name) for name in names]
    answers: list[Any] = await admin.describe_configs(resources) if resources else []
    return {
        resource[3]: {entry[0]: entry[1] for entry in resource[4]}
        for answer in answers
        for resource in answer.resources
    }


async def _own_configs(admin: AIOKafkaAdminClient, name: str) -> dict[str, str]:
    """What was set for this topic, rather than taken from the broker's defaults."""
    [answer] = await admin.describe_configs([ConfigResource(ConfigResourceType.TOPIC, name)])
    return {entry[0]: entry[1] for resource in answer.resources for entry in resource[4] if entry[3] == _SET_HERE}


async def _connected(kafka: Kafka) -> AIOKafkaAdminClient:
    admin = AIOKafkaAdminClient(bootstrap_servers=kafka.bootstrap, request_timeout_ms=10_000)
    try:
        await asyncio.wait_for(admin.start(), 10)
    except (KafkaError, OSError, TimeoutError) as error:
        await admin.close()
        raise Unavailable(f"no broker answers at {kafka.bootstrap}: {error!r}") from error
    return admin
