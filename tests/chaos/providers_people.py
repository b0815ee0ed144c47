"""Who gets what in `chaos providers`: people with an endpoint on every channel, and events that use them."""

import asyncio
from collections.abc import Iterator, Mapping

import aiohttp
import msgspec

from notify_streams.domain import ids
from schemas.words import LANES, Channel, Lane
from tests.chaos.providers_plan import CARRIED
from tests.system import traffic
from tests.system.traffic import Event

ENDPOINT = "e-1"
_AT_ONCE = 32
_PLATFORMS = ("ios", "android", "web")
_ANSWER = aiohttp.ClientTimeout(total=30)
_ALERT: dict[str, object] = {
    "action": "New sign-in",
    "device": "Firefox on Linux",
    "place": "Lisbon",
    "at": "2026-11-30T10:00:00Z",
    "url": "https://app.example/security",
}
_ORDER: dict[str, object] = {"order": "1", "total": "9 EUR", "items": [], "url": "https://shop.example/orders/1"}
# What is published for each number: type, payload, channels.
_KINDS: tuple[tuple[str, dict[str, object], tuple[Channel, ...]], ...] = (
    ("security.alert", _ALERT, ("email", "push", "sms")),
    ("order.confirmed", _ORDER, ("webhook",)),
)


class Wanted(msgspec.Struct, frozen=True):
    """A delivery that an event leads to."""

    delivery_id: str
    notification_id: str
    channel: Channel


def people(count: int) -> list[str]:
    """Their ids."""
    return [f"user-{number:05d}" for number in range(count)]


def events(count: int, users: list[str]) -> Iterator[Event]:
    """One for the noisy channels and one for the webhook per number, lane by lane: `count` deliveries per channel."""
    for number in range(count):
        for type_, payload, channels in _KINDS:
            lane: Lane = LANES[number % len(LANES)]
            one = traffic.event(
                f"providers-{number}-{type_}", users[number % len(users)], type_, lane, payload, mail=False
            )
            value = msgspec.json.decode(one.value)
            value["data"]["channels"] = channels
            yield msgspec.structs.replace(one, value=msgspec.json.encode(value))


def wanted(event: Event) -> list[Wanted]:
    """The deliveries of one of these events."""
    channels = next(channels for type_, _, channels in _KINDS if event.id.endswith(type_))
    return [
        Wanted(ids.delivery_id(event.notification_id, channel, ENDPOINT), event.notification_id, channel)
        for channel in channels
    ]


async def enrol(gateway: str, simulator: str, users: list[str]) -> None:
    """Each user's endpoints by the gateway, so that the registry knows them. Raises aiohttp.ClientError."""
    slots = asyncio.Semaphore(_AT_ONCE)
    async with aiohttp.ClientSession(timeout=_ANSWER, raise_for_status=True) as http:

        async def put(number: int, user: str, channel: Channel) -> None:
            async with slots:
                body = await _endpoint(http, simulator, number, user, channel)
                url = f"{gateway}/v1/users/{user}/endpoints/{channel}/{ENDPOINT}"
                async with http.put(url, json=body):
                    return

        async with asyncio.TaskGroup() as group:
            for number, user in enumerate(users):
                for channel in CARRIED:
                    group.create_task(put(number, user, channel))


async def _endpoint(
    http: aiohttp.ClientSession, simulator: str, number: int, user: str, channel: Channel
) -> Mapping[str, object]:
    match channel:
        case "email":
            address = f"{user}@example.org"
        case "sms":
            address = f"+4474001{number:05d}"
        case "webhook":
            address = f"{simulator}/hooks/chaos/{user}"
        case _:
            platform = _PLATFORMS[number % len(_PLATFORMS)]
            token = await _token(http, simulator, number, user, platform)
            return {"address": token, "verified": True, "platform": platform}
    return {"address": address, "verified": True}


async def _token(http: aiohttp.ClientSession, simulator: str, number: int, user: str, platform: str) -> str:
    if platform == "web":
        async with http.post(f"{simulator}/webpush/subscribe", json={"name": user}) as answer:
            return await answer.text()
    return f"{number:064x}" if platform == "ios" else f"device-{number:08d}:" + "f" * 48
