"""What waits, and what happens to it, through the whole system on real engines: as its users meet it."""

import asyncio
import json
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from uuid import uuid4

import aiohttp
import pytest

from notify_streams.domain.ids import delivery_id
from notify_streams.local.engines import LocalEngines
from notify_streams.settings import Cassandra, Kafka, Redis
from tests.system.whole import Whole

PATIENCE_S = 30.0


class System:
    """The gateway as a client sees it, and what the simulator took."""

    def __init__(self, session: aiohttp.ClientSession, mails: Path) -> None:
        self._session, self._mails = session, mails

    async def ask(self, method: str, path: str, body: object = None, *, expect: int = 200) -> Any:
        """The answer's JSON."""
        async with self._session.request(method, path, json=body) as answer:
            read = await answer.text()
            assert answer.status == expect, f"{method} {path}: {answer.status} {read}"
            return json.loads(read) if read else None

    async def somebody(self, **preferences: Any) -> str:
        """A new user with a verified mailbox and these preferences."""
        user = f"user-{uuid4().hex[:8]}"
        mailbox = {"address": f"{user}@example.com", "verified": True}
        await self.ask("PUT", f"/v1/users/{user}/endpoints/email/home", mailbox)
        if preferences:
            await self.prefer(user, **preferences)
        return user

    async def prefer(self, user: str, **preferences: Any) -> None:
        """Answered with 200: it governs what is accepted from now on."""
        await self.ask("PATCH", f"/v1/users/{user}/preferences", preferences)

    async def publish(self, type_: str, user: str, payload: dict[str, Any], **data: Any) -> str:
        """The id of the notification."""
        event = {
            "specversion": "1.0",
            "id": uuid4().hex,
            "source": "/test",
            "type": type_,
            "data": {"recipients": [user], "payload": payload, **data},
        }
        answer = await self.ask("POST", "/v1/events", event, expect=202)
        id_: str = answer["notifications"][0]["notification_id"]
        return id_

    async def mail_of(self, id_: str) -> dict[str, Any]:
        """How its mail stands."""
        status = await self.ask("GET", f"/v1/notifications/{id_}")
        stands: dict[str, dict[str, Any]] = {c["channel"]: c for c in status.get("channels", ())}
        return stands.get("email", {})

    async def until(self, id_: str, state: str) -> dict[str, Any]:
        """Its mail, as soon as it stands so."""
        found: dict[str, Any] = await within(lambda: self.mail_of(id_), lambda mail: mail.get("state") == state)
        return found

    def sent(self, user: str) -> list[str]:
        """The delivery ids of the mails that the provider took for a user."""
        lines = self._mails.read_text().splitlines() if self._mails.exists() else []
        taken = [json.loads(line) for line in lines]
        return [t["delivery_id"] for t in taken if t["event"] == "accepted" and t["to"] == f"{user}@example.com"]


async def within(ask: Callable[[], Awaitable[Any]], holds: Callable[[Any], bool]) -> Any:
    """What is asked for, once it holds."""
    until = time.monotonic() + PATIENCE_S
    while not holds(found := await ask()):
        assert time.monotonic() < until, found
        await asyncio.sleep(0.2)
    return found


@pytest.fixture
async def system(
    kafka: Kafka, cassandra: Cassandra, redis: Redis, engines: LocalEngines, tmp_path: Path
) -> AsyncIterator[System]:
    mark = uuid4().hex[:8]
    extra = {"NOTIFY_KAFKA__PREFIX": f"decisions-{mark}.", "NOTIFY_CASSANDRA__KEYSPACE": f"decisions_{mark}"}
    whole = Whole(tmp_path / "system", engines, extra=extra)
    try:
        await whole.start()
        async with aiohttp.ClientSession(whole.urls["gateway"]) as session:
            yield System(session, whole.mails)
    finally:
        await whole.stop()


def around_now() -> dict[str, str]:
    """Quiet since an hour ago and for two more, in UTC."""
    now = datetime.now(UTC)
    return {"start": f"{now - timedelta(hours=1):%H:%M}", "end": f"{now + timedelta(hours=2):%H:%M}"}


ORDER = {"order": "1", "total": "9 EUR"}
OFFER = {"title": "Sale", "text": "A fifth off", "ends": "2026-12-06", "url": "https://shop.example/"}


@pytest.mark.e2e
@pytest.mark.timeout(240)
async def test_what_waits_leaves_when_its_reason_ends_and_only_then(system: System) -> None:
    await asyncio.gather(
        quiet_hours_hold_a_mail_until_the_user_lifts_them(system),
        a_digest_is_sent_when_the_user_no_longer_wants_one(system),
        a_digest_holds_no_item_that_was_cancelled_or_switched_off(system),
        what_is_scheduled_can_be_cancelled_until_it_leaves(system),
        the_newest_under_a_collapse_key_is_the_one_that_leaves(system),
        a_cancel_can_come_before_its_event_is_decided(system),
    )


async def quiet_hours_hold_a_mail_until_the_user_lifts_them(system: System) -> None:
    """A changed preference plans anew what waits: the message leaves at the new time, once."""
    user = await system.somebody(zone="UTC", quiet_hours=[around_now()])
    id_ = await system.publish("order.confirmed", user, ORDER)
    held = await system.until(id_, "deferred")
    assert held["reason"] == "quiet_hours"
    assert system.sent(user) == []
    await system.prefer(user, quiet_hours=None)
    await system.until(id_, "sent")
    assert system.sent(user) == [delivery_id(id_, "email", "home")]


async def a_digest_is_sent_when_the_user_no_longer_wants_one(system: System) -> None:
    """DIG-01, PRF-10: one mail with both, in the order of their events."""
    user = await system.somebody(digest={"email": {"marketing": "daily"}})
    first = await system.publish("marketing.campaign", user, OFFER)
    second = await system.publish("marketing.campaign", user, OFFER)
    for id_ in (first, second):
        held = await system.until(id_, "collected")
        assert (held["window"], held["reason"]) == ("digest/marketing", "digest")
    await system.prefer(user, digest=None)
    digests = {(await system.until(id_, "sent"))["deliveries"][0]["digest_id"] for id_ in (first, second)}
    [digest] = digests
    assert system.sent(user) == [delivery_id(digest, "email", "home")]


async def a_digest_holds_no_item_that_was_cancelled_or_switched_off(system: System) -> None:
    """DIG-05, PRF-01: nothing is left to say, so there is no mail, and each says why."""
    user = await system.somebody(digest={"email": {"marketing": "hourly"}})
    cancelled = await system.publish("marketing.campaign", user, OFFER)
    unwanted = await system.publish("marketing.campaign", user, OFFER)
    await system.until(unwanted, "collected")
    await system.ask("DELETE", f"/v1/notifications/{cancelled}?user_id={user}", expect=202)
    await system.prefer(user, categories={"marketing": {"email": False}}, digest=None)
    assert (await system.until(cancelled, "cancelled"))["reason"] == "cancelled"
    assert (await system.until(unwanted, "suppressed"))["reason"] == "opted_out_of_category"
    assert system.sent(user) == []


async def what_is_scheduled_can_be_cancelled_until_it_leaves(system: System) -> None:
    user = await system.somebody()
    later = (datetime.now(UTC) + timedelta(hours=1)).isoformat()
    id_ = await system.publish("order.confirmed", user, ORDER, send_at=later)
    assert (await system.until(id_, "deferred"))["reason"] == "scheduled"
    await system.ask("DELETE", f"/v1/notifications/{id_}?user_id={user}", expect=202)
    assert (await system.until(id_, "cancelled"))["reason"] == "cancelled"
    assert system.sent(user) == []


async def the_newest_under_a_collapse_key_is_the_one_that_leaves(system: System) -> None:
    user = await system.somebody(zone="UTC", quiet_hours=[around_now()])
    old = await system.publish("order.confirmed", user, ORDER, collapse_key="order-1")
    await system.until(old, "deferred")
    new = await system.publish("order.confirmed", user, ORDER, collapse_key="order-1")
    assert (await system.until(old, "cancelled"))["reason"] == "collapsed"
    await system.prefer(user, quiet_hours=None)
    await system.until(new, "sent")
    assert system.sent(user) == [delivery_id(new, "email", "home")]


async def a_cancel_can_come_before_its_event_is_decided(system: System) -> None:
    """By its collapse key, once the newest is known; by its id, right after the 202."""
    user = await system.somebody(zone="UTC", quiet_hours=[around_now()])
    id_ = await system.publish("order.confirmed", user, ORDER, collapse_key="order-2")
    await system.until(id_, "deferred")
    await system.ask("POST", "/v1/cancel", {"source": "/test", "collapse_key": "order-2", "user_id": user}, expect=202)
    assert (await system.until(id_, "cancelled"))["reason"] == "cancelled"
    other = await system.publish("order.confirmed", user, ORDER)
    await system.ask("DELETE", f"/v1/notifications/{other}?user_id={user}", expect=202)
    await system.until(other, "cancelled")
    assert system.sent(user) == []
