"""Senders with real adapters against servers that speak the protocol: what a whole attempt comes to."""

import asyncio
import time
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from agents.sending.jobs import Job
from agents.sending.sender import Sender
from notify_streams.domain.rendered import Rendered, RenderedPush
from schemas.addresses import AddressGoneV1
from schemas.content import Content
from schemas.deliveries import DeliveryV1, decode_delivery
from schemas.words import Reason
from tests.builders import HOUR, MINUTE, a_delivery, an_id
from tests.fakes import Renderer, arrived
from tests.sending import TERMS, Results, Unlimited, a_sender, states, until, work
from tests.simulated import Simulated, Tell, simulated
from tests.smtp_servers import CLOSE, provider_at, raw_server

APPLE, GOOGLE = "a" * 64, "g" * 64


class Push(Renderer):
    def message(self, delivery: DeliveryV1, *, unsubscribe: str | None = None) -> tuple[Rendered, str]:
        return RenderedPush("Hello", "Ann wrote"), "en"


class Moving:
    """The machine's own time, and as much ahead as it is told."""

    def __init__(self) -> None:
        self.ahead = 0

    def __call__(self) -> int:
        return time.time_ns() // 1_000_000 + self.ahead


@pytest.fixture
async def simulator(tmp_path: Path) -> AsyncIterator[Simulated]:
    async with simulated(tmp_path) as running:
        yield running


@pytest.fixture
async def pushing(simulator: Simulated) -> AsyncIterator[Any]:
    """Makes senders of push: iOS by Apple, Android by Google."""
    providers = [simulator.provider("apns"), simulator.provider("fcm")]
    yield lambda **changes: a_sender(providers, renderer=Push(), **{"clock": Moving(), **changes})
    for provider in providers:
        await provider.close()


def a_push(token: str, platform: str, **changes: Any) -> DeliveryV1:
    at = Moving()()
    plain: dict[str, Any] = {
        "channel": "push",
        "platform": platform,
        "endpoint_id": token,
        "accepted_at": at,
        "decided_at": at,
        "expires_at": at + HOUR,
        "content": Content(payload=msgspec.Raw(b"{}"), address=token),
    }
    return a_delivery(an_id(), **plain | changes)


def next_of(results: Results) -> DeliveryV1:
    [(_, timer)] = results.timers
    return decode_delivery(bytes(timer.payload))


@pytest.mark.parametrize(("token", "platform", "name"), [(APPLE, "ios", "apns"), (GOOGLE, "android", "fcm")])
async def test_a_push_whose_answer_was_lost_is_sent_once_more_with_the_same_identity(
    simulator: Simulated, pushing: Any, token: str, platform: str, name: str
) -> None:
    """IDM-03: one further attempt, sent once in the end, attempt counter 2."""
    simulator.kit.told[token] = [Tell("drop")]
    sender: Sender = pushing()
    again = next_of(await work(sender, a_push(token, platform)))
    assert (again.by, again.attempt) == (name, 2)
    [(_, outcome)] = (await work(sender, again)).outcomes
    assert (outcome.state, outcome.attempt, outcome.provider) == ("sent", 2, name)
    one, two = simulator.kit.entries
    assert (one.identity, one.delivery_id) == (two.identity, two.delivery_id)
    assert one.identity


async def test_a_mail_whose_answer_was_lost_is_sent_once_more_with_the_same_message_id() -> None:
    """IDM-03"""
    async with raw_server({"end": CLOSE}, once=True) as server, provider_at(server.port) as provider:
        sender = a_sender(provider)
        results = await work(sender, a_delivery())
        assert (states(results), results.outcomes[0][1].reason) == (["unknown"], Reason.UNKNOWN_OUTCOME)
        [(_, outcome)] = (await work(sender, next_of(results))).outcomes
    assert (outcome.state, outcome.attempt) == ("sent", 2)
    ids = [line for mail in server.mails for line in mail.splitlines() if line.lower().startswith(b"message-id")]
    assert (len(ids), len(set(ids))) == (2, 1)


async def test_one_dead_device_of_three_is_told_and_the_others_get_it(simulator: Simulated, pushing: Any) -> None:
    """TOK-01: the second time only the first and the third are left, which the registry sees to."""
    tokens = [letter * 64 for letter in "abc"]
    simulator.kit.told["b" * 64] = [Tell("refuse", 410, '{"reason":"Unregistered","timestamp":1790000000000}')]
    results = await work(pushing(), *(a_push(token, "ios") for token in tokens))
    assert sorted(states(results)) == ["failed", "sent", "sent"]
    [word] = results.words
    assert isinstance(word, AddressGoneV1)
    assert (word.channel, word.provider, word.since) == ("push", "apns", 1_790_000_000_000)
    assert results.timers == []


RETRIED, FINAL, OURS = (408, 425, 429, 500, 503), (400, 410, 413, 422, 501), (401, 403)


@pytest.mark.parametrize("status", [*RETRIED, *FINAL, *OURS])
async def test_what_a_status_means_for_the_message(simulator: Simulated, pushing: Any, status: int) -> None:
    """RTY-04: retried, final, or waiting for its deadline while the provider is paused."""
    simulator.kit.told[GOOGLE] = [Tell("refuse", status, "{}")] * 2  # a refused token is made new once
    sender = pushing(terms=msgspec.structs.replace(TERMS, hold_s=0.05))
    results = await work(sender, a_push(GOOGLE, "android"))
    [(_, outcome)] = results.outcomes
    if status in FINAL:
        assert (outcome.state, results.timers) == ("failed", [])
        return
    reason = Reason.MISCONFIGURED if status in OURS else Reason.PROVIDER_UNAVAILABLE
    assert (outcome.state, outcome.reason) == ("retrying", reason)
    calls = len(simulator.kit.entries)
    [(_, other)] = (await work(sender, a_push("h" * 64, "android"))).outcomes
    if status in OURS or status == 429:  # Google: without Retry-After a minute, for all
        assert (other.reason, len(simulator.kit.entries)) == (Reason.HELD, calls)
    else:
        assert other.state == "sent"


async def test_throttled_tokens_wait_alone_and_a_503_pauses_the_provider(simulator: Simulated, pushing: Any) -> None:
    """TOK-11: over HTTP/2, 50 messages to several tokens; tokens stay active."""
    limiter, clock = Unlimited(), Moving()
    tokens = [f"{n:064x}" for n in range(50)]
    simulator.kit.told[tokens[7]] = [Tell("refuse", 429, '{"reason":"TooManyRequests"}')]
    sender = pushing(limiter=limiter, clock=clock, concurrency=1, terms=msgspec.structs.replace(TERMS, hold_s=0.05))
    results = await work(sender, *(a_push(token, "ios") for token in tokens))
    assert (sorted(states(results)), limiter.pauses) == (["retrying", *["sent"] * 49], [])
    down = Tell("refuse", 503, '{"reason":"ServiceUnavailable"}', {"Retry-After": "600"})
    simulator.kit.told[tokens[0]] = [down]
    calls = len(simulator.kit.entries)
    results = await work(sender, *(a_push(token, "ios", expires_at=clock() + 5 * MINUTE) for token in tokens))
    assert ([name for name, _ in limiter.pauses], results.words) == (["apns"], [])
    assert len(simulator.kit.entries) == calls + 1
    assert states(results).count("expired") == 1  # told to wait past its deadline
    assert min(t.due_at for _, t in results.timers) > clock() + 4 * MINUTE


async def test_apple_hangs_and_google_s_messages_go_out(simulator: Simulated, pushing: Any) -> None:
    simulator.kit.told |= {f"{n:064x}": [Tell("hang")] for n in range(10)}
    sender = pushing(concurrency=2, terms=msgspec.structs.replace(TERMS, slot_s=0.3))
    results = Results()
    batch = [a_push(f"{n:064x}", "ios") for n in range(10)] + [a_push(f"{n:064x}", "android") for n in range(100, 140)]
    jobs = [Job(arrived(b"", b"ann"), delivery) for delivery in batch]
    whole = asyncio.ensure_future(sender.work(jobs, results.add, hold=True))
    await until(lambda: states(results).count("sent") == 40)
    assert not whole.done()  # it still waits for Apple
    await whole
    assert states(results).count("retrying") == 10
