"""The registry on a real broker, between those who ask and the orchestrator that holds the profiles."""

import asyncio
import sys
import time
from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from typing import Any

import msgspec
import pytest

from notify_streams.domain.addresses import address_key
from notify_streams.domain.answers import EndpointGone, Sent
from notify_streams.local.child import Child
from notify_streams.providers.simulator.http2 import Outcome, Request, Response, Session
from notify_streams.streaming import topics
from notify_streams.streaming.partitions import Partitions
from schemas.addresses import (
    AddressChange,
    AddressGoneV1,
    AddressState,
    ClaimAddressV1,
    Held,
    LiftSuppressionV1,
    ReleaseAddressV1,
    ShowAddressV1,
    SuppressAddressV1,
    decode_address,
)
from schemas.codec import encode
from schemas.commands import decode_result
from schemas.content import Content
from schemas.deliveries import decode_delivery
from schemas.notifications import NotificationV1
from schemas.profiles import Address, Endpoint, decode_profile
from tests.builders import DAY, MAILBOX, a_notification, an_id
from tests.push import a_push, apns_at, apple, refusal
from tests.workers import ROOT, Kafka

TOKEN = "t" * 64
KEY = address_key("email", MAILBOX)
CATALOGUE = """
channels = ["push", "email"]
[categories.messages]
[types."message.direct"]
category = "messages"
channels = ["push"]
"""


def now() -> int:
    return time.time_ns() // 1_000_000


class Desk:
    """`notify worker registry` and `orchestrator`, who asks them, and the profiles as all can read them."""

    def __init__(self, broker: Kafka, folder: Path) -> None:
        self.broker, self.folder = broker, folder
        self.home = Partitions(broker.config.partitions).of
        self._children: list[Child] = []
        self.asked = 0
        (folder / "catalogue.toml").write_text(CATALOGUE)

    async def start(self, role: str = "registry", *, data: str = "data", commit_interval: str = "200ms") -> Child:
        """Returns when it is ready; another `data` is a fresh disk."""
        kafka = msgspec.to_builtins(msgspec.structs.replace(self.broker.config, commit_interval=commit_interval))
        child = Child(
            [str(Path(sys.executable).with_name("notify")), "worker", role],
            log=self.folder / f"{role}{len(self._children)}.log",
            env={
                **{f"NOTIFY_KAFKA__{key}".upper(): str(value) for key, value in kafka.items()},
                "NOTIFY_CATALOGUE__PATH": str(self.folder / "catalogue.toml"),
                "NOTIFY_WORKER__DATA": str(self.folder / data),
            },
            cwd=ROOT,
        )
        await child.start()
        self._children.append(child)
        await self.broker.until(lambda: "Worker ready" in child.log.read_text() or child.exit_code is not None)
        assert child.exit_code is None, child.tail(30)
        return child

    async def close(self) -> None:
        await asyncio.gather(*(child.kill() for child in self._children if child.pid))

    async def change(self, address: str, *changes: AddressChange) -> None:
        """On the log, on the address's own partition, in order."""
        key = address_key(changes[0].channel, address)
        records = [(self.home(key.encode()), key, encode(change).decode()) for change in changes]
        await self.broker.fill(topics.ADDRESS_CHANGES, records)

    async def done(self) -> None:
        """Registry and orchestrator have nothing left to do."""
        await self.broker.caught_up(topics.ADDRESS_CHANGES, "registry")
        await self.broker.caught_up(topics.USER_COMMANDS, "orchestrator")

    async def endpoints(self, user: str) -> dict[str, Endpoint]:
        """By id, as of the last profile."""
        values = [r.value for r in await self.broker.read(topics.PROFILES) if r.key == user.encode()]
        return {e.endpoint_id: e for e in decode_profile(values[-1] or b"{}").endpoints} if values else {}

    async def tokens(self, user: str) -> dict[str, str]:
        return {id_: e.content.address if e.content else "" for id_, e in (await self.endpoints(user)).items()}

    async def held(self, user: str, endpoint_id: str = "home") -> str | None:
        endpoint = (await self.endpoints(user)).get(endpoint_id)
        return endpoint.suppressed if endpoint else "no such endpoint"

    async def kept(self, key: str) -> AddressState | None:
        """Of an address, as the changelog says."""
        values = [r.value for r in await self.broker.read(topics.ADDRESSES_LOG) if r.key == key.encode()]
        return decode_address(values[-1]) if values and values[-1] else None

    def claim(self, user: str, endpoint_id: str = "home", address: str = MAILBOX, **changes: Any) -> ClaimAddressV1:
        """By a service, verified."""
        self.asked += 1
        given = {"channel": "email", "at": now() + self.asked, "by": "/keys/app", "verified": True, **changes}
        id_ = f"claim-{self.asked}"
        return ClaimAddressV1(**given, command_id=id_, user_id=user, endpoint_id=endpoint_id, content=Address(address))

    def device(self, user: str, endpoint_id: str = "phone", token: str = TOKEN) -> ClaimAddressV1:
        return self.claim(user, endpoint_id, token, channel="push", platform="ios")


@pytest.fixture
async def desk(broker: Kafka, tmp_path: Path) -> AsyncIterator[Desk]:
    await topics.create(broker.config, topics.all_topics(broker.config))
    found = Desk(broker, tmp_path)
    await found.start("orchestrator")
    yield found
    await found.close()


@pytest.mark.parametrize("disk", ["data", "fresh"])
@pytest.mark.parametrize("killed_after", ["the first claim", "both claims"])
async def test_a_token_is_its_last_registrants_whatever_is_killed(desk: Desk, disk: str, killed_after: str) -> None:
    """TOK-06: A registers, B registers without A signing out. What the killed one had handled comes again."""
    first = await desk.start(commit_interval="60s")
    await desk.change(TOKEN, desk.device("ann"))

    async def has(user: str) -> bool:
        return await desk.tokens(user) == {"phone": TOKEN}

    await desk.broker.until_true(lambda: has("ann"))
    if killed_after == "both claims":
        await desk.change(TOKEN, desk.device("ben"))
        await desk.broker.until_true(lambda: has("ben"))
        await first.kill()
    else:
        await first.kill()
        await desk.change(TOKEN, desk.device("ben"))
    assert await desk.broker.lag(topics.ADDRESS_CHANGES, "registry") == 2
    await desk.start(data=disk)
    await desk.done()
    assert (await desk.tokens("ann"), await desk.tokens("ben")) == ({}, {"phone": TOKEN})
    state = await desk.kept(address_key("push", TOKEN))
    assert state is not None
    assert [owner.user_id for owner in state.owners] == ["ben"]
    await desk.change(TOKEN, desk.device("ann"))
    await desk.done()
    assert (await desk.tokens("ann"), await desk.tokens("ben")) == ({"phone": TOKEN}, {})
    assert await desk.broker.read(topics.DEAD_LETTERS) == []


async def test_what_is_held_reaches_all_users_and_survives_delete_re_add_and_a_lost_disk(desk: Desk) -> None:
    """EML-14: also in another spelling."""
    first = await desk.start()
    await desk.change(MAILBOX, desk.claim("ann"), desk.claim("ben", address=MAILBOX.upper()), desk.claim("cem"))
    bounce = SuppressAddressV1(channel="email", at=now(), by="receipts", reason="bounce")
    release = ReleaseAddressV1(
        channel="email", at=now() + 10, command_id="r", user_id="ann", endpoint_id="home", by="user"
    )
    await desk.change(MAILBOX, bounce, release)
    await desk.done()
    assert [await desk.held(user) for user in ("ann", "ben", "cem")] == ["no such endpoint", "bounce", "bounce"]
    await first.kill()
    await desk.start(data="fresh")
    await desk.change(MAILBOX, desk.claim("ann", address="Ann@EXAMPLE.com", at=now() + 20), desk.claim("new"))
    await desk.done()
    assert [await desk.held(user) for user in ("ann", "ben", "new")] == ["bounce", "bounce", "bounce"]
    assert (await desk.tokens("ann"))["home"] == "Ann@EXAMPLE.com"
    await desk.change(MAILBOX, LiftSuppressionV1(channel="email", at=now(), by="/keys/ops"))
    await desk.done()
    assert [await desk.held(user) for user in ("ann", "ben", "cem", "new")] == [None] * 4


async def test_whoever_asks_is_answered_as_of_the_log_wherever_the_question_was_put(desk: Desk) -> None:
    await desk.start()
    suppress = SuppressAddressV1(
        channel="email", at=5, by="/keys/ops", reason="manual", command_id="c-1", content=Address("Ann@Example.COM")
    )
    await desk.change(MAILBOX, suppress, ShowAddressV1(channel="email", at=6, command_id="c-2"))
    astray = encode(ShowAddressV1(channel="email", at=7, command_id="c-3")).decode()
    await desk.broker.fill(topics.ADDRESS_CHANGES, [(1 - desk.home(KEY.encode()), KEY, astray)])
    await desk.done()

    async def answered() -> bool:
        return len(await desk.broker.read(topics.COMMAND_RESULTS)) == 3

    await desk.broker.until_true(answered)
    found = [decode_result(r.value or b"") for r in await desk.broker.read(topics.COMMAND_RESULTS)]
    held = (Held("manual", None, 5, "/keys/ops", "Ann@Example.COM"),)
    assert [(a.command_id, a.user_id, a.address and a.address.held) for a in found] == [
        ("c-1", "", held),
        ("c-2", "", held),
        ("c-3", "", held),
    ]


async def buried(desk: Desk, count: int) -> list[tuple[bytes, bytes]]:
    """Stage and reason of each dead letter, once there are so many."""

    async def are_there() -> bool:
        return len(await desk.broker.read(topics.DEAD_LETTERS)) >= count

    await desk.broker.until_true(are_there)
    letters = [dict(letter.headers) for letter in await desk.broker.read(topics.DEAD_LETTERS)]
    return [(letter["notify-stage"], letter["notify-error"]) for letter in letters]


async def test_garbage_is_a_dead_letter_and_holds_nothing_up(desk: Desk) -> None:
    await desk.start()
    home, change = desk.home(KEY.encode()), encode(desk.claim("ann")).decode()
    garbage = [(home, KEY, "{"), (home, KEY, None), (0, "no key", change), (1, "no key", change)]
    await desk.broker.fill(topics.ADDRESS_CHANGES, [*garbage, (home, KEY, change)])
    found = await buried(desk, 4)
    await desk.done()
    assert (len(found), {stage for stage, _ in found}) == (4, {b"registry"})
    assert await desk.tokens("ann") == {"home": MAILBOX}


def a_message(user: str) -> NotificationV1:
    at = now()
    return a_notification(
        notification_id=an_id(),
        user_id=user,
        type="message.direct",
        accepted_at=at,
        expires_at=at + DAY,
        channels=("push",),
        content=Content(payload=msgspec.Raw(b"{}")),
    )


async def contacted(desk: Desk, *messages: NotificationV1) -> list[Sequence[str]]:
    """The tokens that each is delivered to, sorted."""
    records = [(desk.home(m.user_id.encode()), m.user_id, encode(m).decode()) for m in messages]
    await desk.broker.fill(topics.notifications("normal"), records)
    await desk.broker.caught_up(topics.notifications("normal"), "orchestrator")
    read = [decode_delivery(r.value or b"") for r in await desk.broker.read(topics.deliveries("push", "normal"))]
    found = {m.notification_id: [d for d in read if d.notification_id == m.notification_id] for m in messages}
    assert {d.platform for ds in found.values() for d in ds} <= {"ios"}
    return [sorted(d.content.address or "" for d in ds if d.content) for ds in found.values()]


async def test_a_device_that_is_gone_is_contacted_no_more_and_the_others_are(desk: Desk, tmp_path: Path) -> None:
    """TOK-01: by the real protocol; the 410 of device 2 removes that token only, and the message counts as sent."""
    await desk.start()
    tokens = [digit * 64 for digit in "123"]
    for token in tokens:
        await desk.change(token, desk.device("ann", f"device-{token[0]}", token))
    await desk.done()

    async def answering(request: Request, session: Session) -> Outcome:
        gone = request.path.endswith(tokens[1])
        return refusal(410, "Unregistered", timestamp=now() + DAY) if gone else Response(200, {"apns-id": "x"})

    async with apple(tmp_path, answering) as server, apns_at(server, tmp_path) as provider:
        sent: list[list[str]] = []
        for _ in range(2):
            before = len(server.requests)
            [contacted_] = await contacted(desk, a_message("ann"))
            answers = {token: await provider.send(a_push(token), now=now()) for token in contacted_}
            for token, answer in answers.items():
                if isinstance(answer, EndpointGone):
                    gone = AddressGoneV1(channel="push", at=now(), by="provider/apns", since=answer.since)
                    await desk.change(token, gone, gone)
            assert sum(isinstance(answer, Sent) for answer in answers.values()) == 2
            await desk.done()
            sent.append([request.path.rpartition("/")[2] for request in server.requests[before:]])
    assert sent == [tokens, [tokens[0], tokens[2]]]
    assert await desk.tokens("ann") == {"device-1": tokens[0], "device-3": tokens[2]}
    assert await desk.kept(address_key("push", tokens[1])) is None


async def test_a_token_posted_five_times_is_one_push_and_its_410_disables_it(desk: Desk) -> None:
    """TOK-08"""
    await desk.start()
    await desk.change(TOKEN, *(desk.device("ann", f"device-{n % 3}") for n in range(5)))
    await desk.done()
    assert await desk.tokens("ann") == {"device-1": TOKEN}
    assert await contacted(desk, a_message("ann"), a_message("ann")) == [[TOKEN], [TOKEN]]
    await desk.change(TOKEN, AddressGoneV1(channel="push", at=now() + DAY, by="sender-push", provider="apns"))
    await desk.done()
    assert (await desk.tokens("ann"), await contacted(desk, a_message("ann"))) == ({}, [[]])
    assert await desk.broker.read(topics.DEAD_LETTERS) == []


async def test_nothing_for_the_one_before_reaches_a_token_that_has_changed_hands(desk: Desk) -> None:
    """TOK-06: send to A, send to B."""
    await desk.start()
    await desk.change(TOKEN, desk.device("ann"), desk.device("ben", "mine"))
    await desk.done()
    assert await contacted(desk, a_message("ann"), a_message("ben")) == [[], [TOKEN]]
