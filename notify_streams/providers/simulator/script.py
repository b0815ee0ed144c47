"""How the simulator answers: as told for a recipient, else by convention of the address, else by a provider's weather.

Conventions, for demo data: `bounce+...@` is refused for good at RCPT; `busy-2+...` is put off twice, `lost+...` loses
the connection after the message was taken in once, `slow-3+...` answers after three seconds, `gone+...` is what the
provider says of an address that is no more. A number is how often, or how long. Weather is for everybody else.
"""

import random
import re
import time
from collections import Counter, OrderedDict
from collections.abc import Callable, Mapping
from fnmatch import fnmatchcase
from typing import Annotated, Literal

import msgspec

from notify_streams.providers.simulator.asking import Kind

_CONVENTION = re.compile(r"(bounce|busy|lost|slow|gone)(?:-(\d{1,3}))?\+")
_REMEMBERED = 100_000  # recipients
Share = Annotated[float, msgspec.Meta(ge=0, le=1)]
Seconds = Annotated[float, msgspec.Meta(ge=0, le=600)]


class Reply(msgspec.Struct, frozen=True, omit_defaults=True):
    """One answer: at RCPT or after the mail's end (`data`, which is also the one answer of every other protocol).

    `drop` takes the message and closes the connection without a word, `reset` does so at once, `hang` never answers,
    `delay` only waits. `code` is SMTP's or HTTP's; `seconds` is waited before it, whatever it is. `body` and `headers`
    are HTTP's: where there are none, the provider's own words for the code.
    """

    stage: Literal["rcpt", "data", "drop", "delay", "hang", "reset"]
    code: Annotated[int, msgspec.Meta(ge=200, le=599)] = 250
    text: str = "2.0.0 OK"
    seconds: Seconds = 0.0
    body: str = ""
    headers: dict[str, str] = {}

    @property
    def line(self) -> str:
        """As it goes over the wire of SMTP."""
        return f"{self.code} {' '.join(self.text.split())}"

    @property
    def kind(self) -> Kind:
        """What becomes of a request."""
        if self.stage in ("drop", "hang", "reset"):
            return self.stage
        return "refuse" if self.stage != "delay" and self.code >= 300 else "accept"

    @property
    def status(self) -> int:
        """Of a `refuse`."""
        return self.code


class Rule(msgspec.Struct, frozen=True, omit_defaults=True):
    """What the recipients that match (exact, or with * and ?) get, each of them in this order; then they are taken.

    `provider` narrows it likewise. `then` are the words that follow a message that was taken, in place of the usual.
    """

    recipient: Annotated[str, msgspec.Meta(min_length=1, max_length=4096)]
    answers: Annotated[tuple[Reply, ...], msgspec.Meta(max_length=1000)]
    provider: str = "*"
    then: Annotated[tuple[str, ...], msgspec.Meta(max_length=8)] | None = None

    def __post_init__(self) -> None:
        if not any(fnmatchcase(provider, self.provider) for provider in PROVIDERS):
            raise ValueError(f"provider: one of {', '.join(PROVIDERS)}, or a pattern that one of them matches")


class Weather(msgspec.Struct, frozen=True, omit_defaults=True):
    """How a provider does for everybody: every answer after `latency_s`, shares of what goes wrong instead."""

    provider: str
    latency_s: Seconds = 0.0
    refused: Share = 0.0
    code: Annotated[int, msgspec.Meta(ge=300, le=599)] = 503
    headers: dict[str, str] = {}
    dropped: Share = 0.0
    reset: Share = 0.0
    hung: Share = 0.0

    def __post_init__(self) -> None:
        if self.provider not in PROVIDERS:
            raise ValueError(f"provider: one of {', '.join(PROVIDERS)}")

    @property
    def bad(self) -> bool:
        """Whether it changes anything."""
        return any((self.latency_s, self.refused, self.dropped, self.reset, self.hung))


PROVIDERS = ("smtp", "ses", "sendgrid", "fcm", "apns", "webpush", "twilio", "webhook")
_BOUNCE = Reply("rcpt", 550, "5.1.1 The mailbox does not exist")
_BUSY = Reply("rcpt", 451, "4.7.1 Greylisted, come back later")
_BUSY_HTTP = Reply("data", 503, "Busy")
_GONE: Mapping[str, Reply] = {"fcm": Reply("data", 404), "apns": Reply("data", 410), "webhook": Reply("data", 410)}


class Script:
    """The rules, the weather, and how far each recipient has got in its own. `chance` gives [0, 1).

    `since` and `struck` say from when a provider's weather is in force (seconds), and how many requests it met.
    """

    def __init__(self, chance: Callable[[], float] = random.random, clock: Callable[[], float] = time.time) -> None:
        self._rules: dict[tuple[str, str], Rule] = {}
        self._weather: dict[str, Weather] = {}
        self._used: OrderedDict[tuple[str, str], int] = OrderedDict()
        self._chance, self._clock = chance, clock
        self.since: dict[str, float] = {}
        self.struck: Counter[str] = Counter()

    @property
    def rules(self) -> tuple[Rule, ...]:
        """In force, the newest last."""
        return tuple(self._rules.values())

    @property
    def weather(self) -> tuple[Weather, ...]:
        """By provider."""
        return tuple(self._weather.values())

    def put(self, rule: Rule) -> None:
        """Replaces the rule of the same recipient and provider and begins it anew; an empty one is only taken away."""
        self._rules.pop((rule.provider, rule.recipient), None)
        if rule.answers or rule.then is not None:
            self._rules[rule.provider, rule.recipient] = rule
        for used in [u for u in self._used if _matches(rule, *u)]:
            del self._used[used]

    def forecast(self, weather: Weather) -> None:
        """From now on. Fine weather is only taken away."""
        self._weather.pop(weather.provider, None)
        self.struck[weather.provider] = 0
        if weather.bad:
            self._weather[weather.provider], self.since[weather.provider] = weather, self._clock()

    def begun(self, rule: Rule) -> tuple[int, int]:
        """How many recipients it has answered, and how often."""
        used = [count for key, count in self._used.items() if _matches(rule, *key)]
        return len(used), sum(used)

    def latency(self, provider: str) -> float:
        """Of an answer that goes well, in seconds."""
        weather = self._weather.get(provider)
        return 0.0 if weather is None else weather.latency_s

    def clear(self) -> None:
        """Back to conventions alone."""
        self._rules.clear()
        self._weather.clear()
        self._used.clear()

    def next(self, provider: str, recipient: str) -> Reply | None:
        """The next answer of a protocol that gives one per message; None takes it at once."""
        key = provider, recipient.lower()
        reply = self._next(key)
        return self._by_chance(provider) if reply is None else self._use(key, reply)

    def words(self, provider: str, recipient: str) -> tuple[str, ...] | None:
        """What is said later of a message to them; None for the usual."""
        for rule in reversed(self._rules.values()):
            if rule.then is not None and _matches(rule, provider, recipient.lower()):
                return rule.then
        return None

    def at_rcpt(self, recipient: str) -> Reply | None:
        """The next answer where it is one for RCPT; None accepts the recipient."""
        key = "smtp", recipient.lower()
        reply = self._next(key)
        return self._use(key, reply) if reply is not None and reply.stage == "rcpt" else None

    def at_end(self, recipient: str) -> Reply | None:
        """The next answer where it is one for the end of the mail; None takes it."""
        key = "smtp", recipient.lower()
        reply = self._next(key)
        if reply is None:
            return self._by_chance("smtp")
        return self._use(key, reply) if reply.stage != "rcpt" else None

    def _next(self, key: tuple[str, str]) -> Reply | None:
        used = self._used.get(key, 0)
        for rule in reversed(self._rules.values()):
            if rule.answers and _matches(rule, *key):
                return rule.answers[used] if used < len(rule.answers) else None
        return _by_convention(*key, used)

    def _use(self, key: tuple[str, str], reply: Reply) -> Reply:
        if reply is not _BOUNCE:
            self._used[key] = self._used.pop(key, 0) + 1
            if len(self._used) > _REMEMBERED:
                self._used.popitem(last=False)
        return reply

    def _by_chance(self, provider: str) -> Reply | None:
        weather = self._weather.get(provider)
        if weather is None:
            return None
        drawn, latency = self._chance(), weather.latency_s
        for share, reply in (
            (weather.refused, Reply("data", weather.code, seconds=latency, headers=weather.headers)),
            (weather.dropped, Reply("drop", seconds=latency)),
            (weather.reset, Reply("reset", seconds=latency)),
            (weather.hung, Reply("hang")),
        ):
            if drawn < share:
                self.struck[provider] += 1
                return reply
            drawn -= share
        return Reply("delay", seconds=latency) if latency else None


def _matches(rule: Rule, provider: str, recipient: str) -> bool:
    return fnmatchcase(recipient, rule.recipient.lower()) and fnmatchcase(provider, rule.provider)


def _by_convention(provider: str, recipient: str, used: int) -> Reply | None:
    found = _CONVENTION.match(recipient)
    if found is None:
        return None
    number = int(found[2]) if found[2] else None
    match found[1]:
        case "bounce":
            return _BOUNCE if provider == "smtp" else None  # the others take it, and say so later
        case "gone":
            return _BOUNCE if provider == "smtp" else _GONE.get(provider, Reply("data", 410))
        case "busy":
            return (_BUSY if provider == "smtp" else _BUSY_HTTP) if used < (number or 1) else None
        case "lost":
            return Reply("drop") if used < (number or 1) else None
        case _:
            return Reply("delay", seconds=float(2 if number is None else number))
