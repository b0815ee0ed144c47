"""The simulator's SES and SendGrid: met by our adapters, and by a client that nobody here wrote (botocore's)."""

import asyncio
import contextlib
import socket
import time
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field
from typing import Any

import aiohttp
import botocore.session
import orjson
import pytest
from aiohttp import web
from botocore.config import Config
from botocore.exceptions import ClientError
from cryptography.hazmat.primitives.asymmetric.ec import SECP256R1
from cryptography.hazmat.primitives.asymmetric.ec import generate_private_key as ec_key
from cryptography.hazmat.primitives.asymmetric.rsa import generate_private_key as rsa_key

from notify_streams.domain.answers import Answer, Misconfigured, Refused, Sent, TryLater, Unknown
from notify_streams.ports import Provider
from notify_streams.providers.simulator import sendgrid, sendgrid_events, ses, ses_events
from notify_streams.providers.simulator.later import Post, words_of_mail
from notify_streams.providers.simulator.ses_events import Topic
from tests.mails import API_KEY, KEY_ID, SECRET_KEY, a_message, a_provider, kind_of
from tests.simulated import Kit, Tell

RSA, EC = rsa_key(65537, 2048), ec_key(SECP256R1())
KINDS = ("ses", "sendgrid")


def now() -> int:
    return round(time.time() * 1000)


@dataclass
class Words:
    """Keeps what could be said later."""

    posts: list[tuple[str, str, Callable[[str], Post]]] = field(default_factory=list)

    def taken(self, provider: str, recipient: str, post: Callable[[str], Post]) -> None:
        self.posts.append((provider, recipient, post))


@dataclass
class Simulated:
    url: str
    kit: Kit
    words: Words
    subscription: ses.Subscription

    @contextlib.asynccontextmanager
    async def adapter(self, kind: str, **changes: Any) -> AsyncIterator[Provider]:
        provider = a_provider(kind, url=f"{self.url}/{kind}", **changes)
        try:
            yield provider
        finally:
            await provider.close()


@pytest.fixture
async def to() -> AsyncIterator[Simulated]:
    kit, words = Kit(), Words()
    listening = socket.create_server(("127.0.0.1", 0))
    url = f"http://127.0.0.1:{listening.getsockname()[1]}"
    topic = Topic("arn:aws:sns:eu-west-1:123456789012:events", RSA, url + ses.CERTIFICATE)
    account = ses.Account({KEY_ID: SECRET_KEY}, topic, b"-----BEGIN CERTIFICATE-----\n")
    subscription = ses.Subscription(account)
    app = web.Application()
    app.add_routes(ses.routes(kit, account, subscription, words))
    app.add_routes(sendgrid.routes(kit, sendgrid.Account(API_KEY, EC), words))
    runner = web.AppRunner(app, access_log=None)
    await runner.setup()
    await web.SockSite(runner, listening).start()
    yield Simulated(url, kit, words, subscription)
    await runner.cleanup()


@pytest.mark.parametrize("kind", KINDS)
async def test_what_is_sent_is_in_the_log_and_may_be_spoken_of_later(to: Simulated, kind: str) -> None:
    message = a_message()
    async with to.adapter(kind) as provider:
        answer = await provider.send(message, now=now())
    assert isinstance(answer, Sent)
    (entry,) = to.kit.entries
    assert (entry.provider, entry.event, entry.to) == (kind, "accepted", "ann@example.com")
    assert entry.delivery_id == message.delivery_id
    assert answer.message_id is not None
    assert answer.message_id in entry.answer
    ((provider_name, recipient, post),) = to.words.posts
    assert (provider_name, recipient) == (kind, "ann@example.com")
    assert b"r3f-erence_" in post("delivered").body
    with pytest.raises(KeyError):
        post("gossip")


@pytest.mark.parametrize(
    ("told", "expected"),
    [
        (Tell("refuse", 400), Refused("")),
        (Tell("refuse", 403), Misconfigured("")),
        (Tell("refuse", 413), Refused("")),
        (Tell("refuse", 429, headers={"Retry-After": "9"}), TryLater("", 9.0, about="provider")),
        (Tell("refuse", 500), TryLater("", about="provider")),
        (Tell("refuse", 503), TryLater("", about="provider")),
        (Tell("refuse", 400, body='{"message": "no"}'), Refused("")),
        (Tell("drop"), Unknown("")),
        (Tell("reset"), Unknown("")),
        (Tell("hang"), Unknown("")),
    ],
)
@pytest.mark.parametrize("kind", KINDS)
async def test_what_the_script_says_is_what_the_adapter_hears(
    to: Simulated, kind: str, told: Tell, expected: Answer
) -> None:
    """RTY-04, IDM-03."""
    to.kit.told = {"ann@example.com": [told]}
    message = a_message()
    async with to.adapter(kind, attempt_timeout="500ms") as provider:
        assert kind_of(await provider.send(message, now=now())) == expected
        assert isinstance(await provider.send(message, now=now()), Sent)
    taken = ["refused" if told.kind == "refuse" else "dropped", "accepted"]
    assert [entry.event for entry in to.kit.entries] == taken
    assert len({entry.delivery_id for entry in to.kit.entries}) == 1
    assert len(to.words.posts) == (1 if told.kind == "refuse" else 2)


async def test_ses_says_that_an_identity_is_not_verified_and_all_of_it_stops(to: Simulated) -> None:
    words = '{"message": "Email address is not verified. The following identities failed the check: x"}'
    headers = {"x-amzn-ErrorType": "MessageRejected"}
    to.kit.told = {"ann@example.com": [Tell("refuse", 400, body=words, headers=headers)]}
    async with to.adapter("ses") as provider:
        assert await provider.send(a_message(), now=now()) == Misconfigured("400 MessageRejected")


@pytest.mark.parametrize(
    ("kind", "wrong"),
    [
        ("ses", {"secret_access_key": "another"}),
        ("ses", {"access_key_id": "AKIDOTHER"}),
        ("sendgrid", {"api_key": "SG.another"}),
    ],
)
async def test_wrong_credentials_are_refused_and_nothing_is_logged_as_a_mail(
    to: Simulated, kind: str, wrong: dict[str, str]
) -> None:
    async with to.adapter(kind, **wrong) as provider:
        assert kind_of(await provider.send(a_message(), now=now())) == Misconfigured("")
    assert to.kit.entries == []


async def test_a_clock_that_is_wrong_by_ten_minutes_is_a_misconfiguration(to: Simulated) -> None:
    async with to.adapter("ses") as provider:
        answer = await provider.send(a_message(), now=now() - 600_000)
    assert answer == Misconfigured("403 RequestExpired")


async def test_a_subscription_is_confirmed_by_its_own_token_only(to: Simulated) -> None:
    post = to.subscription.confirmation(to.url, time.time())
    where = orjson.loads(post.body)["SubscribeURL"]
    async with aiohttp.ClientSession() as session:
        assert (await session.get(f"{to.url}{ses.CONFIRM}?Token=guess")).status == 403
        before = to.subscription.confirmed
        assert (await session.get(where)).status == 200
        assert (before, to.subscription.confirmed) == (False, True)
        assert (await (await session.get(f"{to.url}{ses.CERTIFICATE}")).read()).startswith(b"-----BEGIN CERT")


@pytest.mark.parametrize(
    ("address", "words"),
    [
        ("ann@example.com", ("delivered",)),
        ("Bounce+ann@example.com", ("bounced",)),
        ("full+ann@example.com", ("full",)),
        ("blocked+ann@example.com", ("blocked",)),
        ("complaint+ann@example.com", ("delivered", "complained")),
        ("open+ann@example.com", ("delivered", "opened")),
        ("delayed+ann@example.com", ("delayed", "delivered")),
        ("silent+ann@example.com", ()),
        ("bounced@example.com", ("delivered",)),
    ],
)
def test_an_address_says_by_convention_what_becomes_of_its_mails(address: str, words: tuple[str, ...]) -> None:
    assert words_of_mail(address) == words
    for word in words:
        assert word in ses_events.WORDS
        assert word in sendgrid_events.WORDS


def amazons_own(to: Simulated, secret: str = SECRET_KEY) -> Any:
    session = botocore.session.Session()
    return session.create_client(
        "sesv2",
        region_name="eu-west-1",
        endpoint_url=f"{to.url}/ses",
        aws_access_key_id=KEY_ID,
        aws_secret_access_key=secret,
        config=Config(retries={"max_attempts": 0}),
    )


RAW = b"From: a@b.example\r\nTo: ann@example.com\r\nSubject: Hello\r\nMessage-ID: <d-1@b.example>\r\n\r\nHello\r\n"


async def test_amazons_own_client_is_served(to: Simulated) -> None:
    def send() -> Any:
        return amazons_own(to).send_email(
            FromEmailAddress="a@b.example",
            Destination={"ToAddresses": ["ann@example.com"]},
            Content={"Raw": {"Data": RAW}},
            EmailTags=[{"Name": "notify_reference", "Value": "r"}],
        )

    answer = await asyncio.to_thread(send)
    (entry,) = to.kit.entries
    assert answer["MessageId"] in entry.answer
    assert (entry.delivery_id, entry.content) == ("d-1", RAW)


async def test_amazons_own_client_reads_our_errors(to: Simulated) -> None:
    to.kit.told = {"ann@example.com": [Tell("refuse", 429)]}

    def send(secret: str) -> str:
        try:
            amazons_own(to, secret).send_email(
                Destination={"ToAddresses": ["ann@example.com"]}, Content={"Raw": {"Data": RAW}}
            )
        except ClientError as error:
            return str(error.response["Error"]["Code"])
        return ""

    assert await asyncio.to_thread(send, SECRET_KEY) == "TooManyRequestsException"
    assert await asyncio.to_thread(send, "another") == "InvalidSignatureException"
