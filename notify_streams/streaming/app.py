"""One Faust app per role, always built here: one consumer group, one data directory, the safe settings."""

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import faust
from aiokafka import AIOKafkaProducer

from notify_streams.settings import Settings, seconds
from notify_streams.streaming import store, transport
from notify_streams.streaming.lease import Lease
from notify_streams.streaming.refusal import Refusal
from notify_streams.streaming.topics import MAX_RECORD_BYTES

_RAW: dict[str, Any] = {"key_serializer": "raw", "value_serializer": "raw", "value_type": bytes}


class App(faust.App):
    """A Faust app that knows its lease and its topics' prefix."""

    lease: Lease
    refusal: Refusal
    topic_prefix: str
    unsettled: int  # tables, once per batch, that may hold rows which their changelogs do not
    closers: list[Callable[[], Awaitable[None]]]  # what the role opened, closed after the app has stopped

    @property
    def raw_producer(self) -> AIOKafkaProducer:
        """The client under Faust's producer: for record batches, and flushed before commits all the same."""
        producer: Any = self.producer
        return producer._producer


def build(settings: Settings, role: str, *, instance: int = 0, **overrides: Any) -> App:
    """The app of a role. `instance` names its data directory and its static group member.

    Two processes with the same role and instance corrupt each other's tables: the worker's lock forbids it.
    """
    kafka = settings.kafka
    session = seconds(kafka.session_timeout)
    options: dict[str, Any] = {
        "broker": f"{transport.SCHEME}://{kafka.bootstrap.replace(',', ';')}",
        "Topic": f"{transport.__name__}:DirectTopic",
        "store": f"{store.SCHEME}://",
        "TableManager": "notify_streams.streaming.restore:BulkTables",
        "datadir": str(data_directory(settings, role, instance)),
        "consumer_group_instance_id": f"{role}-{instance}",
        "topic_partitions": kafka.partitions,
        "topic_allow_declare": False,
        "topic_disable_leader": True,
        "web_enabled": False,
        "table_standby_replicas": 0,
        "stream_buffer_maxsize": 4096,
        "stream_wait_empty": True,
        "broker_max_poll_records": 2000,
        "broker_commit_interval": seconds(kafka.commit_interval),
        "broker_session_timeout": session,
        "broker_heartbeat_interval": min(3.0, session / 5),
        "broker_request_timeout": 90.0,
        "consumer_auto_offset_reset": "earliest",
        "consumer_max_fetch_size": 2 * MAX_RECORD_BYTES,
        "producer_linger": 0.005,
        "producer_max_batch_size": MAX_RECORD_BYTES,
        "producer_max_request_size": 4 * MAX_RECORD_BYTES,
        "producer_request_timeout": seconds(kafka.request_timeout),
        **overrides,
    }
    app = App(f"{kafka.prefix}{role}", **options)
    app.lease, app.refusal = Lease(session), Refusal()
    app.topic_prefix = kafka.prefix
    app.unsettled = 0
    app.closers = []
    return app


def data_directory(settings: Settings, role: str, instance: int) -> Path:
    """One per worker process: Faust's own path has no role in it."""
    return Path(settings.worker.data) / f"{role}-{instance}"


def topic(app: App, name: str) -> Any:
    """A topic of raw bytes by its name without prefix; decoding is the agent's business."""
    return app.topic(app.topic_prefix + name, **_RAW)


def table(app: App, name: str, changelog: str) -> Any:
    """A table of raw bytes whose changelog is the topic of this name without prefix."""
    partitions = app.conf.topic_partitions
    log = app.topic(
        app.topic_prefix + changelog,
        compacting=True,
        partitions=partitions,
        key_serializer="raw",
        value_serializer="raw",
    )
    return app.Table(name, partitions=partitions, key_type=bytes, value_type=bytes, changelog_topic=log)
