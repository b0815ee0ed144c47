"""A message as APNs takes it: Apple's "Generating a remote notification", "Sending notification requests to APNs"."""

from typing import Any
from urllib.parse import quote

import msgspec
from hpack import HeaderTuple, NeverIndexedHeaderTuple

from notify_streams.domain.cut import Built, within
from notify_streams.domain.rendered import RenderedPush
from notify_streams.ports import Message
from notify_streams.providers.life import remaining_s

LIMIT = 4096

Json = dict[str, Any]


def body(message: Message) -> bytes | None:
    """The payload; None where the link leaves no room for a text.

    Texts stay whole as long as they can: picture, thread, id, at last sound and badge give way to them.
    """
    rendered = message.rendered
    assert isinstance(rendered, RenderedPush)
    counted: Json = {} if message.badge is None else {"badge": message.badge}
    linked: Json = {} if rendered.link is None else {"link": rendered.link}
    sound = {**counted, "sound": "default"}
    threaded = {**sound, "thread-id": message.category} if message.category else sound
    own = {"id": message.delivery_id, **linked}
    variants = [_built(threaded, own), _built(sound, linked), _built(counted, linked), _built({}, linked)]
    if rendered.image is not None:  # an app's service extension fetches it before the notification is shown
        variants.insert(0, _built({**threaded, "mutable-content": 1}, {**own, "image": rendered.image}))
    return within(LIMIT, rendered.title, rendered.body, *variants)


def headers(message: Message, *, topic: str, now: int) -> list[HeaderTuple]:
    """The request's own headers. What is new with each request stays out of the connection's table of headers.

    The path comes first: pseudo headers do (RFC 9113, 8.3).
    """
    expires = now // 1000 + remaining_s(message.expires_at, now)
    own = [
        NeverIndexedHeaderTuple(":path", f"/3/device/{quote(message.address, safe='')}"),
        HeaderTuple("apns-topic", topic),
        HeaderTuple("apns-push-type", "alert"),
        HeaderTuple("apns-priority", "5" if message.lane == "low" else "10"),
        NeverIndexedHeaderTuple("apns-id", message.delivery_id),
        NeverIndexedHeaderTuple("apns-expiration", str(expires)),
    ]
    return [*own, NeverIndexedHeaderTuple("apns-collapse-id", message.identity)] if message.identity else own


def _built(aps: Json, beside: Json) -> Built:
    def built(title: str, text: str) -> bytes:
        return msgspec.json.encode({"aps": {"alert": {"title": title, "body": text}, **aps}, **beside})

    return built
