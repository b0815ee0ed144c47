"""Depth, numbers and places in JSON."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from notify_streams.domain.json_checks import BadJson, decoded, depth_of

SCALARS = st.none() | st.booleans() | st.integers(-(2**63), 2**64) | st.floats(allow_nan=False, allow_infinity=False)
TEXT = st.text(st.characters(exclude_categories=["Cs"]))
VALUES = st.recursive(
    SCALARS | TEXT | st.text('[]{}"\\'),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXT | st.text('[{"\\'), inner, max_size=4),
    max_leaves=20,
)


def real_depth(value: Any) -> int:
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else None
    return 0 if inner is None else 1 + max(map(real_depth, inner), default=0)


def fault_of(text: bytes, path: str = "$") -> BadJson | None:
    try:
        decoded(text, path)
    except BadJson as bad:
        return bad
    return None


@given(VALUES)
def test_the_depth_of_well_formed_json_is_exact_whatever_its_strings_hold(value: Any) -> None:
    assert depth_of(json.dumps(value).encode(), 0) == real_depth(value)


@given(VALUES, st.integers(0, 10))
def test_where_few_brackets_are_enough_their_number_bounds_the_depth(value: Any, enough: int) -> None:
    depth = depth_of(json.dumps(value).encode(), enough)
    assert (depth > enough) == (real_depth(value) > enough)


@given(st.binary(max_size=60) | st.text('[]{}"\\ x').map(str.encode))
def test_any_bytes_have_a_depth(text: bytes) -> None:
    assert depth_of(text, 0) >= 0


@given(VALUES)
def test_well_formed_json_is_decoded_as_it_was(value: Any) -> None:
    assert decoded(json.dumps(value).encode()) == value


@given(st.binary(max_size=60))
def test_any_other_bytes_are_bad_json_with_a_place(text: bytes) -> None:
    bad = fault_of(text, "$.data")
    assert bad is None or (bad.path.startswith("$.data") and str(bad) == f"{bad.path}: {bad.reason}")


@pytest.mark.parametrize(
    ("text", "path", "reason"),
    [
        (b"NaN", "$", "NaN is no JSON number"),
        (b'{"a":[0,{"b":-Infinity}]}', "$.a[1].b", "-Infinity is no JSON number"),
        (b'{"a":1e999}', "$.a", "number 1e999 is out of range"),
        (b'{"a":' + b"9" * 400 + b"}", "$.a", f"number {'9' * 40} is out of range"),
        (b'["\\ud800"]', "$[0]", "half of a surrogate pair is no text"),
    ],
)
def test_what_is_wrong_is_found_where_it_stands(text: bytes, path: str, reason: str) -> None:
    """KAF-06"""
    bad = fault_of(text)
    assert bad is not None
    assert (bad.path, bad.reason) == (path, reason)


@pytest.mark.parametrize("number", [2**53 + 1, 2**64, 10**300, -(10**300)])
def test_integers_are_exact(number: int) -> None:
    """KAF-07"""
    assert decoded(str(number).encode()) == number


def test_digits_in_a_string_are_no_number() -> None:
    assert decoded(b'{"serial":"' + b"9" * 5000 + b'"}') == {"serial": "9" * 5000}
