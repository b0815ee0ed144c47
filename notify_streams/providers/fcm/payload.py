"""A message as FCM takes it (HTTP v1, REST resource projects.messages), with a block for the token's platform."""

from typing import Any

import msgspec

from notify_streams.domain.cut import within
from notify_streams.domain.rendered import RenderedPush
from notify_streams.ports import Message
from notify_streams.providers.life import remaining_s

# "4096 bytes for most messages"; what counts is not said exactly, so all but the token does.
LIMIT = 4096

Json = dict[str, Any]


def body(message: Message, *, now: int) -> bytes | None:
    """The request's body; None where even without picture and texts it is too long."""
    rendered = message.rendered
    assert isinstance(rendered, RenderedPush)
    target = {"token": message.address, **_platform(message, rendered, now)}

    def full(title: str, text: str) -> bytes:
        return _encoded(target, title, text, rendered.image)

    def plain(title: str, text: str) -> bytes:
        return _encoded(target, title, text, None)

    aside = len(msgspec.json.encode(message.address)) + len('{"message":{"token":,}}')
    return within(LIMIT + aside, rendered.title, rendered.body, full, plain)


def _encoded(target: Json, title: str, text: str, image: str | None) -> bytes:
    shown: Json = {"title": title, "body": text}
    if image is not None:
        shown["image"] = image
    return msgspec.json.encode({"message": {**target, "notification": shown}})


def _platform(message: Message, rendered: RenderedPush, now: int) -> Json:
    link = {} if rendered.link is None else {"link": rendered.link}
    data = {"data": {"delivery_id": message.delivery_id, **link}}
    match message.platform:
        case "ios":
            return {**data, "apns": _apns(message, now)}
        case "web":
            return {**data, "webpush": _webpush(message, rendered, now)}
        case _:
            return {**data, "android": _android(message, now)}


def _android(message: Message, now: int) -> Json:
    """The tag makes a repeat replace itself on the screen; the collapse key while the device is away.

    Without a collapse key all messages of an app would share one, so that a device that comes back gets the last.
    """
    block: Json = {
        "ttl": f"{remaining_s(message.expires_at, now)}s",
        "priority": "HIGH" if message.lane == "high" else "NORMAL",
    }
    if message.identity:
        block |= {"collapse_key": message.identity, "notification": {"tag": message.identity}}
    return block


def _apns(message: Message, now: int) -> Json:
    headers = {
        "apns-push-type": "alert",
        "apns-priority": "5" if message.lane == "low" else "10",
        "apns-expiration": str(now // 1000 + remaining_s(message.expires_at, now)),
    }
    if message.identity:
        headers["apns-collapse-id"] = message.identity
    aps: Json = {"sound": "default"}
    if message.badge is not None:
        aps["badge"] = message.badge
    return {"headers": headers, "payload": {"aps": aps}}


def _webpush(message: Message, rendered: RenderedPush, now: int) -> Json:
    headers = {"TTL": str(remaining_s(message.expires_at, now)), "Urgency": message.lane}
    block: Json = {"headers": headers}
    if message.identity:
        headers["Topic"] = message.identity
        block["notification"] = {"tag": message.identity}
    if rendered.link is not None and rendered.link.startswith("https://"):  # "must be HTTPS"
        block["fcm_options"] = {"link": rendered.link}
    return block
