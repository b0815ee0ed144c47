"""The only place that picks implementations: one straight function per role."""

import random
from collections.abc import Awaitable, Callable
from datetime import timedelta
from importlib.metadata import version

import uvloop

from agents import commands as command_agent
from agents import gates as gate_agent
from agents import inbox as inbox_agent
from agents import ingest as ingest_agent
from agents import orchestrate as orchestrate_agent
from agents import recorder as recorder_agent
from agents import registry as registry_agent
from agents import schedule as schedule_agent
from agents import senders as sender_agent
from agents.delivering import Sender
from notify_streams.content import sources
from notify_streams.content.catalogue import FileCatalogues
from notify_streams.content.templates import Templates
from notify_streams.domain.accept import Limits
from notify_streams.domain.retry import RetryPolicy
from notify_streams.domain.status import fold
from notify_streams.gateway import app as gateway_app
from notify_streams.inbox.cassandra import CassandraInbox
from notify_streams.inbox.tail import LiveTail
from notify_streams.ports import Provider, Renderer
from notify_streams.providers.delivery_keys import RedisDeliveryKeys
from notify_streams.providers.memory_keys import MemoryDeliveryKeys
from notify_streams.providers.smtp.adapter import SmtpProvider
from notify_streams.records.cassandra import CassandraRecords
from notify_streams.records.explain import explain
from notify_streams.settings import Channel as ChannelSettings
from notify_streams.settings import Settings, SettingsError, milliseconds, seconds
from notify_streams.stores.cassandra import Session, connect
from notify_streams.stores.redis import Expendable
from notify_streams.streaming import app as apps
from notify_streams.streaming import topics
from notify_streams.streaming.app import App
from notify_streams.streaming.deadletters import DeadLetters
from notify_streams.streaming.health import Health
from notify_streams.streaming.rest import Rest
from notify_streams.streaming.waiting import patiently
from schemas.catalogue import Catalogue
from schemas.words import LANES
from tables.addresses import Addresses
from tables.gates import Gates
from tables.inbox_state import InboxStates
from tables.profiles import Profiles
from tables.timers import Timers
from tables.user_state import UserStates


def limits(settings: Settings) -> Limits:
    """What an event may be, as pure values."""
    sizes = settings.limits
    return Limits(sizes.event_bytes, sizes.expansion_bytes, sizes.recipients, sizes.payload_depth)


def catalogue(settings: Settings) -> Catalogue:
    """The one in force. Raises SettingsError."""
    return content(settings)[0]


async def ingest(settings: Settings, instance: int, _: Health) -> App:
    """Events to notifications."""
    app = apps.build(settings, "ingest", instance=instance)
    dead = _dead_letters(settings, "ingest")
    role = ingest_agent.Ingest(app, catalogue(settings), limits(settings), dead, tenants=settings.tenants)
    for lane in LANES:
        ingest_agent.register(role, lane=lane)
    return app


async def orchestrator(settings: Settings, instance: int, _: Health) -> App:
    """Notifications to deliveries, commands to profiles."""
    app = apps.build(settings, "orchestrator", instance=instance)
    prefix, known = app.topic_prefix, catalogue(settings)
    states = UserStates(apps.table(app, "user_state", topics.USER_STATE_LOG), prefix)
    profiles = Profiles(apps.table(app, "profiles", topics.PROFILES), prefix)
    dead = _dead_letters(settings, "orchestrator")
    role = orchestrate_agent.Orchestrator(app, states, profiles, known, dead, tzdata=version("tzdata"))
    for lane in LANES:
        orchestrate_agent.register(role, lane=lane)
    generation = settings.kafka.generation
    command_agent.register(
        command_agent.Commands(app, states, profiles, known, _dead_letters(settings, "commands"), generation=generation)
    )
    return app


async def registry(settings: Settings, instance: int, _: Health) -> App:
    """Address changes to their users' commands."""
    app = apps.build(settings, "registry", instance=instance)
    addresses = Addresses(apps.table(app, "addresses", topics.ADDRESSES_LOG), app.topic_prefix)
    dead = _dead_letters(settings, "registry")
    registry_agent.register(registry_agent.Registry(app, addresses, dead, generation=settings.kafka.generation))
    return app


async def scheduler(settings: Settings, instance: int, _: Health) -> App:
    """Timers."""
    app = apps.build(settings, "scheduler", instance=instance)
    timers = Timers(apps.table(app, "timers", topics.TIMERS_LOG), app.topic_prefix)
    targets = [topic.name for topic in topics.all_topics(settings.kafka)]
    dead = _dead_letters(settings, "scheduler")
    schedule_agent.register(schedule_agent.Scheduler(app, timers, dead, targets=targets))
    return app


async def inbox(settings: Settings, instance: int, health: Health) -> App:
    """In-app deliveries to Cassandra."""
    session = await _cassandra(settings, health)
    app = apps.build(settings, "inbox", instance=instance)
    app.closers.append(session.close)
    known, renderer = content(settings)
    redis = Expendable(settings.redis)
    app.closers.append(redis.close)
    role = inbox_agent.Inbox(
        app,
        InboxStates(apps.table(app, "inbox_state", topics.INBOX_LOG), app.topic_prefix),
        await patiently("cassandra", lambda: CassandraInbox.open(session, kept=_days(settings.retention.inbox))),
        LiveTail(redis),
        renderer,
        known,
        _dead_letters(settings, "inbox"),
        await _rest(session),
    )
    for lane in LANES:
        inbox_agent.register(role, lane=lane)
    return app


async def sender_email(settings: Settings, instance: int, health: Health) -> App:
    """Mails to their provider. Redis may be away: see agents.delivering."""
    app = apps.build(settings, "sender-email", instance=instance)
    channel = settings.channels["email"]
    renderer = content(settings)[1]
    health.waiting_for = "partitions"
    redis = Expendable(settings.redis)
    app.closers.append(redis.close)
    keys, own_memory, dead = RedisDeliveryKeys(redis), MemoryDeliveryKeys(), _dead_letters(settings, "sender-email")

    def interrupted() -> bool:
        return app.should_stop or app.rebalancing

    gates = Gates(apps.table(app, "gates", topics.gates_log("email")), app.topic_prefix)
    gatekeeper = gate_agent.Gatekeeper(app, gates, _dead_letters(settings, "stops"), interrupted=interrupted)
    gate_agent.register(gatekeeper, role="sender-email")
    for lane in LANES:
        provider = mail_provider(settings)  # with connections of its own: HIGH must not wait for those of a slow LOW
        app.closers.append(provider.close)
        sender = Sender(
            provider,
            renderer,
            keys,
            own_memory,
            _policy(channel),
            concurrency=channel.concurrency,
            deliver_only_to=settings.deliver_only_to,
            gate=gatekeeper.gate,
            jitter=random.random,
            interrupted=interrupted,
        )
        sender_agent.register(app, sender, gatekeeper, dead, channel="email", lane=lane)
    return app


async def recorder(settings: Settings, instance: int, health: Health) -> App:
    """Facts to Cassandra."""
    session = await _cassandra(settings, health)
    app = apps.build(settings, "recorder", instance=instance)
    app.closers.append(session.close)
    records = await patiently("cassandra", lambda: CassandraRecords.open(session))
    dead, rest = _dead_letters(settings, "recorder"), await _rest(session)
    recorder_agent.register(recorder_agent.Recorder(app, records, dead, rest))
    return app


def gateway(settings: Settings) -> None:
    """Serve HTTP until SIGTERM."""
    uvloop.run(_gateway(settings))


async def _gateway(settings: Settings) -> None:
    known = catalogue(settings)
    session = await patiently("cassandra", lambda: connect(settings.cassandra))
    redis = Expendable(settings.redis)
    try:
        app = gateway_app.build(
            settings,
            catalogue=known,
            records=await patiently("cassandra", lambda: CassandraRecords.open(session)),
            inbox=await patiently(
                "cassandra", lambda: CassandraInbox.open(session, kept=_days(settings.retention.inbox))
            ),
            redis=redis,
            status=fold,
            explain=explain,
            settling=RedisDeliveryKeys(redis),
        )
        await gateway_app.serve(app, settings)
    finally:
        await redis.close()
        await session.close()


ROLES: dict[str, Callable[[Settings, int, Health], Awaitable[App]]] = {
    "ingest": ingest,
    "orchestrator": orchestrator,
    "scheduler": scheduler,
    "inbox": inbox,
    "sender-email": sender_email,
    "recorder": recorder,
    "registry": registry,
}
WITH_CATALOGUE = frozenset({"ingest", "orchestrator", "inbox", "sender-email"})


def content(settings: Settings) -> tuple[Catalogue, Renderer]:
    """Catalogue and templates, read once together. Raises SettingsError."""
    files = FileCatalogues.of(settings)
    found = sources.read(files.templates)
    known = files.load_with(found)
    return known, Templates(found, known)


def mail_provider(settings: Settings) -> Provider:
    """The first of `channels.email.providers`. Raises SettingsError for one that this version does not have."""
    channel = settings.channels["email"]
    for name in channel.providers:
        if name == "smtp" and name in settings.providers:
            return SmtpProvider.of(settings.providers[name], channel, name=name)
    raise SettingsError(f"channels.email.providers: {list(channel.providers)} has none of: smtp")


def _policy(channel: ChannelSettings) -> RetryPolicy:
    return RetryPolicy(
        base_ms=milliseconds(channel.retry.base),
        cap_ms=milliseconds(channel.retry.cap),
        attempts=channel.retry.attempts,
        lock_ms=milliseconds(channel.lock),
    )


async def _rest(session: Session) -> Rest:
    return Rest(session.incarnation, await patiently("cassandra", session.incarnation))


async def _cassandra(settings: Settings, health: Health) -> Session:
    health.waiting_for = "cassandra"
    return await patiently("cassandra", lambda: connect(settings.cassandra))


def _days(duration: str) -> timedelta:
    return timedelta(seconds=seconds(duration))


def _dead_letters(settings: Settings, stage: str) -> DeadLetters:
    return DeadLetters(stage, settings.kafka.max_dead_letter_run)
