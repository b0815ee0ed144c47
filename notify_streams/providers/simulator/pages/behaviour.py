"""How the providers do: what weather and which rules are in force, and the forms that change them."""

from datetime import UTC, datetime
from itertools import groupby

import msgspec

from notify_streams.providers.simulator.log import Log
from notify_streams.providers.simulator.script import Reply, Rule, Script, Weather

from . import says
from .rendering import page


class Sky(msgspec.Struct, frozen=True):
    """One provider's weather; `said` is what it does, empty where it does nothing."""

    provider: str
    weather: Weather
    said: str
    since: str
    struck: int
    accepted: int
    refused: int
    dropped: int


class Shown(msgspec.Struct, frozen=True):
    """One rule in words."""

    rule: Rule
    answers: str
    then: str
    recipients: int
    times: int


def behaviour(script: Script, log: Log, problem: str = "") -> str:
    """The page; `problem` says why the last change was not taken."""
    known = {weather.provider: weather for weather in script.weather}
    skies = [_sky(name, known.get(name), script, log) for name in says.NAMES]
    rules = [_shown(rule, script) for rule in reversed(script.rules)]
    bad = [sky for sky in skies if sky.said]
    return page("behaviour.html", skies=skies, bad=bad, rules=rules, sentence=sentence(bad, rules), problem=problem)


def sentence(bad: list[Sky], rules: list[Shown]) -> str:
    """The state, for the top of the page."""
    said = [f"{says.NAMES[s.provider]} {s.said} since {s.since[11:16]}{_struck(s.struck)}." for s in bad]
    words = said or ["Every provider takes everything at once."]
    if rules:
        words.append(f"{len(rules)} rule{'' if len(rules) == 1 else 's'} for single recipients.")
    return " ".join(words)


def _struck(number: int) -> str:
    if not number:
        return ""
    return "; 1 call went wrong" if number == 1 else f"; {number:,} calls went wrong"


def _sky(provider: str, weather: Weather | None, script: Script, log: Log) -> Sky:
    counts = (log.by_provider[provider, event] for event in ("accepted", "refused", "dropped"))
    if weather is None:
        return Sky(provider, Weather(provider), "", "", 0, *counts)
    since = datetime.fromtimestamp(script.since[provider], UTC).isoformat(timespec="seconds").replace("+00:00", "Z")
    return Sky(provider, weather, _said(weather), since, script.struck[provider], *counts)


def _said(weather: Weather) -> str:
    parts = []
    if weather.refused:
        parts.append(f"answers {weather.code}" + ("" if weather.refused == 1 else f" to {weather.refused:.0%}"))
    for share, word in ((weather.dropped, "drops"), (weather.reset, "resets"), (weather.hung, "never answers")):
        if share:
            parts.append(f"{word} {share:.0%}" if share < 1 else f"{word} everything")
    if weather.latency_s:
        parts.append(f"takes {weather.latency_s:g} s for an answer")
    return ", ".join(parts)


def _shown(rule: Rule, script: Script) -> Shown:
    recipients, times = script.begun(rule)
    runs = [(words, len([*same])) for words, same in groupby(map(_answer, rule.answers))]
    answers = ", then ".join(f"{words} {n} times" if n > 1 else words for words, n in runs) or "takes it"
    return Shown(rule, answers, ", ".join(rule.then or ()), recipients, times)


def _answer(reply: Reply) -> str:
    wait = f" after {reply.seconds:g} s" if reply.seconds else ""
    return (f"{reply.code}" if reply.stage in ("rcpt", "data") else reply.stage) + wait
