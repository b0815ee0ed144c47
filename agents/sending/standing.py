"""How a provider fares, as this process sees it: shared by all lanes."""

import asyncio
import logging
from collections import deque

import msgspec

from agents.sending.waits import Waits
from notify_streams.domain import breaker as breakers
from notify_streams.domain import surge
from notify_streams.domain.answers import Answer, EndpointGone, Misconfigured, Refused, Sent
from notify_streams.domain.breaker import CLOSED, BreakerPolicy
from notify_streams.domain.retry import pause_ms
from notify_streams.domain.surge import CALM
from notify_streams.metrics import BREAKER_STATE, PROVIDER_ALERTS, PROVIDER_TROUBLE
from schemas.words import Lane

log = logging.getLogger(__name__)
_STATES = {"closed": 0, "half_open": 1, "open": 2}


class Standing:
    """Its breaker, the pause that it has asked for, and whether too many answers speak against us.

    Instants in ms. `gone`: so many say that the address does not exist that our credential must be wrong, and none is
    removed. `blocked`: so many refuse us as a sender that LOW is not sent by it for now.
    """

    def __init__(self, name: str, policy: BreakerPolicy | None = None) -> None:
        self.name = name
        self.breaker = CLOSED if policy is None else msgspec.structs.replace(CLOSED, policy=policy)
        self.paused_until = 0
        self._gone = self._blocks = CALM
        self._queue: deque[asyncio.Future[bool]] = deque()
        self._raised: set[str] = set()
        for alert in ("misconfigured", "gone", "blocked"):
            PROVIDER_ALERTS.labels(provider=name, alert=alert).set(0)
        self._tell()

    def takes_calls(self, lane: Lane, now: int) -> bool:
        """Whether a call could be made at `now`."""
        if now < self.paused_until or (lane == "low" and "blocked" in self._raised and self.is_blocked(now)):
            return False
        return breakers.may_call(self.breaker, now)[1]

    def may_call(self, now: int) -> bool:
        """The same for a call that is made now: it is under way until its answer is heard, or is given back."""
        before = self.breaker.state
        self.breaker, allowed = breakers.may_call(self.breaker, now)
        if self.breaker.state != before:
            self._tell()
        return allowed

    @property
    def is_tried(self) -> bool:
        """Whether a call under way only tries if the provider is back."""
        return self.breaker.state == "half_open"

    def given_back(self) -> None:
        """The call was not made."""
        self.breaker = breakers.given_back(self.breaker)
        self._wake()

    def heard(self, answer: Answer, now: int, jitter: float) -> int:
        """The answer to a call; for how many ms the provider wants to be left alone by everybody, mostly 0."""
        before, pause = self.breaker.state, pause_ms(answer)
        until = now + pause if pause else None
        self.breaker = breakers.heard(self.breaker, breakers.verdict_of(answer), now, jitter, until)
        if until is not None:
            self.pause(until)
        self._count(answer, now)
        if self.breaker.state != before:
            log.warning("provider.breaker provider=%s state=%s", self.name, self.breaker.state)
            self._tell()
        self._wake(everybody=self.breaker.state != before)
        return pause

    def pause(self, until: int) -> None:
        """Nobody calls it before then; a longer pause stays."""
        self.paused_until = max(self.paused_until, until)

    def opens_at(self, lane: Lane, now: int) -> int:
        """When it makes sense to look again."""
        opens_at = self.breaker.opens_at if self.breaker.state == "open" else now
        return max(self.paused_until, opens_at, now + surge.SLOT_MS if lane == "low" and self.is_blocked(now) else now)

    def is_surging(self, now: int) -> bool:
        """Whether no address may be removed because of what it says."""
        return surge.is_stopped(self._gone, now)

    def is_blocked(self, now: int) -> bool:
        """Whether it mostly refuses us as a sender."""
        return surge.is_stopped(self._blocks, now)

    async def change(self, waits: Waits, timeout_s: float) -> None:
        """Wait until it may take calls again, as far as anybody here can tell; at most so long."""
        while self._queue and self._queue[0].done():  # in a long pause nobody is woken
            self._queue.popleft()
        turn: asyncio.Future[bool] = asyncio.get_running_loop().create_future()
        self._queue.append(turn)
        await waits.wait(turn, timeout_s)

    def _wake(self, *, everybody: bool = False) -> None:
        """As many as may be called: all the others would only look and wait again."""
        if not self._queue or (self.breaker.state == "open" and not everybody):
            return
        limit = self.breaker.at_most
        count = len(self._queue) if everybody or not limit else max(0, limit - self.breaker.under_way)
        while count and self._queue:
            turn = self._queue.popleft()
            if not turn.done():
                turn.set_result(True)
                count -= 1

    def _count(self, answer: Answer, now: int) -> None:
        match answer:
            case Sent() | Refused() | EndpointGone():
                is_block = isinstance(answer, Refused) and answer.about == "sender"
                self._gone = surge.after(self._gone, isinstance(answer, EndpointGone), now)
                self._blocks = surge.after(self._blocks, is_block, now)
                self._alert("gone", self.is_surging(now))
                self._alert("blocked", self.is_blocked(now))
                self._alert("misconfigured", False)
                if is_block:
                    PROVIDER_TROUBLE.labels(provider=self.name, trouble="blocked").inc()
            case Misconfigured():
                self._alert("misconfigured", True)
                PROVIDER_TROUBLE.labels(provider=self.name, trouble="misconfigured").inc()

    def _alert(self, alert: str, on: bool) -> None:
        """One line when it begins, and one when it is over."""
        if on == (alert in self._raised):
            return
        self._raised ^= {alert}
        PROVIDER_ALERTS.labels(provider=self.name, alert=alert).set(on)
        log.log(logging.ERROR if on else logging.INFO, "provider.%s provider=%s on=%s", alert, self.name, on)

    def _tell(self) -> None:
        BREAKER_STATE.labels(provider=self.name).set(_STATES[self.breaker.state])
