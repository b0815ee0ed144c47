"""Push while its services drop, reset, refuse and say good-bye: no answer says more than what is true."""

import asyncio
import random
import time
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from notify_streams.domain.answers import Sent, TryLater, Unknown
from notify_streams.ports import Message
from tests.push import a_push
from tests.simulated import Simulated, Tell, sending, simulated

MESSAGES = 600


def a_message(number: int, kind: str) -> Message:
    address = f"{number:064x}" if kind == "apns" else f"t{number}:APA91b"
    return a_push(
        address,
        platform="ios" if kind == "apns" else "android",
        delivery_id=f"b0a1c2d3-0000-4000-8000-{number:012x}",
        expires_at=2**50,
    )


def faults(chance: random.Random) -> list[Tell]:
    """For one recipient: rarely a drop or a reset, mostly a short wait."""
    drawn = chance.random()
    if drawn < 0.004:
        return [Tell("reset", seconds=chance.random() / 50)]
    if drawn < 0.1:
        return [Tell("drop", seconds=chance.random() / 50)]
    if drawn < 0.2:
        return [Tell("refuse", 503)]
    return [Tell("accept", seconds=chance.random() / 20)]


@pytest.mark.parametrize("kind", ["apns", "fcm"])
async def test_what_was_sent_is_in_the_log_once_and_what_may_be_tried_again_is_not(tmp_path: Path, kind: str) -> None:
    """IDM-03, TOK-11: 600 messages, 40 at a time, connections lost under them."""
    chance = random.Random(5)
    async with simulated(tmp_path) as to, sending(to, kind) as provider:
        messages = [a_message(number, kind) for number in range(MESSAGES)]
        to.kit.told = {message.address: faults(chance) for message in messages}
        goodbyes = asyncio.create_task(_goodbyes(to))
        answers = await _sent(provider, messages)
        goodbyes.cancel()
    accepted = Counter(entry.delivery_id for entry in to.kit.entries if entry.event == "accepted")
    for message, answer in zip(messages, answers, strict=True):
        times = accepted[message.delivery_id]
        match answer:
            case Sent():
                assert times == 1
            case TryLater():
                assert times == 0
            case Unknown():
                assert times <= 1
            case _:
                pytest.fail(str(answer))
    assert {type(answer) for answer in answers} == {Sent, TryLater, Unknown}
    assert sum(isinstance(answer, Sent) for answer in answers) > MESSAGES / 2


async def test_afterwards_everything_that_was_not_sent_goes_out(tmp_path: Path) -> None:
    chance = random.Random(6)
    async with simulated(tmp_path) as to, sending(to, "apns") as provider:
        messages = [a_message(number, "apns") for number in range(200)]
        to.kit.told = {message.address: faults(chance) for message in messages}
        left = messages
        for _ in range(10):
            answers = await _sent(provider, left)
            left = [m for m, answer in zip(left, answers, strict=True) if not isinstance(answer, Sent)]
        assert left == []
    identities = {(entry.delivery_id, entry.identity) for entry in to.kit.entries}
    assert len(identities) == 200


async def _sent(provider: Any, messages: list[Message]) -> list[Any]:
    slots = asyncio.Semaphore(40)

    async def one(message: Message) -> Any:
        async with slots:
            return await provider.send(message, now=round(time.time() * 1000))

    return await asyncio.gather(*(one(message) for message in messages))


async def _goodbyes(to: Simulated) -> None:
    while True:
        await asyncio.sleep(0.08)
        to.apns.go_away()
