"""What all protocols of the simulator share: the script, the log, the clock, and the posts of what comes later."""

import asyncio
import logging
import time
from collections import Counter
from collections.abc import Callable, Coroutine, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime

import aiohttp

from notify_streams.providers.simulator.followed import Posted, followed
from notify_streams.providers.simulator.later import Post, words_of_mail
from notify_streams.providers.simulator.log import Log
from notify_streams.providers.simulator.script import Script

log = logging.getLogger(__name__)
_AT_ONCE, _WAITING = 32, 100_000
_AFTER_S = 0.1  # between a message and the first word on it, and between two words
_AGAIN_S = (1.0, 3.0, 10.0, 30.0, 60.0)


@dataclass(frozen=True)
class Kit:
    """`asking.Kit` for real."""

    script: Script
    log: Log
    clock: Callable[[], float] = field(default=time.time)


class Callbacks:
    """Posts what providers say later: to `to`/v1/receipts/PROVIDER, or to the address that a message names itself.

    Words of one message go in their order; a post that is not taken (2xx) is repeated after growing pauses, as the
    vendors do. Beyond 100,000 that wait no more are made, and that is counted in `left_out`.
    """

    def __init__(self, script: Script, to: str = "") -> None:
        self._script, self._to = script, to.rstrip("/")
        self._tasks: set[asyncio.Task[None]] = set()
        self._slots = asyncio.Semaphore(_AT_ONCE)
        self._http: aiohttp.ClientSession | None = None
        self.posted = self.refused = self.left_out = 0
        self.by_provider: Counter[str] = Counter()  # what was taken, but for confirmations of a subscription
        self.before: asyncio.Event | None = None

    @property
    def waiting(self) -> int:
        """Messages of which something is still to be said."""
        return len(self._tasks)

    def taken(self, provider: str, recipient: str, post: Callable[[str], Post]) -> None:
        """See later.Later."""
        told = self._script.words(provider, recipient)
        words = words_of_mail(recipient) if told is None else told
        if self._to and words:
            self._begin(self._say(f"{self._to}/v1/receipts/{provider}", words, post))

    def post(self, url: str, body: bytes, headers: Mapping[str, str], after_s: float) -> None:
        """One callback of a message that says itself where to."""
        self._begin(self._call(url, Post(body, dict(headers)), after_s))

    async def confirm(self, provider: str, post: Post) -> None:
        """The post that has to be taken before any other of this provider. Repeated until it is."""
        self.before = asyncio.Event()
        while True:
            if await self._once(f"{self._to}/v1/receipts/{provider}", post):
                break
            await asyncio.sleep(_AGAIN_S[0])
        self.before.set()

    async def close(self) -> None:
        """What was not said yet is not said any more."""
        for task in tuple(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        if self._http is not None:
            await self._http.close()

    def _begin(self, work: Coroutine[None, None, None]) -> None:
        if len(self._tasks) >= _WAITING:
            self.left_out += 1
            work.close()
            return
        task = asyncio.ensure_future(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _say(self, url: str, words: tuple[str, ...], post: Callable[[str], Post]) -> None:
        if self.before is not None and url.endswith("/ses"):
            await self.before.wait()
        for word in words:
            await asyncio.sleep(_AFTER_S)
            await self._until_taken(url, post(word))

    async def _call(self, url: str, post: Post, after_s: float) -> None:
        await asyncio.sleep(after_s)
        await self._until_taken(url, post)

    async def _until_taken(self, url: str, post: Post) -> None:
        for pause in (*_AGAIN_S, None):
            if await self._once(url, post):
                self.by_provider[url.partition("?")[0].rpartition("/")[2]] += 1
                return
            if pause is not None:
                await asyncio.sleep(pause)
        self.left_out += 1
        log.warning("callback.given_up url=%s", url.partition("?")[0])

    async def _once(self, url: str, post: Post) -> bool:
        status = await self._status(url, post)
        taken = status is not None and 200 <= status < 300
        self.posted += taken
        self.refused += status is not None and not taken
        about = followed()
        if about is not None:
            at = datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
            about.posts.append(Posted(at, url, post.body, "no answer" if status is None else str(status)))
        return taken

    async def _status(self, url: str, post: Post) -> int | None:
        if self._http is None:
            self._http = aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(10))
        async with self._slots:
            with suppress(aiohttp.ClientError, OSError, TimeoutError):
                async with self._http.post(url, data=post.body, headers=post.headers) as answer:
                    return answer.status
        return None
