"""Faults that the apps of tests/streaming_apps.py bring upon themselves."""

import asyncio
from collections.abc import Callable
from typing import Any

from aiokafka.errors import RequestTimedOutError
from aiokafka.protocol.produce import ProduceRequest

from notify_streams.streaming.app import App


async def wait_until(holds: Callable[[], object]) -> None:
    """Look fifty times a second."""
    while not holds():  # noqa: ASYNC110  files and other processes set no event
        await asyncio.sleep(0.02)


async def lose_answers(app: App, count: int) -> None:
    """From now on so many produce requests reach the broker without their answer coming back."""
    await wait_until(lambda: app._producer is not None and app.raw_producer is not None)
    client, left = app.raw_producer.client, count
    send = client.send

    async def send_and_forget(node: int, request: Any, **kwargs: Any) -> Any:
        nonlocal left
        answer = await send(node, request, **kwargs)
        if isinstance(request, ProduceRequest) and left:
            left -= 1
            raise RequestTimedOutError
        return answer

    client.send = send_and_forget


def end_rebalances_late(app: App, delay_s: float) -> None:
    """Time for records to arrive after the flow has begun again."""
    seek = app.consumer.perform_seek

    async def seek_and_wait() -> None:
        await seek()
        await asyncio.sleep(delay_s)

    app.consumer.perform_seek = seek_and_wait  # type: ignore[method-assign]


def mute(app: App) -> None:
    """From now on every produce request waits for ever, as behind a network that drops what it is given."""
    client = app.raw_producer.client
    send = client.send

    async def send_into_nothing(node: int, request: Any, **kwargs: Any) -> Any:
        if isinstance(request, ProduceRequest):
            await asyncio.Event().wait()
        return await send(node, request, **kwargs)

    client.send = send_into_nothing
