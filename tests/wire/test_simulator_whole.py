"""The simulator with every protocol up: the settings that it names make each adapter speak with it."""

import asyncio
import time
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any
from uuid import uuid4

import aiohttp
import msgspec
import pytest
from aiohttp import web

from notify_streams import chains
from notify_streams.domain import references
from notify_streams.domain.answers import Answer, EndpointGone, Sent, TryLater, Unknown
from notify_streams.domain.references import Reference
from notify_streams.domain.rendered import Rendered, RenderedEmail, RenderedPush, RenderedSms, RenderedWebhook
from notify_streams.ports import Message, Provider
from notify_streams.providers.simulator.script import Reply, Rule, Weather
from notify_streams.providers.simulator.serve import Ports, Running, start
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


@pytest.fixture
async def gateway() -> AsyncIterator[Told]:
    told = Told()
    app = web.Application()
    app.router.add_post("/v1/receipts/{provider}", told.take)
    runner = web.AppRunner(app)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    told.url = f"http://127.0.0.1:{runner.addresses[0][1]}"
    yield told
    await runner.cleanup()


@pytest.fixture
async def simulator(tmp_path: Path, gateway: Told) -> AsyncIterator[Running]:
    running = await start(Ports(), log=tmp_path / "log.jsonl", credentials=tmp_path / "keys", receipts_to=gateway.url)
    yield running
    await running.close()


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


@pytest.mark.parametrize("name", CHANNELS)
async def test_every_adapter_speaks_with_it_by_its_own_settings(simulator: Running, name: str) -> None:
    message, answer = await sent(simulator, name)
    assert isinstance(answer, Sent), answer
    [entry] = [e for e in simulator.log.recent if e.provider == name]
    assert entry.event == "accepted"
    assert entry.delivery_id == message.delivery_id or name == "twilio"


@pytest.mark.parametrize("name", CHANNELS)
async def test_what_the_script_tells_a_recipient_is_what_they_get(simulator: Running, name: str) -> None:
    busy = Reply("data", 451 if name == "smtp" else 503, "4.3.0 busy")
    simulator.script.put(Rule("*", (busy, Reply("drop")), provider=name))
    answers = [(await sent(simulator, name))[1] for _ in range(3)]
    assert [type(a) for a in answers] == [TryLater, Unknown, Sent] or name in ("fcm", "apns", "webpush", "webhook")
    assert isinstance(answers[0], TryLater)
    assert not isinstance(answers[1], Sent)
    assert isinstance(answers[2], Sent)
    assert [e.event for e in simulator.log.recent if e.provider == name] == ["refused", "dropped", "accepted"]


@pytest.mark.parametrize("name", ["fcm", "apns", "webpush"])
async def test_a_device_that_is_gone_is_gone_in_its_vendors_words(simulator: Running, name: str) -> None:
    simulator.script.put(Rule("*", (Reply("data", 404 if name == "fcm" else 410),), provider=name))
    assert isinstance((await sent(simulator, name))[1], EndpointGone)


async def test_weather_is_for_everybody_whom_no_rule_names(simulator: Running) -> None:
    simulator.script.forecast(Weather("fcm", refused=1.0, code=503))
    assert isinstance((await sent(simulator, "fcm"))[1], TryLater)
    simulator.script.put(Rule("device:*", (Reply("delay"),), provider="fcm"))
    assert isinstance((await sent(simulator, "fcm"))[1], Sent)
    assert isinstance((await sent(simulator, "apns"))[1], Sent)


@pytest.mark.parametrize(("name", "said"), [("ses", b"Delivery"), ("sendgrid", b"delivered")])
async def test_mail_is_told_of_later_in_the_vendors_form(
    simulator: Running, gateway: Told, name: str, said: bytes
) -> None:
    message, _ = await sent(simulator, name)
    body = await gateway.until(f"/v1/receipts/{name}", said)
    assert message.reference.encode() in body


async def test_a_text_message_is_told_of_where_it_asks_for_it(simulator: Running, gateway: Told) -> None:
    await sent(simulator, "twilio", public_url=gateway.url)
    assert b"MessageStatus=delivered" in await gateway.until("/v1/receipts/twilio", b"delivered")


async def test_a_rule_says_what_follows(simulator: Running, gateway: Told) -> None:
    simulator.script.put(Rule("ann@*", (), then=("delivered", "complained")))
    await sent(simulator, "sendgrid")
    await gateway.until("/v1/receipts/sendgrid", b"spamreport")


async def test_the_keys_are_made_once_and_only_their_owner_reads_them(tmp_path: Path) -> None:
    first = await start(Ports(), log=tmp_path / "1.jsonl", credentials=tmp_path / "keys")
    await first.close()
    again = await start(Ports(), log=tmp_path / "2.jsonl", credentials=tmp_path / "keys")
    await again.close()
    assert again.settings["providers.twilio"]["auth_token"] == first.settings["providers.twilio"]["auth_token"]
    assert again.application_server_key == first.application_server_key
    assert {path.stat().st_mode & 0o077 for path in (tmp_path / "keys").iterdir()} == {0}
