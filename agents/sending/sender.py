"""What becomes of a batch of deliveries: claimed together, then each on its own way to a provider."""

import asyncio
from collections.abc import Sequence

from agents.sending.course import Batch, Course
from agents.sending.jobs import End, Ended, Job
from agents.sending.keyring import Keyring
from agents.sending.order import Order
from agents.sending.saying import Saying, Terms
from notify_streams.metrics import DUPLICATES
from notify_streams.ports import Unavailable, Unread

_AT_A_TIME = 16  # started in one turn of the loop: rendering them must not hold up the other lanes


class Sender:
    """One per channel, lane and process; works on several batches at once."""

    def __init__(
        self, course: Course, saying: Saying, keyring: Keyring, order: Order, terms: Terms, unread: Unread | None = None
    ) -> None:
        self._course, self._saying, self._keyring, self._order, self._terms = course, saying, keyring, order, terms
        self._unread = unread

    async def room(self, at_most: int) -> None:
        """Wait until at most so many deliveries are on their way; a stop or a rebalance ends the wait."""
        await self._order.room(at_most)

    async def work(self, jobs: Sequence[Job], ended: Ended, *, hold: bool) -> None:
        """Bring every job to its end, and say each as soon as it is known. Call it in the order of the batches.

        `hold`: without Redis wait, rather than go on without it.
        """
        batch = Batch(hold, asyncio.get_running_loop().time() + self._terms.batch_s)
        kept = _once(jobs)
        for job in kept:
            self._order.enter(job)
        try:
            for job in set(jobs).difference(kept):
                ended(job, End())
            await _all(await self._started(kept, batch, ended))
        finally:
            for job in kept:
                if not job.over:
                    self._order.leave(job)

    async def _started(self, jobs: Sequence[Job], batch: Batch, ended: Ended) -> "list[asyncio.Task[None]]":
        tasks: list[asyncio.Task[None]] = []
        fresh = [job for job in jobs if not job.again]
        claims = await self._keyring.claims(fresh, hold_s=self._terms.hold_s if batch.holds else None)
        await self._count_unread(fresh)
        if claims is None:
            for job in fresh:
                self._end(job, self._saying.put_off(job, held=True), ended)
        for job, claim in zip(fresh, claims or (), strict=claims is not None):
            end = self._saying.claimed(job, claim)
            if end is not None:
                self._end(job, end, ended)
                continue
            tasks.append(asyncio.create_task(self._run(job, batch, ended)))
            if len(tasks) % _AT_A_TIME == 0:
                await asyncio.sleep(0)
        return tasks + [asyncio.create_task(self._run(job, batch, ended)) for job in jobs if job.again]

    async def _count_unread(self, jobs: Sequence[Job]) -> None:
        """For the number on the app's icon; where nobody knows it none is set."""
        if self._unread is None or not jobs:
            return
        try:
            known = await self._unread.unread(list({job.delivery.user_id for job in jobs}))
        except Unavailable:
            return
        for job in jobs:
            job.badge = known.get(job.delivery.user_id)

    async def _run(self, job: Job, batch: Batch, ended: Ended) -> None:
        self._end(job, await self._course.run(job, batch), ended)

    def _end(self, job: Job, end: End, ended: Ended) -> None:
        self._order.leave(job)
        ended(job, end)


async def _all(tasks: "Sequence[asyncio.Task[None]]") -> None:
    """Wait for all; with the first that raises, the others are cancelled."""
    if not tasks:
        return
    try:
        await asyncio.wait(tasks, return_when=asyncio.FIRST_EXCEPTION)
    finally:
        left = [task for task in tasks if not task.done()]
        for task in left:
            task.cancel()
        if left:
            await asyncio.wait(left)
    for task in tasks:
        if not task.cancelled() and (error := task.exception()) is not None:
            raise error


def _once(jobs: Sequence[Job]) -> list[Job]:
    """Of an attempt that came more than once the latest decision, in the order of the first."""
    kept: dict[tuple[str, int], Job] = {}
    for job in jobs:
        key = job.delivery.delivery_id, job.delivery.attempt
        known = kept.setdefault(key, job)
        if known is not job:
            DUPLICATES.labels(stage=f"sender-{job.delivery.channel}").inc()
            kept[key] = job if job.delivery.revision > known.delivery.revision else known
    return list(kept.values())
