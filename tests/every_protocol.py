"""Every adapter with the settings that a running simulator names, and a gateway that takes its receipts."""

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any
from uuid import uuid4

import aiohttp
import msgspec
from aiohttp import web

from notify_streams import chains
from notify_streams.domain import references
from notify_streams.domain.answers import Answer
from notify_streams.domain.references import Reference
from notify_streams.domain.rendered import Rendered, RenderedEmail, RenderedPush, RenderedSms, RenderedWebhook
from notify_streams.ports import Message, Provider
from notify_streams.providers.simulator.serve import Running
from notify_streams.settings import Settings
from schemas.words import Channel

CHANNELS: dict[str, Channel] = {
    "smtp": "email",
    "ses": "email",
    "sendgrid": "email",
    "fcm": "push",
    "apns": "push",
    "webpush": "push",
    "twilio": "sms",
    "webhook": "webhook",
}
PUSH = RenderedPush("Hello", "Dear Ann")
RENDERED: dict[Channel, Rendered] = {
    "email": RenderedEmail("Hello", "Dear Ann", "<p>Dear Ann</p>"),
    "push": PUSH,
    "sms": RenderedSms("Dear Ann"),
    "webhook": RenderedWebhook({"title": "Hello"}),
}


class Told:
    """A gateway that takes every receipt, and keeps them by path."""

    def __init__(self) -> None:
        self.posts: list[tuple[str, bytes]] = []
        self.url = ""

    async def take(self, request: web.Request) -> web.Response:
        body = await request.read()
        self.posts.append((request.path, body))
        if b"SubscribeURL" in body and b"SubscriptionConfirmation" in body:
            async with aiohttp.ClientSession() as http:
                await http.get(msgspec.json.decode(body)["SubscribeURL"])
        return web.Response()

    async def until(self, path: str, words: bytes) -> bytes:
        """The first post on this path with these words in it."""
        async with asyncio.timeout(10):
            while True:
                for where, body in self.posts:
                    if where == path and words in body:
                        return body
                await asyncio.sleep(0.02)


@asynccontextmanager
async def a_gateway() -> AsyncIterator[Told]:
    told = Told()
    app = web.Application()
    app.router.add_post("/v1/receipts/{provider}", told.take)
    runner = web.AppRunner(app)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    told.url = f"http://127.0.0.1:{runner.addresses[0][1]}"
    try:
        yield told
    finally:
        await runner.cleanup()


def adapter(simulator: Running, name: str, public_url: str = "") -> Provider:
    """As a sender makes it from the settings that the simulator names."""
    channel = CHANNELS[name]
    values: dict[str, Any] = {section.partition(".")[2]: keys for section, keys in simulator.settings.items()}
    settings = msgspec.convert(
        {
            "channels": {channel: {"providers": [name], "attempt_timeout": "2s"}},
            "providers": values,
            "gateway": {"public_url": public_url},
        },
        Settings,
    )
    return chains.providers(settings, channel)[0]


async def address_of(simulator: Running, name: str) -> str:
    url = f"http://127.0.0.1:{simulator.http_port}"
    match name:
        case "fcm":
            return "device:" + "f" * 60
        case "apns":
            return "a" * 64
        case "webpush":
            async with (
                aiohttp.ClientSession() as http,
                http.post(f"{url}/webpush/subscribe", json={"name": "ann"}) as r,
            ):
                return await r.text()
        case "twilio":
            return "+447400123456"
        case "webhook":
            return f"{url}/hooks/ann"
        case _:
            return "ann@example.com"


async def a_message(simulator: Running, name: str, address: str = "") -> Message:
    platform = {"fcm": "android", "apns": "ios", "webpush": "web"}.get(name)
    delivery, notification = str(uuid4()), str(uuid4())
    return Message(
        delivery_id=delivery,
        notification_id=notification,
        user_id="ann",
        address=address or await address_of(simulator, name),
        rendered=RENDERED[CHANNELS[name]],
        locale="en",
        platform=platform,
        type="order.confirmed",
        identity="i" * 32,
        reference=references.sign("s" * 32, Reference(delivery, notification, CHANNELS[name], "ann")),
    )


async def sent(simulator: Running, name: str, address: str = "", *, public_url: str = "") -> tuple[Message, Answer]:
    provider, message = adapter(simulator, name, public_url), await a_message(simulator, name, address)
    try:
        return message, await provider.send(message, now=round(time.time() * 1000))
    finally:
        await provider.close()
