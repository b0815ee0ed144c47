"""What is done to the system, and how long it takes to recover: one worker or engine at a time."""

import asyncio
import time
from collections.abc import Awaitable, Callable

import msgspec

from notify_streams.local.programs import ROLES
from tests.chaos.finality import Finality
from tests.chaos.publishing import Publisher
from tests.system.progress import Progress
from tests.system.whole import Whole

USERS_OF = {"kafka": ROLES, "cassandra": ("inbox", "recorder"), "redis": ("sender-email",)}
_LIMIT_S = 120.0
_POSTS_A_SECOND = 5


class Act(msgspec.Struct, frozen=True, kw_only=True):
    """Seconds: since the start of the run, away, and from the return to ready, caught up, all final. None: never."""

    what: str
    at: float
    away: float = 0.0
    ready: float | None = None
    caught_up: float | None = None
    final: float | None = None
    measured_final: bool = False

    @property
    def recovered(self) -> bool:
        """Within the limits."""
        return (
            self.ready is not None and self.caught_up is not None and not (self.measured_final and self.final is None)
        )


class Stage:
    """Where acts are played, one after the other."""

    def __init__(
        self, whole: Whole, publisher: Publisher, finality: Finality, progress: Progress, say: Callable[[str], None]
    ) -> None:
        self._whole, self._publisher, self._finality, self._progress = whole, publisher, finality, progress
        self._say = say
        self._began = time.monotonic()
        self.acts: list[Act] = []

    def usual(self, at_least_s: float) -> float:
        """How long an act has lasted so far."""
        so_far = time.monotonic() - self._began
        return max(at_least_s, so_far / len(self.acts)) if self.acts else at_least_s

    async def kill(self, role: str, *, lasts_s: float) -> None:
        """SIGKILL to a worker, which is started again at once; the act lasts at least so long."""
        until = time.monotonic() + lasts_s
        at = await self._announce(f"SIGKILL {role}")
        await self._whole.fleet.kill(role)
        ready = await self._ready(role)
        caught_up = await self._progress.caught_up(role, limit_s=_LIMIT_S)
        self._end(Act(what=f"SIGKILL {role}", at=at, ready=ready, caught_up=caught_up))
        await asyncio.sleep(max(0.0, until - time.monotonic()))

    async def outage(self, engine: str, *, seconds: float, frozen: bool = False) -> None:
        """An engine is killed (or stands still, SIGSTOP) for a while; events come in by HTTP as well."""
        how = "frozen" if frozen else "SIGKILL"
        what = f"{engine} {how}{f', away {seconds:.0f} s' if seconds else ''}"
        at, engines = await self._announce(what), self._whole.engines
        if frozen:
            engines.pause(engine)
        else:
            await engines.kill(engine)
        began = time.monotonic()
        while time.monotonic() - began < seconds:
            self._publisher.post(_POSTS_A_SECOND)
            await asyncio.sleep(1.0)
        if frozen:
            engines.resume(engine)
        else:
            await engines.start(engine)
        away = time.monotonic() - began
        final_soon = asyncio.create_task(
            self._finality.reached(limit_s=_LIMIT_S, of=lambda: set(self._publisher.accepted))
        )
        caught_up = asyncio.create_task(self._progress.caught_up(*USERS_OF[engine], limit_s=_LIMIT_S))
        ready = await self._ready(*USERS_OF[engine], "gateway")
        late, final = await caught_up, await final_soon
        self._end(Act(what=what, at=at, away=away, ready=ready, caught_up=late, final=final, measured_final=True))
        if self._finality.latest is not None:
            self._say(f"          last of all: {await self._finality.describe(self._finality.latest)}")

    async def _announce(self, what: str) -> float:
        at = time.monotonic() - self._began
        self._say(f"{at:6.1f} s  {what}; {len(self._publisher.accepted):,} events accepted")
        return at

    def _end(self, act: Act) -> None:
        self.acts.append(act)
        final = f", all final {_s(act.final)}" if act.measured_final else ""
        self._say(f"          ready {_s(act.ready)}, caught up {_s(act.caught_up)}{final}")

    async def _ready(self, *roles: str) -> float | None:
        return await _timed(self._whole.fleet.ready(*roles, limit_s=_LIMIT_S))


async def _timed(work: Awaitable[None]) -> float | None:
    began = time.monotonic()
    try:
        await work
    except TimeoutError:
        return None
    return time.monotonic() - began


def _s(seconds: float | None) -> str:
    return "never" if seconds is None else f"{seconds:.1f} s"
