"""Whether a worker lives and whether it is ready, for probes; and its metrics.

Faust answers 200 whatever happens: after a fatal error of the group its process stays up and consumes nothing.
"""

import time
from collections.abc import Callable
from typing import Any

import msgspec
from aiohttp import web
from faust.types import TP
from prometheus_client import CONTENT_TYPE_LATEST, generate_latest

from notify_streams.metrics import CONSUMER_LAG, nothing_waits
from notify_streams.streaming.app import App


class Verdict(msgspec.Struct, frozen=True):
    """`ok` for the probe, `state` in a word, `reasons` in sentences."""

    ok: bool
    state: str
    reasons: tuple[str, ...] = ()


class Health:
    """Watches one app from outside; without one the worker still waits for its engines."""

    def __init__(self, role: str, stalled_after_s: float, *, clock: Callable[[], float] = time.monotonic) -> None:
        self.role = role
        self._stalled_after, self._clock = stalled_after_s, clock
        self._app: App | None = None
        self._unassigned_since: float | None = None
        self._committed: dict[TP, tuple[int | None, float]] = {}
        self.waiting_for = "engines"

    def watch(self, app: App) -> None:
        """From now on the app has to consume."""
        self._app = app

    def live(self) -> Verdict:
        """Not alive: no partition for too long outside a rebalance, or lag without any commit for too long."""
        if self._app is None:
            return Verdict(True, "waiting", (f"waiting for {self.waiting_for}",))
        if self._app.rebalancing or not self._app.tables.actives_ready:
            self._unassigned_since, self._committed = None, {}
            return Verdict(True, "recovering")
        reasons = (*self._why_idle(), *self._why_stalled())
        return Verdict(not reasons, "stalled" if reasons else "running", reasons)

    def ready(self) -> Verdict:
        """Ready: partitions are assigned, tables are recovered, nothing is stalled."""
        live = self.live()
        return live if live.state == "running" else Verdict(False, live.state, live.reasons)

    def lags(self) -> dict[TP, int]:
        """Records that are not yet fetched or not yet committed, per partition that is consumed."""
        consumer: Any = None if self._app is None else self._app.consumer
        if self._app is None or self._app.rebalancing or consumer is None:
            return {}
        changelogs = self._app.tables.changelog_topics
        return {tp: consumer.behind(tp) for tp in consumer.assignment() if tp.topic not in changelogs}

    def _why_idle(self) -> tuple[str, ...]:
        assert self._app is not None
        if self._app.consumer.assignment():
            self._unassigned_since = None
            return ()
        now = self._clock()
        self._unassigned_since = self._unassigned_since if self._unassigned_since is not None else now
        idle = now - self._unassigned_since
        return (f"no partition is assigned since {idle:.0f} s",) if idle > self._stalled_after else ()

    def _why_stalled(self) -> tuple[str, ...]:
        assert self._app is not None
        now, consumer, reasons = self._clock(), self._app.consumer, []
        for tp, lag in self.lags().items():
            committed = consumer._committed_offset[tp]  # type: ignore[attr-defined]
            before, since = self._committed.get(tp, (None, now))
            if lag <= 0 or committed != before or tp not in self._committed:
                self._committed[tp] = (committed, now)
            elif now - since > self._stalled_after:
                reasons.append(f"{tp.topic}/{tp.partition}: {lag} behind and nothing committed for {now - since:.0f} s")
        return tuple(reasons)


async def serve(health: Health, host: str, port: int) -> web.AppRunner:
    """Answer /healthz, /readyz and /metrics until the runner is cleaned up."""

    async def probe(request: web.Request) -> web.Response:
        verdict = health.live() if request.path == "/healthz" else health.ready()
        body = {"role": health.role, "state": verdict.state, "reasons": verdict.reasons}
        return web.json_response(body, status=200 if verdict.ok else 503)

    async def metrics(_: web.Request) -> web.Response:
        by_topic: dict[str, int] = {}
        for tp, lag in health.lags().items():
            by_topic[tp.topic] = by_topic.get(tp.topic, 0) + lag
        CONSUMER_LAG.clear()  # what this process reads no more must not stay as it was last seen
        for topic, lag in by_topic.items():
            CONSUMER_LAG.labels(role=health.role, topic=topic).set(lag)
        if by_topic and not any(by_topic.values()):
            nothing_waits()
        return web.Response(body=generate_latest(), headers={"Content-Type": CONTENT_TYPE_LATEST})

    application = web.Application()
    application.add_routes([web.get("/healthz", probe), web.get("/readyz", probe), web.get("/metrics", metrics)])
    runner = web.AppRunner(application, access_log=None)
    await runner.setup()
    await web.TCPSite(runner, host, port).start()
    return runner
