"""When chaos under open streams went well, and what its clients take for a fault."""

from typing import Any

import pytest
from msgspec.structs import replace
from rich.console import Console

from tests.chaos.gateway import Act, Found, Plan, show
from tests.chaos.stream_clients import Heard, Listener

WELL = Found(
    plan=Plan(),
    acts=[Act("killed", 600, 200, 3.0)],
    items=10,
    told=10,
    faults=[],
    behind=0,
    resets=0,
    refused={},
    ended={},
)


def test_all_told_once_and_everybody_back_is_well() -> None:
    assert WELL.ok
    assert show(WELL, Console(quiet=True)) == 0


@pytest.mark.parametrize(
    "change",
    [
        {"told": 9},
        {"told": 11},
        {"faults": ["item 3 after 1"]},
        {"behind": 1},
        {"resets": 1},
        {"acts": [Act("stopped", 600, 200, None)]},
    ],
)
def test_anything_else_is_not(change: dict[str, Any]) -> None:
    found = replace(WELL, **change)
    assert not found.ok
    assert show(found, Console(quiet=True)) == 1


def test_a_client_takes_a_gap_a_repeat_and_a_wrong_hello_for_faults() -> None:
    heard = Heard()
    listener = Listener("", "ann", heard)
    for kind, sequence in (("hello", 0), ("item", 1), ("item", 1), ("item", 3), ("hello", 2), ("item", 4)):
        listener._take(kind, sequence)
    assert heard.faults == ["item 1 after 1", "item 3 after 1", "hello 2 after 3"]
    assert heard.told == 2
