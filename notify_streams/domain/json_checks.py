"""What JSON we take: its depth, its numbers, and where in it something is wrong."""

import json
import re
from typing import Any

import msgspec

# Possessive, and content without a closing quote: each byte is looked at once, whatever the quotes are like.
_STRINGS = re.compile(rb'"(?:[^"\\]|\\.)*+"?+', re.DOTALL)
_SURROGATE = re.compile("[\ud800-\udfff]")
_BRACKETS = re.compile(rb"[\[\]{}]")
_DIGITS = re.compile(rb"\d+")
_MAX_DIGITS, _DIGITS_OF_A_DOUBLE = 1000, 309
_decode = msgspec.json.Decoder().decode


class _Bad(str):
    """Stands for a token that JSON does not have, or that we do not take."""


class BadJson(ValueError):
    """`path` says where (as in `$.data.payload.amount`), `reason` what."""

    def __init__(self, path: str, reason: str) -> None:
        super().__init__(f"{path}: {reason}")
        self.path, self.reason = path, reason


def depth_of(text: bytes, enough: int) -> int:
    """How deeply it is nested; exact only beyond `enough`. Works on any bytes, well-formed or not."""
    brackets = text.count(b"{") + text.count(b"[")
    if brackets <= enough:
        return brackets
    depth = deepest = 0
    for bracket in _BRACKETS.finditer(_STRINGS.sub(b"", text)):
        depth += 1 if bracket[0] in b"{[" else -1
        deepest = max(deepest, depth)
    return deepest


def decoded(text: bytes, path: str = "$") -> Any:
    """The value, numbers exact. Raises BadJson for what is no JSON, or has numbers that no double can hold.

    Check `depth_of` first: the recursion limit differs between Python versions.
    """
    try:
        value = _decode(text)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise BadJson(*(_located(text, path) or (path, str(error)))) from error
    if len(text) > _DIGITS_OF_A_DOUBLE and any(len(run[0]) >= _DIGITS_OF_A_DOUBLE for run in _DIGITS.finditer(text)):
        bad = _located(text, path)  # our decoder takes integers of any size, those of others do not
        if bad is not None:
            raise BadJson(*bad)
    return value


def _located(text: bytes, path: str) -> tuple[str, str] | None:
    """Read it again, slowly and leniently, to name the field."""
    try:
        lenient = json.loads(text, parse_constant=_constant, parse_float=_float, parse_int=_int)
    except (ValueError, RecursionError):
        return None
    return _first_bad(lenient, path)


def _constant(token: str) -> _Bad:
    return _Bad(f"{token} is no JSON number")


def _float(token: str) -> float | _Bad:
    value = float(token)
    return value if abs(value) != float("inf") else _Bad(f"number {token[:40]} is out of range")


def _int(token: str) -> int | _Bad:
    if len(token) > _MAX_DIGITS:
        return _Bad(f"a number of {len(token)} digits is out of range")
    return int(token) if abs(float(token)) != float("inf") else _Bad(f"number {token[:40]} is out of range")


def _first_bad(value: Any, path: str) -> tuple[str, str] | None:
    if isinstance(value, _Bad):
        return path, str(value)
    if isinstance(value, str) and _SURROGATE.search(value):
        return path, "half of a surrogate pair is no text"
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in inner:
        if isinstance(key, str) and _SURROGATE.search(key):
            return path, "half of a surrogate pair is no text"
        step = f"[{key}]" if isinstance(key, int) else f".{key}"
        found = _first_bad(item, path + step)
        if found is not None:
            return found
    return None
