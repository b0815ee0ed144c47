"""The only place that picks implementations: one straight function per role."""

import random
import time
from collections.abc import Awaitable, Callable
from datetime import timedelta
from functools import partial
from importlib.metadata import version
from pathlib import Path

import uvloop

from agents import commands as command_agent
from agents import gates as gate_agent
from agents import hooks as hook_agent
from agents import inbox as inbox_agent
from agents import ingest as ingest_agent
from agents import orchestrate as orchestrate_agent
from agents import recorder as recorder_agent
from agents import registry as registry_agent
from agents import schedule as schedule_agent
from agents import senders as sender_agent
from agents.sending.building import Shared, a_lane
from agents.sending.composing import Composer
from agents.sending.publishing import Publishing
from agents.sending.saying import Terms
from agents.sending.standing import Standing
from agents.sending.waits import Waits
from notify_streams import chains
from notify_streams.content import sources
from notify_streams.content.catalogue import FileCatalogues
from notify_streams.content.hooks import WithHooks
from notify_streams.content.templates import Templates
from notify_streams.domain.accept import Limits
from notify_streams.domain.retry import RetryPolicy
from notify_streams.domain.status import fold
from notify_streams.gateway import app as gateway_app
from notify_streams.gateway.console.routes import Desk
from notify_streams.gateway.console.watching import Watching
from notify_streams.gateway.keys import KeyRing
from notify_streams.inbox.cassandra import CassandraInbox
from notify_streams.inbox.tail import LiveTail
from notify_streams.ports import Renderer
from notify_streams.providers.delivery_keys import RedisDeliveryKeys
from notify_streams.providers.limiter import LocalLimiter, RedisLimiter
from notify_streams.providers.memory_keys import MemoryDeliveryKeys
from notify_streams.records.cassandra import CassandraRecords
from notify_streams.records.dead_letters import DeadLetterLog
from notify_streams.records.explain import explain
from notify_streams.settings import Channel as ChannelSettings
from notify_streams.settings import Settings, milliseconds, seconds
from notify_streams.signing import signing_secrets
from notify_streams.stores.cassandra import Session, connect
from notify_streams.stores.hooked import Hooked
from notify_streams.stores.inbox_keys import InboxKeys
from notify_streams.stores.redis import Expendable
from notify_streams.stores.unread import RedisUnread
from notify_streams.streaming import app as apps
from notify_streams.streaming import topics
from notify_streams.streaming.app import App
from notify_streams.streaming.batches import interrupted
from notify_streams.streaming.deadletters import DeadLetters
from notify_streams.streaming.health import Health
from notify_streams.streaming.partitions import Partitions
from notify_streams.streaming.rest import Rest
from notify_streams.streaming.waiting import patiently
from notify_streams.waiting import waiting_for
from schemas.catalogue import Catalogue
from schemas.words import CHANNELS, LANES, Channel
from tables.addresses import Addresses
from tables.gates import Gates
from tables.inbox_state import InboxStates
from tables.profiles import Profiles
from tables.timers import Timers
from tables.user_state import UserStates

_BATCH_S, _LEAST_BATCH_S = 45.0, 5.0


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
        LiveTail(redis, InboxKeys.of(settings.kafka)),
        renderer,
        known,
        _dead_letters(settings, "inbox"),
        await _rest(session),
        kept_ms=milliseconds(settings.retention.inbox),
        most_unread=settings.limits.inbox_unread,
    )
    for lane in LANES:
        inbox_agent.register(role, lane=lane)
    dead = _dead_letters(settings, "inbox-commands")
    inbox_agent.register_commands(inbox_agent.Commands(role, dead, generation=settings.kafka.generation))
    return app


def _sender(channel: Channel) -> Callable[[Settings, int, Health], Awaitable[App]]:
    """The role that carries this channel. Redis may be away: see agents.sending."""

    async def sender(settings: Settings, instance: int, health: Health) -> App:
        role = f"sender-{channel}"
        app = apps.build(settings, role, instance=instance)
        gates = Gates(apps.table(app, "gates", topics.gates_log(channel)), app.topic_prefix)
        waits = Waits(partial(interrupted, app))
        gatekeeper = gate_agent.Gatekeeper(app, gates, _dead_letters(settings, "stops"), interrupted=waits.interrupted)
        gate_agent.register(gatekeeper, role=role)
        redis, dead = Expendable(settings.redis), _dead_letters(settings, role)
        app.closers.append(redis.close)
        shared = _shared(settings, channel, redis, gatekeeper, waits)
        for lane in LANES:
            own = chains.providers(settings, channel)  # connections too: HIGH must not wait for those of a slow LOW
            app.closers += [provider.close for provider in own]
            work = sender_agent.Lanework(
                a_lane(shared, own, lane),
                Publishing(app, dead, Partitions(settings.kafka.partitions)),
                dead,
                waits,
                role=role,
                lane=lane,
                ahead=shared.concurrency * len(own),
            )
            rate = sum(chains.rates(chains.chain(settings, channel)).values())
            batch = sender_agent.batch_size(shared.concurrency, rate)
            sender_agent.register(app, work, gatekeeper, channel=channel, batch=batch)
        if channel == "webhook":
            tell_producers(settings, app, redis)
        health.waiting_for = "partitions"
        return app

    return sender


def tell_producers(settings: Settings, app: App, redis: Expendable) -> None:
    """What becomes of their notifications, where their keys have a webhook: the same sender carries it."""
    ring, dead = KeyRing(Path(settings.auth.keys_file)), _dead_letters(settings, "hooks")
    hook_agent.register(hook_agent.Hooks(app, Hooked(redis), lambda: hook_agent.asking(ring), dead))


def _shared(
    settings: Settings, channel: Channel, redis: Expendable, gatekeeper: gate_agent.Gatekeeper, waits: Waits
) -> Shared:
    chosen, chain = settings.channels[channel], chains.chain(settings, channel)
    (known, templates), rates = content(settings), chains.rates(chain)
    composer = Composer(WithHooks(templates), known, signing_secrets(settings)[0], settings.gateway.public_url)
    return Shared(
        terms=_terms(settings, chosen),
        concurrency=chosen.concurrency,
        standings={name: Standing(name) for name in chain},
        keys=RedisDeliveryKeys(redis),
        own_memory=MemoryDeliveryKeys(),
        limiter=RedisLimiter(redis, rates, prefix=settings.kafka.prefix),
        own_limiter=LocalLimiter(rates, share=1 / settings.kafka.partitions, clock=time.monotonic),
        waits=waits,
        compose=composer.message,
        gate=gatekeeper.gate,
        jitter=random.random,
        unread=RedisUnread(redis, InboxKeys.of(settings.kafka)) if channel == "push" else None,
    )


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
    known, renderer = content(settings)
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
            renderer=renderer,
            settling=RedisDeliveryKeys(redis),
            desk=Desk(
                letters=DeadLetterLog(settings.kafka),
                timers_of=partial(waiting_for, settings.kafka),
                watching=Watching(settings.console.targets),
            ),
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
    **{f"sender-{channel}": _sender(channel) for channel in CHANNELS if channel != "inapp"},
    "recorder": recorder,
    "registry": registry,
}
WITH_CATALOGUE = frozenset({"ingest", "orchestrator", "inbox", *(role for role in ROLES if role.startswith("sender-"))})


def check(role: str, settings: Settings) -> None:
    """What a role can be told to be wrong with its settings before it waits for any engine. Raises SettingsError."""
    if role in WITH_CATALOGUE:
        catalogue(settings)
    for channel in CHANNELS:
        if role == f"sender-{channel}":
            signing_secrets(settings)
            chains.providers(settings, channel)


def content(settings: Settings) -> tuple[Catalogue, Renderer]:
    """Catalogue and templates, read once together. Raises SettingsError."""
    files = FileCatalogues.of(settings)
    found = sources.read(files.templates)
    known = files.load_with(found)
    return known, Templates(found, known)


def _terms(settings: Settings, channel: ChannelSettings) -> Terms:
    attempt_s = seconds(channel.attempt_timeout)
    return Terms(
        policy=_policy(channel),
        deliver_only_to=settings.deliver_only_to,
        rests_after_full_ms=milliseconds(channel.rests_after_full),
        attempt_s=attempt_s,
        batch_s=max(_LEAST_BATCH_S, _BATCH_S - attempt_s),
    )


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
