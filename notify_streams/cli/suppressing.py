"""The suppression list from the shell: one change at a time and answered, or many by lines of a file."""

import asyncio
from collections.abc import Iterator
from datetime import datetime
from typing import Any, BinaryIO, ClassVar
from uuid import uuid4

import click
import msgspec
from aiokafka.errors import KafkaError

from notify_streams.cli.importing import BY, Record, Refused, Twice, each_once, in_words, listening
from notify_streams.cli.producing import producer
from notify_streams.domain.addresses import address_key
from notify_streams.gateway import bodies
from notify_streams.gateway.problems import Problem
from notify_streams.gateway.results import KafkaResults
from notify_streams.gateway.spelling import Spelling
from notify_streams.gateway.suppressions import now, until_of
from notify_streams.ports import Unavailable
from notify_streams.settings import Kafka
from notify_streams.streaming import topics
from schemas.addresses import (
    AddressState,
    LiftSuppressionV1,
    ShowAddressV1,
    SuppressAddressV1,
    Suppression,
)
from schemas.codec import encode
from schemas.commands import CommandResultV1, FieldError
from schemas.profiles import Address
from schemas.words import Channel

_ANSWERS_S = 15.0
Asked = SuppressAddressV1 | LiftSuppressionV1 | ShowAddressV1


class SuppressionLine(msgspec.Struct, frozen=True, kw_only=True):
    """What a line holds: an address, why nothing is sent there, and until when (RFC 3339; without it for good)."""

    channel: Channel
    address: str
    reason: Suppression = "manual"
    until: datetime | None = None


class Suppressed(msgspec.Struct, frozen=True):
    """A line that can be put on the log."""

    number: int
    key: str
    change: SuppressAddressV1
    body: ClassVar[str] = ""

    def record(self) -> Record:
        """See importing.Line."""
        return Record(topics.ADDRESS_CHANGES, self.key.encode(), encode(self.change), self.change.command_id)


def judged(file: BinaryIO, spelling: Spelling) -> Iterator[Suppressed | Refused]:
    """Every line that is not blank, in order, by what the gateway would say of it."""
    run = uuid4().hex[:16]
    for number, line in enumerate(file, 1):
        if line.strip():
            yield _judged(number, line.strip(), spelling, f"{run}-{number}")


def _judged(number: int, line: bytes, spelling: Spelling, command_id: str) -> Suppressed | Refused:
    try:
        wanted = bodies.typed(line, SuppressionLine, known=SuppressionLine.__struct_fields__)
        each_once(line)
        address = spelling.kept(wanted.channel, wanted.address)
        until = until_of(wanted.reason, wanted.until, now())
    except Problem as problem:
        return Refused(number, in_words(problem.body.errors or (FieldError("", problem.body.detail),)))
    except Twice as twice:
        return Refused(number, str(twice))
    change = a_suppression(wanted.channel, address, wanted.reason, until, command_id=command_id)
    return Suppressed(number, address_key(wanted.channel, address), change)


def a_suppression(
    channel: Channel, address: str, reason: Suppression, until: int | None, *, command_id: str
) -> SuppressAddressV1:
    """From the shell, now. `until` in ms."""
    return SuppressAddressV1(
        channel=channel,
        at=now(),
        by=BY,
        reason=reason,
        until=until,
        command_id=command_id,
        content=Address(address),
    )


async def asked(kafka: Kafka, address: str, change: Asked) -> AddressState:
    """What the registry keeps of the address after it. Raises Unavailable, or ClickException without a broker."""
    results = KafkaResults(kafka, lambda _: None, back_s=0)
    key = address_key(change.channel, address).encode()
    async with producer(kafka) as client:
        results.start()
        try:
            await listening(results)
            return await _answer(client, results, kafka.prefix + topics.ADDRESS_CHANGES, key, change)
        finally:
            await results.close()


async def _answer(client: Any, results: KafkaResults, topic: str, key: bytes, change: Asked) -> AddressState:
    answer = results.expect(change.command_id)
    try:
        await client.send_and_wait(topic, encode(change), key)
        async with asyncio.timeout(_ANSWERS_S):
            result = await answer
    except TimeoutError:
        raise Unavailable(f"the registry has not answered within {_ANSWERS_S:.0f} s") from None
    except KafkaError as error:
        raise Unavailable(f"the broker did not take the change: {error!r}") from error
    finally:
        answer.cancel()
    if not isinstance(result, CommandResultV1) or result.address is None:
        raise click.ClickException("this was answered by something that is no registry")
    return result.address
