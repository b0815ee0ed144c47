"""Cancelling over HTTP: who may, what is published, what is answered."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from notify_streams.domain.ids import notification_id
from schemas.commands import CancelV1, decode_command
from tests.facts import a_decision
from tests.wire.gateway_parts import Bench, a_bench, an_event

KNOWN = notification_id("/shop/orders", "order-1", None, "ann")
PATH = f"/v1/notifications/{KNOWN}"
BODY = {"source": "/shop/orders", "collapse_key": "order-1", "user_id": "ann"}


@pytest.fixture
async def bench(tmp_path: Path) -> AsyncIterator[Bench]:
    async with a_bench(tmp_path) as bench:
        yield bench


def recorded(bench: Bench) -> None:
    bench.store.known[KNOWN] = [a_decision(notification_id=KNOWN, source="/shop/orders", user_id="ann")]


def commands(bench: Bench) -> list[tuple[bytes, CancelV1]]:
    """Users and commands that were published."""
    found = [(key, decode_command(value)) for topic, key, value, _ in bench.orchestrator.published if "user" in topic]
    return [(key, command) for key, command in found if isinstance(command, CancelV1)]


def pointers(problem: Any) -> list[str]:
    return [error["pointer"] for error in problem["errors"]]


async def test_a_recorded_one_is_cancelled_and_the_answer_says_where_to_look(bench: Bench) -> None:
    recorded(bench)
    async with bench.client.delete(PATH, headers=bench.key(name="shop")) as response:
        body = await response.json()
        assert (response.status, response.headers["Location"]) == (202, PATH)
    [(user, command)] = commands(bench)
    assert user == b"ann"
    assert command == CancelV1(command_id=body["command_id"], by="/keys/shop", notification_id=KNOWN)
    assert (body["status"], body["see"]) == ("pending", PATH)


async def test_one_that_was_just_accepted_is_found_by_its_mark(bench: Bench) -> None:
    key = bench.key(sources=("/shop/*",))
    await bench.json("POST", "/v1/events", json=an_event(), headers=key)
    bench.store.away = True
    assert (await bench.json("DELETE", PATH, headers=key))[0] == 202
    assert [user for user, _ in commands(bench)] == [b"ann"]


async def test_one_of_another_source_does_not_exist(bench: Bench) -> None:
    recorded(bench)
    bank = bench.key(sources=("/bank",))
    for query in ("", "?user_id=ann", "?user_id=ann&source=/shop/orders&event_id=order-1"):
        assert (await bench.json("DELETE", PATH + query, headers=bank))[0] == 404
    assert commands(bench) == []


async def test_an_unknown_one_needs_its_user(bench: Bench) -> None:
    key = bench.key()
    status, problem = await bench.json("DELETE", PATH, headers=key)
    assert status == 404
    assert "give user_id" in problem["detail"]
    assert (await bench.json("DELETE", f"{PATH}?user_id=ann", headers=key))[0] == 202
    assert [user for user, _ in commands(bench)] == [b"ann"]


async def test_an_unknown_one_is_cancelled_with_a_key_for_some_sources_by_showing_whose_it_is(bench: Bench) -> None:
    key = bench.key(sources=("/shop/*",))
    status, problem = await bench.json("DELETE", f"{PATH}?user_id=ann", headers=key)
    assert status == 404
    assert "source and event_id" in problem["detail"]
    shown = "user_id=ann&source=/shop/orders&event_id=order-1"
    assert (await bench.json("DELETE", f"{PATH}?{shown}", headers=key))[0] == 202
    deduplicated = notification_id("/shop/orders", "any", "once", "ann")
    query = "user_id=ann&source=/shop/orders&dedupe_key=once"
    assert (await bench.json("DELETE", f"/v1/notifications/{deduplicated}?{query}", headers=key))[0] == 202
    assert [command.notification_id for _, command in commands(bench)] == [KNOWN, deduplicated]
    assert (await bench.json("DELETE", f"{PATH}?{shown}", headers=bench.key(sources=("/bank",))))[0] == 404


@pytest.mark.parametrize(
    ("query", "pointer"),
    [
        ("user_id=", "/user_id"),
        ("user_id=a%00b", "/user_id"),
        ("user_id=ben", "/user_id"),
        ("source=/shop/orders&event_id=order-1", "/user_id"),
        ("user_id=ann&event_id=order-1", "/source"),
        ("user_id=ann&source=/shop/orders", "/event_id"),
        ("user_id=ann&source=/shop/orders&event_id=order-2", "/event_id"),
        ("user_id=ann&source=/shop/orders&dedupe_key=x", "/dedupe_key"),
    ],
)
async def test_parameters_that_do_not_fit_are_named(bench: Bench, query: str, pointer: str) -> None:
    recorded(bench)
    status, problem = await bench.json("DELETE", f"{PATH}?{query}", headers=bench.key())
    assert (status, problem["code"], pointers(problem)) == (400, "invalid_parameter", [pointer])
    assert commands(bench) == []


async def test_with_cassandra_away_only_those_who_need_no_proof_go_on(bench: Bench) -> None:
    bench.store.away = True
    some = bench.key(sources=("/shop/*",))
    assert (await bench.json("DELETE", f"{PATH}?user_id=ann", headers=some))[0] == 503
    assert (await bench.json("DELETE", PATH, headers=bench.key("operator")))[0] == 503
    assert (await bench.json("DELETE", f"{PATH}?user_id=ann", headers=bench.key("operator")))[0] == 202
    shown = "user_id=ann&source=/shop/orders&event_id=order-1"
    assert (await bench.json("DELETE", f"{PATH}?{shown}", headers=some))[0] == 202


async def test_by_collapse_key_it_is_the_newest_of_an_own_source(bench: Bench) -> None:
    key = bench.key(sources=("/shop/*",), name="shop")
    status, body = await bench.json("POST", "/v1/cancel", json=BODY, headers=key)
    assert (status, body["see"]) == (202, "/v1/notifications/{notification_id}")
    [(user, command)] = commands(bench)
    assert user == b"ann"
    assert (command.source, command.collapse_key, command.by) == ("/shop/orders", "order-1", "/keys/shop")
    status, problem = await bench.json("POST", "/v1/cancel", json={**BODY, "source": "/bank"}, headers=key)
    assert (status, problem["code"]) == (403, "source_not_allowed")


@pytest.mark.parametrize(
    ("changes", "pointer"),
    [
        ({"source": ""}, "/source"),
        ({"source": None}, "/source"),
        ({"collapse_key": ""}, "/collapse_key"),
        ({"collapse_key": msgspec.UNSET}, "/collapse_key"),
        ({"collapse_key": "x" * 513}, "/collapse_key"),
        ({"collapse_key": "é" * 257}, "/collapse_key"),
        ({"user_id": ""}, "/user_id"),
        ({"user_id": 7}, "/user_id"),
        ({"user_id": "x" * 129}, "/user_id"),
    ],
)
async def test_a_body_that_names_nothing_is_refused(bench: Bench, changes: dict[str, Any], pointer: str) -> None:
    body = {name: value for name, value in {**BODY, **changes}.items() if value is not msgspec.UNSET}
    status, problem = await bench.json("POST", "/v1/cancel", json=body, headers=bench.key())
    assert (status, pointers(problem)) == (422, [pointer])
    assert commands(bench) == []


async def test_users_and_services_cancel_nothing(bench: Bench) -> None:
    recorded(bench)
    for headers in (bench.user("ann"), bench.key("service")):
        assert (await bench.json("DELETE", PATH, headers=headers))[0] == 403
        assert (await bench.json("POST", "/v1/cancel", json=BODY, headers=headers))[0] == 403


async def test_cancelling_counts_against_the_rate_of_the_key(bench: Bench) -> None:
    recorded(bench)
    key = bench.key(rate=1)
    assert (await bench.json("POST", "/v1/cancel", json=BODY, headers=key))[0] == 202
    async with bench.client.delete(PATH, headers=key) as response:
        assert (response.status, response.headers["Retry-After"]) == (429, "1")


async def test_what_is_not_on_the_log_is_not_confirmed(bench: Bench) -> None:
    recorded(bench)
    bench.orchestrator.away = True
    assert (await bench.json("DELETE", PATH, headers=bench.key()))[0] == 503
    assert (await bench.json("POST", "/v1/cancel", json=BODY, headers=bench.key()))[0] == 503


async def test_both_are_in_the_description(bench: Bench) -> None:
    _, document = await bench.json("GET", "/openapi.json")
    delete = document["paths"]["/v1/notifications/{notification_id}"]["delete"]
    assert {p["name"] for p in delete["parameters"]} == {
        *("notification_id", "user_id", "source", "event_id", "dedupe_key")
    }
    assert {"202", "404", "429"} <= delete["responses"].keys()
    assert "requestBody" in document["paths"]["/v1/cancel"]["post"]
