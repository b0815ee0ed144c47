"""Is it alive, is it of use, what has it counted."""

import asyncio
from collections.abc import Awaitable
from dataclasses import dataclass

import msgspec
from aiohttp import web
from prometheus_client import REGISTRY
from prometheus_client.exposition import CONTENT_TYPE_LATEST, generate_latest

from notify_streams.gateway.auth import Auth
from notify_streams.gateway.publisher import Publisher
from notify_streams.gateway.results import Results
from notify_streams.gateway.routes import Route, json_response
from notify_streams.ports import RecordStore, Unavailable
from schemas.codec import encode


class Ready(msgspec.Struct, frozen=True):
    """Every engine that it cannot do without: `ok`, or what is wrong."""

    ready: bool
    engines: dict[str, str]


@dataclass(frozen=True, slots=True)
class Health:
    """For orchestrators and operators."""

    auth: Auth
    publisher: Publisher
    records: RecordStore
    results: Results

    def routes(self) -> tuple[Route, ...]:
        """Three of them."""
        return (
            Route(
                method="GET",
                path="/healthz",
                handler=self.healthz,
                summary="The process serves",
                answers={200: "always"},
            ),
            Route(
                method="GET",
                path="/readyz",
                handler=self.readyz,
                summary="Kafka and Cassandra answer",
                answers={200: Ready, 503: Ready},
            ),
            Route(
                method="GET",
                path="/metrics",
                handler=self.metrics,
                summary="Prometheus text",
                who="operator",
                answers={200: "metrics"},
                problems=(401, 403),
            ),
        )

    async def healthz(self, _request: web.Request) -> web.Response:
        """200 for as long as the loop turns."""
        return json_response(b'{"alive":true}')

    async def readyz(self, _request: web.Request) -> web.Response:
        """503 while Kafka or Cassandra does not answer. Redis may be away."""
        kafka, cassandra = await asyncio.gather(
            _state_of(self._probe_kafka()), _state_of(self.records.profile("readyz"))
        )
        engines = {"kafka": kafka, "cassandra": cassandra}
        ready = kafka == cassandra == "ok"
        return json_response(encode(Ready(ready, engines)), status=200 if ready else 503)

    async def _probe_kafka(self) -> None:
        await self.publisher.probe()
        if not self.results.listening:
            raise Unavailable("the answers to commands are not heard yet")

    async def metrics(self, request: web.Request) -> web.Response:
        """What Prometheus scrapes, with an operator's key."""
        self.auth.key(request)
        return web.Response(body=generate_latest(REGISTRY), headers={"Content-Type": CONTENT_TYPE_LATEST})


async def _state_of(probe: Awaitable[object]) -> str:
    try:
        await probe
    except Unavailable:
        return "does not answer"
    return "ok"
