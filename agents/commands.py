"""User commands in; profiles written, and only then the results out."""

from collections.abc import Iterable
from typing import cast

import msgspec
from faust.types import AgentT, EventT, StreamT

from agents.clock import Clock, wall_clock
from agents.deciding import Record, following
from notify_streams.domain import stopping, windows
from notify_streams.domain.accept import why_no_user_id
from notify_streams.domain.commands import carry_out, reset, shown
from notify_streams.metrics import MISROUTED, STAGE_RECORDS
from notify_streams.streaming import topics
from notify_streams.streaming.app import App, topic
from notify_streams.streaming.batches import batches
from notify_streams.streaming.deadletters import DeadLetters
from notify_streams.streaming.keyed import NoUser
from notify_streams.streaming.outgoing import Headers, Outgoing, TooLarge
from notify_streams.streaming.partitions import Partitions
from notify_streams.streaming.settle import settled
from schemas.catalogue import Catalogue
from schemas.codec import encode
from schemas.commands import CancelV1, CommandResultV1, decode_command
from schemas.profiles import ProfileV1
from tables.by_event import StoreFailed
from tables.profiles import Profiles
from tables.user_state import UserStates

BATCH = 32  # a profile lists its last 32 commands: met again after a crash, each of a batch must find its answer
Answer = tuple[int, bytes, CommandResultV1]


class Commands:
    """The one writer of profiles; and of what a change of them, or a cancel, does to a user's state."""

    def __init__(
        self,
        app: App,
        states: UserStates,
        profiles: Profiles,
        catalogue: Catalogue,
        dead: DeadLetters,
        *,
        generation: int,
        clock: Clock = wall_clock,
    ) -> None:
        self.app, self.states, self.profiles, self.catalogue, self.dead = app, states, profiles, catalogue, dead
        self.generation, self.clock = generation, clock
        self.partitions = Partitions(app.conf.topic_partitions)

    def take(self, event: EventT[bytes], outgoing: Outgoing) -> Answer | None:
        """Apply one command; no await. The answer, to be published once the profile is acknowledged.

        Raises NoUser or msgspec.DecodeError for what its sender got wrong.
        """
        message = event.message
        partition, user = message.partition, message.key or b""
        user_id = _user_id(user)
        home = self.partitions.of(user)
        if home != partition:
            MISROUTED.labels(topic=topics.USER_COMMANDS).inc()
            outgoing.add(topics.USER_COMMANDS, home, user, message.value, cast("Headers", message.headers or ()))
            return None
        place = {"generation": self.generation, "offset": message.offset}
        profile = self.profiles.load(partition, user)
        if message.value is None:
            changed = reset(profile, **place)
            result = CommandResultV1(
                command_id="", user_id=user_id, status="applied", version=changed.version, profile=shown(changed)
            )
            self._apply(partition, user, profile, changed, outgoing)
            return partition, user, result
        command = decode_command(message.value)
        changed, result = carry_out(profile, command, user_id, self.catalogue, **place)
        if isinstance(command, CancelV1):
            if result.status == "applied":
                self._cancel(partition, user, command, round(message.timestamp * 1000), outgoing)
        elif result.status == "applied" and not (changed is not profile and changed.version == profile.version):
            self._apply(partition, user, profile, changed, outgoing)
        elif changed is not profile:
            self.profiles.store(partition, user, changed, outgoing)
        return partition, user, result

    def tell(self, event: EventT[bytes], answer: Answer, outgoing: Outgoing) -> None:
        """Publish what `take` answered, of a profile that is acknowledged. An answer that is too long goes without the
        profile, which readers then find in the records; one that cannot be sent at all is a dead letter, and what the
        command did stays.
        """
        partition, user, result = answer
        try:
            try:
                outgoing.add(topics.COMMAND_RESULTS, partition, user, encode(result))
            except TooLarge:
                short = msgspec.structs.replace(result, profile=None)
                outgoing.add(topics.COMMAND_RESULTS, partition, user, encode(short))
        except Exception as error:  # noqa: BLE001  one answer must not take those of others with it
            self.dead.bury(event, error, outgoing, now=self.clock())

    def _apply(self, partition: int, user: bytes, profile: ProfileV1, changed: ProfileV1, outgoing: Outgoing) -> None:
        """Write the profile, and plan anew what waits. Applied again, all is said again: it may have got lost."""
        now, state = self.clock(), self.states.load(partition, user)
        self._say(partition, user, following(stopping.changed(state, changed, now)), outgoing)
        known = self.states.windows(partition, user)
        for window in windows.replanned(known, changed, self.catalogue, now):
            self.states.keep(partition, user, windows.of_window(window), window, outgoing)
            self._say(partition, user, [(topics.TIMERS, encode(windows.timer_of(window)))], outgoing)
        self.profiles.store(partition, user, changed, outgoing)

    def _cancel(self, partition: int, user: bytes, command: CancelV1, given_at: int, outgoing: Outgoing) -> None:
        state = self.states.load(partition, user)
        followed = stopping.cancel(state, command, given_at, self.clock())
        self.states.store(partition, user, followed.state, outgoing)
        self._say(partition, user, following(followed), outgoing)

    def _say(self, partition: int, user: bytes, records: Iterable[Record], outgoing: Outgoing) -> None:
        for name, record in records:
            outgoing.add(name, partition, user, record)


def _user_id(key: bytes) -> str:
    try:
        user_id = key.decode()
    except UnicodeDecodeError as error:
        raise NoUser(f"key: not UTF-8 at byte {error.start}") from None
    fault = why_no_user_id(user_id)
    if fault is not None:
        raise NoUser(f"key: {fault}")
    return user_id


def register(commands: Commands) -> AgentT[bytes]:
    """The agent on `user-commands`."""
    app, dead = commands.app, commands.dead
    records = STAGE_RECORDS.labels(role="orchestrator", lane="commands")

    @app.agent(topic(app, topics.USER_COMMANDS), name="orchestrator.commands")
    async def command(stream: StreamT[bytes]) -> None:
        async for events in batches(stream, BATCH):
            answers: list[tuple[EventT[bytes], Answer]] = []
            async with settled(app, commands.states, commands.profiles) as outgoing:
                for event in events:
                    try:
                        answer = commands.take(event, outgoing)
                        dead.handled(event)
                        answers += [] if answer is None else [(event, answer)]
                    except StoreFailed:
                        raise
                    except (NoUser, msgspec.DecodeError) as error:  # others write to this topic: their own faults
                        dead.keep(event, type(error).__name__, str(error), outgoing, now=commands.clock())
                    except Exception as error:  # noqa: BLE001  the fault is in our code for it
                        dead.bury(event, error, outgoing, now=commands.clock())
            async with settled(app) as outgoing:
                for event, answer in answers:
                    commands.tell(event, answer, outgoing)
            records.inc(len(events))

    return command
