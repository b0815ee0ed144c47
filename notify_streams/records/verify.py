"""A decision made again from its own record: does the same come out, byte for byte?"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Literal

import msgspec

from notify_streams.domain.decide import RULES, decide
from schemas.catalogue import Catalogue
from schemas.codec import encode
from schemas.decisions import DecisionV1, Verdict
from schemas.facts import Fact

from .verdicts import NAMES, clock, in_words, occasion

_decode = msgspec.json.Decoder(Catalogue).decode


class Check(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One decision and what came of it now.

    `again` differs from the record's verdicts where `result` is `differs`, and is empty where it `cannot` be made
    again, for the reason `problem`. `otherwise` says what else was decided by then than what is at hand now.
    """

    decision: DecisionV1
    result: Literal["verified", "differs", "cannot"]
    again: tuple[Verdict, ...] = ()
    problem: str = ""
    otherwise: tuple[str, ...] = ()


def decisions_of(facts: Iterable[Fact]) -> list[DecisionV1]:
    """Those among the facts, in order."""
    made = [fact for fact in facts if isinstance(fact, DecisionV1)]
    return sorted(made, key=lambda d: (d.notification.revision, d.now, encode(d)))


def verify(decision: DecisionV1, catalogues: Mapping[str, bytes], *, tzdata: str, rules: int = RULES) -> Check:
    """Decide again. `catalogues` are bodies by hash; `tzdata` and `rules` the versions at hand."""
    otherwise = tuple(_otherwise(decision, tzdata, rules))
    try:
        catalogue = _catalogue(decision.catalogue, catalogues)
        again = decide(decision.notification, decision.profile, decision.state, catalogue, decision.now)
    except _Unknown as error:
        return Check(decision=decision, result="cannot", problem=str(error), otherwise=otherwise)
    except KeyError as error:
        problem = f"{error.args[0]!r} is no type of its catalogue"
        return Check(decision=decision, result="cannot", problem=problem, otherwise=otherwise)
    same = encode(again) == encode(decision.verdicts)
    return Check(decision=decision, result="verified" if same else "differs", again=again, otherwise=otherwise)


def told(check: Check) -> Iterator[str]:
    """The result in words: one line, and of a difference two more per channel."""
    decision = check.decision
    channels = ", ".join(NAMES[channel] for channel in decision.notification.channels) or "no channel"
    what = f"{clock(decision.now)}  {occasion(decision)} ({channels})"
    yield f"{what}: {check.result if check.result != 'cannot' else 'cannot be decided again: ' + check.problem}"
    yield from (f"  {sentence}" for sentence in check.otherwise)
    if check.result == "differs":
        yield from _differences(decision, check.again)


class _Unknown(Exception):
    """Its catalogue is not at hand."""


def _catalogue(hash_: str, catalogues: Mapping[str, bytes]) -> Catalogue:
    body = catalogues.get(hash_)
    if body is None:
        raise _Unknown(f"the catalogue {hash_}, by which it was decided, is not in the records")
    try:
        catalogue = _decode(body)
    except msgspec.DecodeError as error:
        raise _Unknown(f"the catalogue {hash_} cannot be read: {error}") from error
    if catalogue.hash != hash_:
        raise _Unknown(f"what is recorded as catalogue {hash_} says that it is {catalogue.hash}")
    return catalogue


def _otherwise(decision: DecisionV1, tzdata: str, rules: int) -> Iterator[str]:
    if decision.rules != rules:
        yield f"decided by version {decision.rules} of the rules; these are version {rules}"
    if decision.tzdata != tzdata:
        yield f"decided by the time zones of tzdata {decision.tzdata}; these are {tzdata}"


def _differences(decision: DecisionV1, again: tuple[Verdict, ...]) -> Iterator[str]:
    recorded = {verdict.channel: verdict for verdict in decision.verdicts}
    now = {verdict.channel: verdict for verdict in again}
    for channel in dict.fromkeys((*recorded, *now)):
        for word, verdict in (("recorded", recorded.get(channel)), ("now", now.get(channel))):
            if recorded.get(channel) != now.get(channel):
                yield f"  {word + ':':9} {'nothing' if verdict is None else in_words(verdict, decision)}"
    if recorded == now:
        yield "  the same verdicts, written otherwise"
