"""Answers over HTTP/1.1 that are late, or that never come."""

import asyncio

from aiohttp import web

from notify_streams.providers.simulator.asking import Told

_LOOK_S = 0.2


async def broken_off(request: web.Request, told: Told | None) -> web.StreamResponse | None:
    """Waits as told; None where the answer is to be sent. What is returned never reaches anybody."""
    if told is None:
        return None
    if told.kind == "hang":
        while request.transport is not None:  # noqa: ASYNC110 -- there is no event for a client that has gone
            await asyncio.sleep(_LOOK_S)
        return web.Response()
    await asyncio.sleep(told.seconds)
    if told.kind not in ("drop", "reset"):
        return None
    if request.transport is not None:
        request.transport.abort() if told.kind == "reset" else request.transport.close()
    return web.Response()
