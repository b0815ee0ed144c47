"""Changes of preferences, one a line: judged, put on the log, and confirmed by the answers to them."""

import asyncio
import json
from collections.abc import Callable, Iterable, Iterator
from time import monotonic, perf_counter
from typing import Any, BinaryIO, ClassVar, NamedTuple, Protocol
from uuid import uuid4

import click
import msgspec
from aiokafka.errors import KafkaError

from notify_streams.cli.producing import producer
from notify_streams.domain import patch
from notify_streams.domain.accept import why_no_user_id
from notify_streams.gateway import bodies
from notify_streams.gateway.preferences import ENTRIES, FIELDS
from notify_streams.gateway.problems import Problem
from notify_streams.gateway.results import Answer, KafkaResults
from notify_streams.ports import Unavailable
from notify_streams.settings import Kafka
from notify_streams.streaming import topics
from schemas.catalogue import Catalogue
from schemas.codec import encode
from schemas.commands import CommandResultV1, FieldError, PatchPreferencesV1, Preferences

BY = "/shell"
_UNDER_WAY = 4000
_LISTENS_S = 15.0


class Record(NamedTuple):
    """What is put on the log. `topic` is without prefix; the answer names the `command_id`."""

    topic: str
    key: bytes
    value: bytes
    command_id: str


class Line(Protocol):
    """A line that can be put on the log; `body` is where in it the pointers of an answer begin."""

    body: ClassVar[str]

    @property
    def number(self) -> int:
        """Counted from 1."""

    def record(self) -> Record:
        """What it says."""


class ImportLine(msgspec.Struct, frozen=True, kw_only=True):
    """What a line holds; `preferences` is the body of a PATCH, `if_match` the version that it is for."""

    user_id: str
    preferences: msgspec.Raw
    if_match: int | None = None


class Change(msgspec.Struct, frozen=True):
    """A line that can be put on the log."""

    number: int
    user_id: str
    command: PatchPreferencesV1
    body: ClassVar[str] = "/preferences"

    def record(self) -> Record:
        """See Line."""
        return Record(topics.USER_COMMANDS, self.user_id.encode(), encode(self.command), self.command.command_id)


class Refused(msgspec.Struct, frozen=True):
    """A line that cannot, and what is wrong with which field."""

    number: int
    words: str


class Tally(msgspec.Struct):
    """What became of the lines. `unconfirmed` may have been applied; `unsent` were not tried."""

    lines: int = 0
    bad_lines: int = 0
    applied: int = 0
    invalid: int = 0
    conflict: int = 0
    unconfirmed: int = 0
    unsent: int = 0
    seconds: float = 0.0

    @property
    def done(self) -> int:
        """Lines of which it is known how they ended."""
        return self.bad_lines + self.applied + self.invalid + self.conflict

    @property
    def all_applied(self) -> bool:
        """Whether every line was taken."""
        return self.applied == self.lines


def judged(file: BinaryIO, catalogue: Catalogue) -> Iterator[Change | Refused]:
    """Every line that is not blank, in order, by what the gateway would say of it."""
    run = uuid4().hex[:16]
    for number, line in enumerate(file, 1):
        if line.strip():
            yield _judged(number, line.strip(), catalogue, f"{run}-{number}")


def _judged(number: int, line: bytes, catalogue: Catalogue, command_id: str) -> Change | Refused:
    try:
        outer = bodies.typed(line, ImportLine, known=ImportLine.__struct_fields__)
    except Problem as problem:
        return Refused(number, in_words(problem.body.errors or (FieldError("", problem.body.detail),)))
    fault = why_no_user_id(outer.user_id)
    if fault is not None:
        return Refused(number, f"/user_id: {fault}")
    try:
        wanted = bodies.typed(bytes(outer.preferences), Preferences, known=FIELDS, entries=ENTRIES)
    except Problem as problem:
        return Refused(number, in_words(problem.body.errors, "/preferences"))
    try:
        each_once(line)
    except Twice as twice:
        return Refused(number, str(twice))
    command = PatchPreferencesV1(command_id=command_id, if_match=outer.if_match, by=BY, patch=wanted)
    errors = patch.check(command, catalogue)
    if errors:
        return Refused(number, in_words(errors, "/preferences"))
    return Change(number, outer.user_id, command)


class Twice(Exception):
    """A key that an object has more than once: which of its values is meant, nobody can tell."""


def each_once(line: bytes) -> None:
    """Raises Twice."""
    json.loads(line, object_pairs_hook=_each_once, parse_int=str)


def _each_once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for key, value in pairs:
        if key in found:
            raise Twice(f"{key[:100]!r} is there twice")
        found[key] = value
    return found


def in_words(errors: Iterable[FieldError], above: str = "") -> str:
    """Each with its pointer, below this one."""
    return "; ".join(f"{above}{error.pointer}: {error.detail}".removeprefix(": ") for error in errors)


class Importer:
    """Keeps a few thousand changes under way: a user's stay in their order."""

    def __init__(self, kafka: Kafka, *, patience_s: float, report: Callable[[int, str], None]) -> None:
        self.tally = Tally()
        self._kafka, self._patience_s, self._report = kafka, patience_s, report
        self._under_way: dict[asyncio.Future[Answer], Line] = {}
        self._room = asyncio.Event()
        self._failure: BaseException | None = None

    async def run(self, lines: Iterable[Line | Refused], advanced: Callable[[Tally], None]) -> None:
        """All lines; gives up once nothing was answered for the patience. Raises ClickException without a broker."""
        began, rest = perf_counter(), iter(lines)
        results = KafkaResults(self._kafka, lambda _: None, back_s=0)
        async with producer(self._kafka) as client:
            results.start()
            try:
                await listening(results)
                if await self._send(client, results, rest, advanced):
                    await self._settled(lambda: not self._under_way, advanced)
            finally:
                await results.close()
        self.tally.unconfirmed = len(self._under_way)
        for line in self._under_way.values():
            self._report(line.number, f"not confirmed: {self._failure or 'no answer came'}")
        self.tally.unsent = self.tally.lines - self.tally.done - self.tally.unconfirmed
        self.tally.unsent += self._count_unsent(rest)
        self.tally.seconds = perf_counter() - began

    async def _send(
        self, client: Any, results: KafkaResults, lines: Iterator[Line | Refused], advanced: Callable[[Tally], None]
    ) -> bool:
        """Whether all are on their way."""
        for line in lines:
            self.tally.lines += 1
            if isinstance(line, Refused):
                self.tally.bad_lines += 1
                self._report(line.number, line.words)
                continue
            if not await self._settled(lambda: len(self._under_way) < _UNDER_WAY, advanced):
                return False
            record = line.record()
            try:
                answer = results.expect(record.command_id)
                self._under_way[answer] = line
                answer.add_done_callback(self._take)
                sent = await client.send(self._kafka.prefix + record.topic, record.value, record.key)
            except (KafkaError, Unavailable) as error:
                self._failure = error
                return False
            sent.add_done_callback(self._acknowledged)
        return True

    async def _settled(self, enough: Callable[[], bool], advanced: Callable[[Tally], None]) -> bool:
        """Wait until it is enough; False when nothing was answered for so long that it will not be."""
        while not enough():
            advanced(self.tally)
            self._room.clear()
            try:
                async with asyncio.timeout(self._patience_s):
                    await self._room.wait()
            except TimeoutError:
                return False
            if self._failure is not None:
                return False
        advanced(self.tally)
        return self._failure is None

    def _take(self, answer: asyncio.Future[Answer]) -> None:
        line = self._under_way.pop(answer, None)
        if line is None or answer.cancelled():
            return
        result = answer.result()
        match result:
            case CommandResultV1(status="conflict", version=version):
                self.tally.conflict += 1
                self._report(line.number, f"/if_match: the version is {version}")
            case _ if result.status == "applied":
                self.tally.applied += 1
            case _:
                self.tally.invalid += 1
                self._report(line.number, in_words(result.errors, line.body))
        self._room.set()

    def _acknowledged(self, sent: asyncio.Future[Any]) -> None:
        error = None if sent.cancelled() else sent.exception()
        if error is not None:
            self._failure = error
            self._room.set()

    def _count_unsent(self, rest: Iterator[Line | Refused]) -> int:
        count = 0
        for line in rest:
            self.tally.lines += 1
            if isinstance(line, Refused):
                self.tally.bad_lines += 1
                self._report(line.number, line.words)
            else:
                count += 1
        return count


async def listening(results: KafkaResults) -> None:
    """Raises ClickException where the answers to commands cannot be heard."""
    until = monotonic() + _LISTENS_S
    while not results.listening:
        if monotonic() > until:
            hint = "`notify topics check` says which topics there are"
            raise click.ClickException(f"the answers to commands cannot be heard. {hint}")
        await asyncio.sleep(0.01)
