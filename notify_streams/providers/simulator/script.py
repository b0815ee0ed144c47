"""How the simulator answers: as told for a recipient, else by convention of the address, else it takes the mail.

Conventions, for demo data: `bounce+...@` is refused for good at RCPT; `busy-2+...@` is put off twice, `lost+...@` loses
the connection after the mail's end once, `slow-3+...@` answers after three seconds. A number is how often, or how long.
"""

import re
from collections import OrderedDict
from fnmatch import fnmatchcase
from typing import Annotated, Literal

import msgspec

_CONVENTION = re.compile(r"(bounce|busy|lost|slow)(?:-(\d{1,3}))?\+")
_REMEMBERED = 100_000  # recipients


class Reply(msgspec.Struct, frozen=True, omit_defaults=True):
    """One answer: a code at RCPT or after the mail's end, no answer but a closed connection, or only a delay.

    `seconds` is waited before it, whatever it is.
    """

    stage: Literal["rcpt", "data", "drop", "delay"]
    code: Annotated[int, msgspec.Meta(ge=200, le=599)] = 250
    text: str = "2.0.0 OK"
    seconds: Annotated[float, msgspec.Meta(ge=0, le=600)] = 0.0

    @property
    def line(self) -> str:
        """As it goes over the wire."""
        return f"{self.code} {' '.join(self.text.split())}"


class Rule(msgspec.Struct, frozen=True):
    """What the recipients that match (exact, or with * and ?) get, each of them in this order; then mails are taken."""

    recipient: Annotated[str, msgspec.Meta(min_length=1, max_length=320)]
    answers: Annotated[tuple[Reply, ...], msgspec.Meta(max_length=1000)]


_BOUNCE = Reply("rcpt", 550, "5.1.1 The mailbox does not exist")
_BUSY = Reply("rcpt", 451, "4.7.1 Greylisted, come back later")


class Script:
    """The rules, and how far each recipient has got in its own."""

    def __init__(self) -> None:
        self._rules: dict[str, Rule] = {}
        self._used: OrderedDict[str, int] = OrderedDict()

    @property
    def rules(self) -> tuple[Rule, ...]:
        """In force, the newest last."""
        return tuple(self._rules.values())

    def put(self, rule: Rule) -> None:
        """Replaces the rule of the same recipient and begins it anew; without answers it is only taken away."""
        self._rules.pop(rule.recipient, None)
        if rule.answers:
            self._rules[rule.recipient] = rule
        for recipient in [r for r in self._used if fnmatchcase(r, rule.recipient.lower())]:
            del self._used[recipient]

    def clear(self) -> None:
        """Back to conventions alone."""
        self._rules.clear()
        self._used.clear()

    def at_rcpt(self, recipient: str) -> Reply | None:
        """The next answer where it is one for RCPT; None accepts the recipient."""
        reply = self._next(recipient.lower())
        return self._use(recipient.lower(), reply) if reply is not None and reply.stage == "rcpt" else None

    def at_end(self, recipient: str) -> Reply | None:
        """The next answer where it is one for the end of the mail; None takes it."""
        reply = self._next(recipient.lower())
        return self._use(recipient.lower(), reply) if reply is not None and reply.stage != "rcpt" else None

    def _next(self, recipient: str) -> Reply | None:
        used = self._used.get(recipient, 0)
        for rule in reversed(self._rules.values()):
            if fnmatchcase(recipient, rule.recipient.lower()):
                return rule.answers[used] if used < len(rule.answers) else None
        return _by_convention(recipient, used)

    def _use(self, recipient: str, reply: Reply) -> Reply:
        if reply is not _BOUNCE:
            self._used[recipient] = self._used.pop(recipient, 0) + 1
            if len(self._used) > _REMEMBERED:
                self._used.popitem(last=False)
        return reply


def _by_convention(recipient: str, used: int) -> Reply | None:
    found = _CONVENTION.match(recipient)
    if found is None:
        return None
    number = int(found[2]) if found[2] else None
    match found[1]:
        case "bounce":
            return _BOUNCE
        case "busy":
            return _BUSY if used < (number or 1) else None
        case "lost":
            return Reply("drop") if used < (number or 1) else None
        case _:
            return Reply("delay", seconds=float(2 if number is None else number))
