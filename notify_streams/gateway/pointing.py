"""Where in a body something is of the wrong type: msgspec leaves out the keys of maps, a caller wants to see them."""

import re
from collections.abc import Sequence
from typing import Any

import msgspec

from notify_streams.domain.checks import pointer

_AT = re.compile(r"^(?P<reason>.*) - at (?P<key>`key` in )?`(?P<path>[^`]*)`$", re.DOTALL)
_STEP = re.compile(r"\.([^.\[]+)|\[(\d+)\]|\[\.\.\.\]")
_MISSING = re.compile(r"Object missing required field `([^`]+)`")
_TIME = re.compile(r"Expected `str` (matching regex .*24:00|of length <= 5$)")  # nothing else has five characters
_MOST_WORDS = 200
_MOST_KEYS = 64  # of a map are tried; beyond that the pointer has an asterisk

Step = str | int


def why_not(plain: Any, type_: Any, words: str) -> tuple[str, str]:
    """JSON pointer and reason of what msgspec said of this value for this type."""
    match = _AT.match(words)
    if match is None:
        missing = _MISSING.match(words)
        return (pointer(missing[1]), "required") if missing else ("", _told(words))
    places: list[Step | None] = [
        name or (int(index) if index else None) for name, index in _STEP.findall(match["path"])
    ]
    if match["key"]:
        places.append(None)
    steps = [str(step) for step in _found(plain, type_, words, places)]
    missing = _MISSING.match(match["reason"])
    if missing is not None:
        return pointer(*steps, missing[1]), "required"
    return pointer(*steps), _told(match["reason"])


def _told(reason: str) -> str:
    if _TIME.match(reason):
        return "a time of day is HH:MM"
    told = reason if len(reason) <= _MOST_WORDS else reason[:_MOST_WORDS] + "…"  # it repeats what was sent
    return told[:1].lower() + told[1:]


def _found(plain: Any, type_: Any, words: str, places: Sequence[Step | None]) -> list[Step]:
    """The steps, those through maps by trying: the one with which alone the same is said."""
    steps: list[Step] = []
    value = plain
    for place in places:
        if place is None:
            place = _culprit(plain, type_, words, steps, value)
        if place is None:
            return [*steps, *("*" if step is None else step for step in places[len(steps) :])]
        steps.append(place)
        value = value[place]
    return steps


def _culprit(plain: Any, type_: Any, words: str, steps: Sequence[Step], value: dict[str, Any]) -> str | None:
    for key in list(value)[:_MOST_KEYS]:
        try:
            msgspec.convert(_with(plain, steps, {key: value[key]}), type_)
        except msgspec.ValidationError as error:
            if str(error) == words:
                return key
    return None


def _with(plain: Any, steps: Sequence[Step], value: Any) -> Any:
    """A copy with this value at that place."""
    if not steps:
        return value
    copy = plain.copy()
    copy[steps[0]] = _with(plain[steps[0]], steps[1:], value)
    return copy
