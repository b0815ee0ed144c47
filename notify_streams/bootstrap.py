"""The only place that picks implementations: one straight function per role."""

from collections.abc import Awaitable, Callable
from importlib.metadata import version

from agents import commands as command_agent
from agents import ingest as ingest_agent
from agents import orchestrate as orchestrate_agent
from agents import schedule as schedule_agent
from notify_streams.content.catalogue import FileCatalogues
from notify_streams.domain.accept import Limits
from notify_streams.settings import Settings
from notify_streams.streaming import app as apps
from notify_streams.streaming import topics
from notify_streams.streaming.app import App
from notify_streams.streaming.deadletters import DeadLetters
from notify_streams.streaming.health import Health
from schemas.catalogue import Catalogue
from schemas.words import LANES
from tables.profiles import Profiles
from tables.timers import Timers
from tables.user_state import UserStates


def limits(settings: Settings) -> Limits:
    """What an event may be, as pure values."""
    sizes = settings.limits
    return Limits(sizes.event_bytes, sizes.expansion_bytes, sizes.recipients, sizes.payload_depth)


def catalogue(settings: Settings) -> Catalogue:
    """The one in force. Raises SettingsError."""
    return FileCatalogues.of(settings).load()


async def ingest(settings: Settings, instance: int, _: Health) -> App:
    """Events to notifications."""
    app = apps.build(settings, "ingest", instance=instance)
    dead = _dead_letters(settings, "ingest")
    role = ingest_agent.Ingest(app, catalogue(settings), limits(settings), dead)
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
        command_agent.Commands(app, profiles, known, _dead_letters(settings, "commands"), generation=generation)
    )
    return app


async def scheduler(settings: Settings, instance: int, _: Health) -> App:
    """Timers."""
    app = apps.build(settings, "scheduler", instance=instance)
    timers = Timers(apps.table(app, "timers", topics.TIMERS_LOG), app.topic_prefix)
    targets = [topic.name for topic in topics.all_topics(settings.kafka)]
    dead = _dead_letters(settings, "scheduler")
    schedule_agent.register(schedule_agent.Scheduler(app, timers, dead, targets=targets))
    return app


ROLES: dict[str, Callable[[Settings, int, Health], Awaitable[App]]] = {
    "ingest": ingest,
    "orchestrator": orchestrator,
    "scheduler": scheduler,
}


def _dead_letters(settings: Settings, stage: str) -> DeadLetters:
    return DeadLetters(stage, settings.kafka.max_dead_letter_run)
