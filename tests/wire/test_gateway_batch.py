"""Many events in one request."""

import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from notify_streams.settings import Limits
from tests.wire.gateway_parts import Bench, a_bench, an_event

PATH = "/v1/events/batch"


@pytest.fixture
async def bench(tmp_path: Path) -> AsyncIterator[Bench]:
    async with a_bench(tmp_path) as bench:
        yield bench


def events(*ids: str, **fields: Any) -> list[dict[str, Any]]:
    return [an_event(id=id_, **fields) for id_ in ids]


async def post(bench: Bench, body: Any, **fields: Any) -> tuple[int, Any]:
    return await bench.json("POST", PATH, json=body, headers=bench.key(**fields))


def published(bench: Bench) -> list[str]:
    return [json.loads(value)["id"] for _, _, value, _ in bench.orchestrator.published]


async def test_each_event_has_its_result_and_a_bad_one_harms_no_other(bench: Bench) -> None:
    unknown = an_event(id="b", type="no.such")
    status, results = await post(bench, [*events("a"), unknown, 7, *events("c")])
    assert (status, [one["status"] for one in results]) == (207, [202, 422, 422, 202])
    assert [one.get("event_id") for one in results] == ["a", None, None, "c"]
    assert len(results[0]["notifications"]) == 1
    assert results[1]["errors"][0]["pointer"] == "/type"
    assert published(bench) == ["a", "c"]


async def test_the_answers_are_those_of_the_single_route(bench: Bench) -> None:
    key = bench.key()
    _, single = await bench.json("POST", "/v1/events", json=an_event(id="a"), headers=key)
    _, [replayed] = await bench.json("POST", PATH, json=events("a"), headers=key)
    assert replayed == {"status": 202, **single, "replayed": True}
    assert published(bench) == ["a"]
    _, [fresh] = await bench.json("POST", PATH, json=events("b"), headers=key)
    async with bench.client.post("/v1/events", json=an_event(id="b"), headers=key) as response:
        assert response.headers["Idempotency-Replayed"] == "true"
        assert await response.json() == {name: fresh[name] for name in ("event_id", "notifications")}


async def test_the_short_form_has_its_id_in_a_member(bench: Bench) -> None:
    short = {"type": "order.confirmed", "recipients": ["ann"], "payload": {"order": "1"}}
    key = bench.key(name="shop")
    status, results = await bench.json("POST", PATH, json=[short | {"idempotency_key": "k1"}, short], headers=key)
    assert (status, [one["status"] for one in results]) == (207, [202, 400])
    assert (results[0]["event_id"], results[1]["code"]) == ("k1", "idempotency_key_required")
    (record,) = bench.orchestrator.published
    assert json.loads(record[2])["source"] == "/keys/shop"
    assert "idempotency_key" not in json.loads(record[2])["data"]


async def test_the_same_event_twice_counts_once_and_another_under_its_id_is_refused(bench: Bench) -> None:
    other = an_event(id="a", data={"recipients": ["bob"], "payload": {"order": "2"}})
    _, results = await post(bench, [*events("a", "a"), other])
    assert [one["status"] for one in results] == [202, 202, 422]
    assert results[2]["code"] == "idempotency_key_reused"
    assert published(bench) == ["a"]


async def test_what_the_broker_did_not_confirm_may_be_repeated(bench: Bench) -> None:
    bob = an_event(id="b", data={"recipients": ["bob"], "payload": {"order": "2"}})
    key, bench.orchestrator.lost = bench.key(), frozenset({b"bob"})
    _, results = await bench.json("POST", PATH, json=[*events("a"), bob], headers=key)
    assert [one["status"] for one in results] == [202, 503]
    bench.orchestrator.lost = frozenset()
    _, results = await bench.json("POST", PATH, json=[*events("a"), bob], headers=key)
    assert [(one["status"], one.get("replayed", False)) for one in results] == [(202, True), (202, False)]


async def test_the_broker_away_is_said_of_each(bench: Bench) -> None:
    bench.orchestrator.away = True
    status, results = await post(bench, events("a", "b"))
    assert (status, {(one["status"], one["code"]) for one in results}) == (207, {(503, "unavailable")})


async def test_without_redis_events_are_taken_unchecked(bench: Bench) -> None:
    bench.ledger.away = True
    async with bench.client.post(PATH, json=events("a"), headers=bench.key()) as response:
        assert (response.status, response.headers["Idempotency-Checked"]) == (207, "false")
        assert (await response.json())[0]["status"] == 202


async def test_a_key_says_only_what_it_may(bench: Bench) -> None:
    _, results = await post(bench, events("a"), sources=("/other/*",))
    assert (results[0]["status"], results[0]["code"]) == (403, "source_not_allowed")
    assert (await bench.json("POST", PATH, json=events("a")))[0] == 401
    assert (await bench.json("POST", PATH, json=events("a"), headers=bench.user("ann")))[0] == 403


async def test_a_thousand_fit_and_one_more_does_not(bench: Bench) -> None:
    key = bench.key(rate=5000)
    status, results = await bench.json("POST", PATH, json=events(*map(str, range(1000))), headers=key)
    assert (status, len(results), {one["status"] for one in results}) == (207, 1000, {202})
    assert (await bench.json("POST", PATH, json=events(*map(str, range(1001))), headers=key))[0] == 422
    assert (await bench.json("POST", PATH, json=[], headers=key))[0] == 422


async def test_each_event_counts_against_the_rate_of_its_key(bench: Bench) -> None:
    key = bench.key(rate=10)
    assert (await bench.json("POST", PATH, json=events(*"abcdef"), headers=key))[0] == 207
    status, problem = await bench.json("POST", PATH, json=events(*"ghijkl"), headers=key)
    assert (status, problem["code"]) == (429, "rate_limited")
    assert published(bench) == list("abcdef")


@pytest.mark.parametrize(
    ("body", "status", "code"),
    [
        (b"{}", 422, "invalid_body"),
        (b"7", 422, "invalid_body"),
        (b"[", 400, "invalid_json"),
        (b'[{"a":1},]', 400, "invalid_json"),
        (b"\xff\xfe", 400, "invalid_json"),
        (b"", 400, "invalid_json"),
        (b"[" * 100_000, 400, None),
    ],
)
async def test_what_is_no_list_of_events_is_refused_as_a_whole(
    bench: Bench, body: bytes, status: int, code: str | None
) -> None:
    headers = bench.key() | {"Content-Type": "application/json"}
    found, problem = await bench.json("POST", PATH, data=body, headers=headers)
    assert found == status
    assert code is None or problem["code"] == code
    assert published(bench) == []


async def test_other_types_and_larger_bodies_are_refused(tmp_path: Path) -> None:
    async with a_bench(tmp_path, limits=Limits(batch_bytes=2000)) as bench:
        text = bench.key() | {"Content-Type": "text/plain"}
        assert (await bench.json("POST", PATH, data=b"[]", headers=text))[0] == 415
        assert (await post(bench, events(*map(str, range(50)))))[0] == 413
        batch = bench.key() | {"Content-Type": "application/cloudevents-batch+json"}
        assert (await bench.json("POST", PATH, data=json.dumps(events("a")), headers=batch))[0] == 207
