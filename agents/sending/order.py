"""Whose turn it is: what goes to one endpoint of one user goes in the order in which it came, over all batches."""

import asyncio

from agents.sending.jobs import Job
from agents.sending.waits import Waits
from notify_streams.metrics import DUPLICATES

_ROOM_S = 5.0


class Order:
    """The jobs of one lane that are on their way."""

    def __init__(self, waits: Waits) -> None:
        self._waits = waits
        self._last: dict[tuple[str, str], Job] = {}
        self._attempts: dict[tuple[str, int], Job] = {}
        self._room: tuple[int, asyncio.Future[bool]] | None = None
        self.size = 0

    def enter(self, job: Job) -> None:
        """Take one in, behind what goes to the same endpoint."""
        attempt, place = _attempt(job), _place(job)
        if attempt in self._attempts:
            DUPLICATES.labels(stage=f"sender-{job.delivery.channel}").inc()
            job.again = True
        self._attempts[attempt] = job
        job.before = self._last.get(place)
        self._last[place] = job
        self.size += 1

    async def turn(self, job: Job, timeout_s: float) -> bool:
        """Wait until the one before it is over; False where that takes too long or was interrupted."""
        before, job.before = job.before, None
        if before is None or before.over:
            return True
        over: asyncio.Future[bool] = asyncio.get_running_loop().create_future()
        before.followers.append(over)
        return await self._waits.wait(over, timeout_s) is True

    async def room(self, at_most: int) -> None:
        """Wait until no more are on their way, or until it is interrupted."""
        while self.size > at_most and not self._waits.interrupted():
            self._room = at_most, asyncio.get_running_loop().create_future()
            await self._waits.wait(self._room[1], _ROOM_S)

    def leave(self, job: Job) -> None:
        """It is over; the next one may go."""
        job.over = True
        self.size -= 1
        if self._room is not None and self.size <= self._room[0] and not self._room[1].done():
            self._room[1].set_result(True)
        if self._last.get(_place(job)) is job:
            del self._last[_place(job)]
        if self._attempts.get(_attempt(job)) is job:
            del self._attempts[_attempt(job)]
        for follower in job.followers:
            if not follower.done():
                follower.set_result(True)
        job.followers.clear()


def _place(job: Job) -> tuple[str, str]:
    return job.delivery.user_id, job.delivery.endpoint_id


def _attempt(job: Job) -> tuple[str, int]:
    return job.delivery.delivery_id, job.delivery.attempt
