"""Writes the demo's files: the same bytes every time. `python -m notify_streams.local.demo.generate`

`users.jsonl`: {"user_id", "preferences": a PATCH, "endpoints": [...]}. `hour.jsonl`, for Kafka: {"topic": lane} with
`event` (structured), `binary` ({"headers", "data"}), `raw` (text that is no event) or `null`; `expires_in_s` becomes
`data.expires_at` when it is sent, and `send_in_s` becomes `data.send_at`. `hour_http.jsonl`, for POST /v1/events:
`event` with its `topic`, or `short` with `idempotency_key`.
"""

import json
import random
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from notify_streams.local.demo.people import LATE_WORDS, PEOPLE, Person, users

FOLDER = Path(__file__).parent
Line = dict[str, Any]

_PRODUCTS = (("Teapot", 14.9), ("Cups", 2.5), ("Kettle", 39.0), ("Green tea", 7.2), ("Tray", 11.0), ("Honey", 5.4))
_POSTS = ("Sunrise over the bay", "First snow", "The old tram", "Bread, third try", "Harbour lights")
_COMMENTS = ("What a view!", "Where is this?", "Wonderful <3", "Ça me donne envie d'y aller", "Das Licht ist großartig")
_MESSAGES = ("Are you coming tonight?", "Call me when you can", "Danke für gestern!", "On se voit demain ?", "👍 done")


class Hour:
    """Makes events one after the other; every id is used once unless a line is repeated on purpose."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)
        self._numbers = iter(range(1, 100_000))

    def someone(self, *, but: Person | None = None) -> Person:
        """Anybody else."""
        return self._random.choice([p for p in PEOPLE if p is not but])

    def order(self, to: Person | None = None) -> Line:
        """A purchase."""
        number = f"2026-{next(self._numbers):04d}"
        chosen = [(self._random.randint(1, 3), *p) for p in self._random.sample(_PRODUCTS, self._random.randint(1, 3))]
        items = [{"name": name, "quantity": n, "price": price, "currency": "EUR"} for n, name, price in chosen]
        total = sum(n * price for n, _, price in chosen)
        payload = {"order": number, "total": f"{total:.2f} EUR", "items": items}
        payload["url"] = f"https://shop.example/orders/{number}"
        return _event(
            "normal", "/shop/orders", f"order-{number}-confirmed", "order.confirmed", [to or self.someone()], payload
        )

    def social(self, kind: str) -> Line:
        """comment, like, follow or mention: somebody did something to somebody else."""
        actor = self.someone()
        number, post = next(self._numbers), self._random.randrange(len(_POSTS))
        payload: dict[str, Any] = {"post": _POSTS[post], "url": f"https://app.example/posts/{post}"}
        if kind == "follow":
            payload = {"url": f"https://app.example/people/{actor.user_id}"}
        if kind in ("comment", "mention"):
            payload["text"] = self._random.choice(_COMMENTS)
        lane = "low" if kind in ("like", "follow") else "normal"
        line = _event(lane, "/app/social", f"{kind}-{number}", f"social.{kind}", [self.someone(but=actor)], payload)
        line["event"]["data"]["actor"] = {"id": actor.user_id, "name": actor.name}
        if kind == "like":
            line["event"]["data"] |= {
                "aggregation_key": f"post:{post}:likes",
                "object": {"type": "post", "id": str(post)},
            }
        return line

    def code(self, to: Person | None = None) -> Line:
        """A one-time password."""
        payload = {"code": f"{self._random.randrange(1_000_000):06d}", "minutes": 5}
        return _event("high", "/auth", f"otp-{next(self._numbers)}", "auth.otp", [to or self.someone()], payload)

    def message(self, to: Person | None = None) -> Line:
        """A direct message."""
        actor = self.someone()
        payload = {"text": self._random.choice(_MESSAGES), "url": f"https://app.example/messages/{actor.user_id}"}
        number = next(self._numbers)
        line = _event(
            "high", "/app/messages", f"message-{number}", "message.direct", [to or self.someone(but=actor)], payload
        )
        line["event"]["data"]["actor"] = {"id": actor.user_id, "name": actor.name}
        return line

    def alert(self) -> Line:
        """Somebody signed in."""
        payload = {
            "action": "New sign-in",
            "device": "Firefox on Linux",
            "place": "Lisbon",
            "at": "2026-11-30T10:00:00Z",
        }
        return _event("high", "/auth", f"sign-in-{next(self._numbers)}", "security.alert", [self.someone()], payload)

    def shuffled(self, lines: Iterable[Line]) -> list[Line]:
        """In the order of the hour."""
        mixed = list(lines)
        self._random.shuffle(mixed)
        return mixed


def hour() -> tuple[list[Line], list[Line]]:
    """What goes to the topics, and what goes through HTTP."""
    h = Hour(42)
    good = [
        *(h.order() for _ in range(90)),
        *(h.social("comment") for _ in range(60)),
        *(h.social("like") for _ in range(90)),
        *(h.social("follow") for _ in range(24)),
        *(h.social("mention") for _ in range(20)),
        *(h.code() for _ in range(36)),
        *(h.message() for _ in range(36)),
        *(h.alert() for _ in range(8)),
        _campaign(),
        _notice(),
    ]
    mixed = h.shuffled(
        [
            *good,
            *_late(h),
            *_scheduled(h),
            *_troubled(h),
            *_binary(h),
            *_bad(h),
            {"topic": "normal", "null": True},
            {"topic": "low", "null": True},
        ]
    )
    kafka = [*mixed, *_repeated(good), *_keyed(h)]
    orders = [line for line in good if line["event"]["type"] == "order.confirmed"]
    return kafka, _by_http(h, orders)


def _repeated(good: list[Line]) -> list[Line]:
    """The same events again: ten on their own lane, five on another."""
    other = [{**line, "topic": "low" if line["topic"] != "low" else "normal"} for line in good[90:95]]
    return [*good[:10], *other]


def _keyed(h: Hour) -> list[Line]:
    """Two events of different ids under one dedupe_key, twice: one notification each."""
    lines = []
    for key in ("cart-17", "cart-18"):
        first = h.order()
        first["event"]["data"]["dedupe_key"] = key
        second = json.loads(json.dumps(first))
        second["event"]["id"] += "-again"
        lines += [first, second]
    return lines


def _late(h: Hour) -> list[Line]:
    """Already too late when they come."""
    return [{**line, "expires_in_s": -60} for line in (h.order(), h.code(), h.code(), h.message(), h.social("mention"))]


def _scheduled(h: Hour) -> list[Line]:
    """For later: three within seconds, one that a short run does not see."""
    return [{**line, "send_in_s": after} for line, after in ((h.order(), 4), (h.order(), 6), (h.alert(), 6))] + [
        {**h.order(), "send_in_s": 3600}
    ]


def _troubled(h: Hour) -> list[Line]:
    """What meets trouble, and what comes once it is known: a bounce, a complaint, a dead device, a useless number."""
    mails, devices, phones = ([PEOPLE[number] for number in LATE_WORDS[what]] for what in ("mail", "push", "text"))
    first = [*(h.order(p) for p in mails), *(h.message(p) for p in devices), *(h.code(p) for p in phones)]
    again = [*(h.order(p) for p in mails), *(h.message(p) for p in devices), *(h.code(p) for p in phones)]
    return first + [{**line, "send_in_s": 8} for line in again]


def _binary(h: Hour) -> list[Line]:
    """CloudEvents in binary mode: attributes as headers, data as the value."""
    lines = []
    for line in (h.order(), h.order(), h.social("comment"), h.social("like"), h.message(), h.alert()):
        event = line["event"]
        headers = {f"ce_{name}": event[name] for name in ("specversion", "id", "source", "type")}
        lines.append({"topic": line["topic"], "binary": {"headers": headers, "data": event["data"]}})
    return lines


def _bad(h: Hour) -> list[Line]:
    """Each is a dead letter of its own kind."""
    crowd = h.order()
    crowd["event"]["data"]["recipients"] = [f"guest-{n}" for n in range(1001)]
    number = h.order()
    number["event"]["data"]["recipients"] = ["user-01", 42]
    unknown = h.order()
    unknown["event"]["type"] = "order.confirmd"
    zone = h.order()
    zone["event"]["time"] = "2026-11-30T10:00:00"
    nameless = h.order()
    del nameless["event"]["id"]
    lacking = [h.order(), h.code(), h.social("comment")]
    for line, field in zip(lacking, ("total", "code", "text"), strict=True):
        del line["event"]["data"]["payload"][field]
    raw = [
        {"topic": "normal", "raw": "not json at all"},
        {"topic": "normal", "raw": '{"specversion": "1.0", "id": "cut-off'},
        {"topic": "high", "raw": '{"hello": "world"}'},
    ]
    return [crowd, number, unknown, zone, nameless, *lacking, *raw]


def _by_http(h: Hour, orders: list[Line]) -> list[Line]:
    """CloudEvents, the short form, repeated keys, ids that Kafka brings too, and bodies that are refused."""
    events = [
        *(h.order() for _ in range(20)),
        *(h.social("comment") for _ in range(15)),
        *(h.message() for _ in range(15)),
    ]
    short = [_short(line, f"till-{n}") for n, line in enumerate(h.order() for _ in range(30))]
    unnamed = {k: v for k, v in short[0].items() if k != "idempotency_key"}
    lacking = _short(h.order(), "till-lacking")
    del lacking["short"]["payload"]["total"]
    unknown = h.order()
    unknown["event"]["type"] = "order.confirmd"
    return [*h.shuffled([*events, *short]), *short[:6], *orders[:8], unnamed, lacking, unknown]


def _short(line: Line, key: str) -> Line:
    data = line["event"]["data"]
    body = {"type": line["event"]["type"], "recipients": data["recipients"], "payload": data["payload"]}
    return {"short": body, "idempotency_key": key}


def _campaign() -> Line:
    payload = {"title": "Winter sale: a fifth off all teapots", "text": "Until Sunday, on everything that pours."}
    payload |= {"ends": "2026-12-06", "url": "https://shop.example/winter"}
    return _event("low", "/shop/marketing", "campaign-winter-2026", "marketing.campaign", PEOPLE, payload)


def _notice() -> Line:
    payload = {"title": "Maintenance on Sunday", "text": "The app will be away from 02:00 to 03:00 UTC."}
    return _event("normal", "/app/operations", "maintenance-2026-12-06", "system.notice", PEOPLE, payload)


def _event(topic: str, source: str, id: str, type: str, to: Iterable[Person], payload: dict[str, Any]) -> Line:
    data = {"recipients": [p.user_id for p in to], "payload": payload}
    return {"topic": topic, "event": {"specversion": "1.0", "id": id, "source": source, "type": type, "data": data}}


def _write(name: str, lines: Iterable[Line]) -> None:
    text = "".join(json.dumps(line, ensure_ascii=False, separators=(",", ":")) + "\n" for line in lines)
    (FOLDER / name).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    kafka, http = hour()
    _write("users.jsonl", users())
    _write("hour.jsonl", kafka)
    _write("hour_http.jsonl", http)
