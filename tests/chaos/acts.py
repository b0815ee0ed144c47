"""What is done to the system, and how long it takes to recover: one worker or engine at a time."""

import asyncio
import time
from collections.abc import Awaitable, Callable

import aiohttp
import msgspec

from notify_streams.local.programs import ROLES
from tests.chaos.finality import Finality
from tests.chaos.publishing import Publisher
from tests.system.progress import Progress
from tests.system.whole import Whole

USERS_OF = {"kafka": ROLES, "cassandra": ("inbox", "recorder"), "redis": ("sender-email",)}
_LIMIT_S = 120.0
_POSTS_A_SECOND = 5
_ANSWER = aiohttp.ClientTimeout(total=10)


class Act(msgspec.Struct, frozen=True, kw_only=True):
    """Seconds: since the start of the run, away, and from the return until it is ready, caught up, all final, and a
    user's command is answered over HTTP (the last two after outages). None: never.
    """

    what: str
    at: float
    away: float = 0.0
    ready: float | None = None
    caught_up: float | None = None
    final: float | None = None
    command: float | None = None
    outage: bool = False

    @property
    def recovered(self) -> bool:
        """Within the limits."""
        waited = (self.ready, self.caught_up, *((self.final, self.command) if self.outage else ()))
        return None not in waited


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
        answered = asyncio.create_task(_timed(self._answered()))
        ready = await self._ready(*USERS_OF[engine], "gateway")
        waited = {"caught_up": await caught_up, "final": await final_soon, "command": await answered}
        self._end(Act(what=what, at=at, away=away, ready=ready, **waited, outage=True))
        if self._finality.latest is not None:
            self._say(f"          last of all: {await self._finality.describe(self._finality.latest)}")

    async def _answered(self) -> None:
        """A change of preferences is confirmed: by the gateway, the orchestrator, and the topic of the answers."""
        url = f"{self._whole.urls['gateway']}/v1/users/somebody/preferences"
        async with asyncio.timeout(_LIMIT_S), aiohttp.ClientSession(timeout=_ANSWER) as http:
            while True:
                try:
                    async with http.patch(url, json={"locale": "fr"}) as response:
                        if response.status == 200:
                            return
                except (aiohttp.ClientError, TimeoutError):
                    pass
                await asyncio.sleep(0.5)

    async def _announce(self, what: str) -> float:
        at = time.monotonic() - self._began
        self._say(f"{at:6.1f} s  {what}; {len(self._publisher.accepted):,} events accepted")
        return at

    def _end(self, act: Act) -> None:
        self.acts.append(act)
        final = f", all final {_s(act.final)}, a command answered {_s(act.command)}" if act.outage else ""
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
