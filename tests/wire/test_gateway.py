"""The gateway over HTTP, on parts in memory."""

import asyncio
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from notify_streams.domain import ids
from notify_streams.settings import Limits
from schemas.profiles import ProfileV1
from tests.wire.gateway_parts import Bench, a_bench, an_event

CE = {"Content-Type": "application/cloudevents+json"}


@pytest.fixture
async def bench(tmp_path: Path) -> AsyncIterator[Bench]:
    async with a_bench(tmp_path) as bench:
        yield bench


async def post(bench: Bench, body: Any, **headers: str) -> tuple[int, Any]:
    data = body if isinstance(body, bytes) else json.dumps(body).encode()
    return await bench.json("POST", "/v1/events", data=data, headers={**CE, **headers})


def pointers(problem: Any) -> list[str]:
    return [error["pointer"] for error in problem["errors"]]


async def test_a_structured_event_is_in_the_log_before_the_202(bench: Bench) -> None:
    status, answer = await post(bench, an_event(), **bench.key())
    id_ = ids.notification_id("/shop/orders", "order-1", None, "ann")
    assert (status, answer) == (
        202,
        {"event_id": "order-1", "notifications": [{"user_id": "ann", "notification_id": id_}]},
    )
    ((topic, key, value, headers),) = bench.orchestrator.published
    assert (topic, key, json.loads(value)) == ("events.normal", b"ann", an_event())
    assert dict(headers)["content-type"] == b"application/cloudevents+json"


async def test_a_binary_event_gives_the_same_ids(bench: Bench) -> None:
    headers = {"ce-specversion": "1.0", "ce-id": "order-1", "ce-source": "/shop/orders", "ce-type": "order.confirmed"}
    body = an_event()["data"]
    status, answer = await bench.json("POST", "/v1/events", json=body, headers={**headers, **bench.key()})
    assert status == 202
    assert answer["notifications"][0]["notification_id"] == ids.notification_id("/shop/orders", "order-1", None, "ann")
    assert dict(bench.orchestrator.published[0][3])["ce_source"] == b"/shop/orders"


async def test_the_short_form_is_an_event_of_the_keys_own_source(bench: Bench) -> None:
    body = {"type": "order.confirmed", "recipients": ["ann", "bob"], "payload": {"order": "1"}, "priority": "low"}
    key = bench.key(name="shop")
    status, answer = await bench.json("POST", "/v1/events", json=body, headers={**key, "Idempotency-Key": "k-1"})
    assert status == 202
    assert answer["event_id"] == "k-1"
    assert [n["notification_id"] for n in answer["notifications"]] == [
        ids.notification_id("/keys/shop", "k-1", None, user) for user in ("ann", "bob")
    ]
    topic, _, value, _ = bench.orchestrator.published[0]
    assert topic == "events.low"
    assert json.loads(value)["data"] == {k: body[k] for k in ("recipients", "payload", "priority")}


async def test_the_short_form_needs_an_idempotency_key(bench: Bench) -> None:
    body = {"type": "order.confirmed", "recipients": ["ann"], "payload": {"order": "1"}}
    status, problem = await bench.json("POST", "/v1/events", json=body, headers=bench.key())
    assert (status, problem["code"]) == (400, "idempotency_key_required")


async def test_a_cloudevent_sent_as_plain_json_is_one(bench: Bench) -> None:
    status, _ = await bench.json("POST", "/v1/events", json=an_event(), headers=bench.key())
    assert status == 202


async def test_header_and_event_id_must_agree(bench: Bench) -> None:
    key = bench.key()
    assert (await post(bench, an_event(), **key, **{"Idempotency-Key": "order-1"}))[0] == 202
    status, problem = await post(bench, an_event(id="other"), **key, **{"Idempotency-Key": "order-1"})
    assert (status, problem["code"]) == (400, "idempotency_key_mismatch")


@pytest.mark.parametrize(
    ("type_", "priority", "lane"),
    [("auth.otp", None, "high"), ("auth.otp", "low", "low"), ("marketing.campaign", "high", "low")],
)
async def test_the_lane_is_the_lowest_asked_for(bench: Bench, type_: str, priority: str | None, lane: str) -> None:
    event = an_event(type=type_)
    event["data"]["priority"] = priority
    await post(bench, event, **bench.key())
    assert bench.orchestrator.published[0][0] == f"events.{lane}"


async def test_a_repeat_gets_the_same_answer_and_is_not_published_again(bench: Bench) -> None:
    """IDM-01, the late repeat."""
    key = bench.key()
    first = await post(bench, an_event(), **key)
    async with bench.client.post("/v1/events", json=an_event(), headers={**key, **CE}) as response:
        assert (response.status, await response.json()) == first
        assert response.headers["Idempotency-Replayed"] == "true"
    assert len(bench.orchestrator.published) == 1


async def test_fifty_at_once_are_one_event(bench: Bench) -> None:
    """IDM-01."""
    key = bench.key()
    bench.orchestrator.hold = asyncio.Event()
    asyncio.get_running_loop().call_later(0.2, bench.orchestrator.hold.set)
    answers = await asyncio.gather(*(post(bench, an_event(), **key) for _ in range(50)))
    assert {status for status, _ in answers} == {202}
    assert len({json.dumps(body) for _, body in answers}) == 1
    assert len(bench.orchestrator.published) == 1


async def test_one_that_is_under_way_for_two_seconds_is_a_409(bench: Bench) -> None:
    key = bench.key()
    bench.orchestrator.hold = asyncio.Event()
    first = asyncio.create_task(post(bench, an_event(), **key))
    await asyncio.sleep(0.05)
    status, problem = await post(bench, an_event(), **key)
    assert (status, problem["code"]) == (409, "in_progress")
    bench.orchestrator.hold.set()
    assert (await first)[0] == 202


async def test_the_same_key_with_another_body_is_refused(bench: Bench) -> None:
    key = bench.key()
    await post(bench, an_event(), **key)
    status, problem = await post(bench, an_event(type="auth.otp"), **key)
    assert (status, problem["code"]) == (422, "idempotency_key_reused")
    assert len(bench.orchestrator.published) == 1


async def test_with_redis_away_events_are_accepted_unchecked(bench: Bench) -> None:
    bench.ledger.away = True
    async with bench.client.post("/v1/events", json=an_event(), headers={**bench.key(), **CE}) as response:
        assert (response.status, response.headers["Idempotency-Checked"]) == (202, "false")


async def test_with_the_broker_away_it_is_a_503_and_the_key_can_be_used_again(bench: Bench) -> None:
    key = bench.key()
    bench.orchestrator.away = True
    async with bench.client.post("/v1/events", json=an_event(), headers={**key, **CE}) as response:
        assert (response.status, response.headers["Retry-After"]) == (503, "2")
        assert response.content_type == "application/problem+json"
    bench.orchestrator.away = False
    assert (await post(bench, an_event(), **key))[0] == 202


@pytest.mark.parametrize(
    ("payload", "pointer"),
    [
        (b'{"order":"1","amount":NaN}', "/data/payload/amount"),
        (b'{"order":"1","amount":Infinity}', "/data/payload/amount"),
        (b'{"order":"1","amount":-Infinity}', "/data/payload/amount"),
        (b'{"order":"1","amount":1e400}', "/data/payload/amount"),
        (b'{"order":"1","n":' + b"9" * 5000 + b"}", "/data/payload/n"),
    ],
)
async def test_numbers_that_json_does_not_have_are_a_400_that_names_them(
    bench: Bench, payload: bytes, pointer: str
) -> None:
    """KAF-06, KAF-07."""
    body = json.dumps(an_event()).encode().replace(b'{"order": "1"}', payload)
    status, problem = await post(bench, body, **bench.key())
    assert (status, pointers(problem)) == (400, [pointer])
    assert bench.orchestrator.published == []


async def test_numbers_beyond_a_double_go_through_digit_for_digit(bench: Bench) -> None:
    """KAF-07."""
    payload = b'{"order":9007199254740993,"n":18446744073709551616,"amount":0.1}'
    body = json.dumps(an_event()).encode().replace(b'{"order": "1"}', payload)
    assert (await post(bench, body, **bench.key()))[0] == 202
    assert payload in bench.orchestrator.published[0][2]


@pytest.mark.parametrize("levels", [90, 110, 20_000])
async def test_deep_nesting_is_a_400_in_every_form(bench: Bench, levels: int) -> None:
    """SEC-10."""
    deep = b"[" * levels + b"]" * levels
    structured = json.dumps(an_event()).encode().replace(b'"1"', deep)
    short = b'{"type":"order.confirmed","recipients":["ann"],"payload":{"order":' + deep + b"}}"
    key = bench.key()
    plain = {"Content-Type": "application/json", "Idempotency-Key": "k"}
    for body, headers in ((structured, CE), (short, plain), (deep, plain)):
        status, problem = await bench.json("POST", "/v1/events", data=body, headers={**key, **headers})
        assert (status, problem["code"]) == (400, "too_deep")


@pytest.mark.parametrize(
    ("change", "pointer"),
    [
        ({"type": "no.such"}, "/type"),
        ({"time": "2026-11-30T10:00:00"}, "/time"),
        ({"id": ""}, "/id"),
        ({"data": {"recipients": [], "payload": {"order": "1"}}}, "/data/recipients"),
        ({"data": {"recipients": ["a", 7], "payload": {"order": "1"}}}, "/data/recipients/1"),
        ({"data": {"recipients": ["a"] * 1001, "payload": {"order": "1"}}}, "/data/recipients"),
        ({"data": {"recipients": ["a"], "payload": {}}}, "/data/payload/order"),
        ({"data": {"recipients": ["a"]}}, "/data/payload"),
    ],
)
async def test_what_is_wrong_is_a_422_that_points_at_it(bench: Bench, change: dict[str, Any], pointer: str) -> None:
    status, problem = await post(bench, an_event(**change), **bench.key())
    assert (status, pointers(problem)) == (422, [pointer])
    assert bench.orchestrator.published == []


async def test_in_the_short_form_pointers_are_into_the_short_form(bench: Bench) -> None:
    body = {"type": "order.confirmed", "recipients": ["a", 7], "payload": {"order": "1"}}
    status, problem = await bench.json("POST", "/v1/events", json=body, headers={**bench.key(), "Idempotency-Key": "k"})
    assert (status, pointers(problem)) == (422, ["/recipients/1"])


@pytest.mark.parametrize("body", [b"", b"{", b"\xff\xfe", b"[]", b"null", b'"x"', b"7"])
async def test_what_is_no_object_is_a_client_error(bench: Bench, body: bytes) -> None:
    for content_type in ("application/json", "application/cloudevents+json"):
        headers = {**bench.key(), "Content-Type": content_type, "Idempotency-Key": "k"}
        status, problem = await bench.json("POST", "/v1/events", data=body, headers=headers)
        assert status in (400, 422), problem


async def test_an_event_of_the_largest_size_is_taken_and_one_byte_more_is_a_413(tmp_path: Path) -> None:
    """KAF-14."""
    async with a_bench(tmp_path, limits=Limits(event_bytes=4096)) as bench:
        key = bench.key()
        for size, expected in ((4095, 202), (4096, 202), (4097, 413), (100_000, 413)):
            body = json.dumps(an_event(id=str(size)))
            body += " " * (size - len(body))
            status, answer = await post(bench, body.encode(), **key)
            assert (size, status) == (size, expected), answer
        short = {"type": "order.confirmed", "recipients": ["ann"], "payload": {"order": "x" * 4000}}
        status, problem = await bench.json("POST", "/v1/events", json=short, headers={**key, "Idempotency-Key": "k"})
        assert (status, problem["code"]) == (413, "event_too_large")


async def test_other_media_types_are_a_415(bench: Bench) -> None:
    headers = {**bench.key(), "Content-Type": "text/plain"}
    status, problem = await bench.json("POST", "/v1/events", data=b"x", headers=headers)
    assert (status, problem["code"]) == (415, "unsupported_media_type")


async def test_without_a_key_nothing_works(bench: Bench) -> None:
    for method, path in (
        ("POST", "/v1/events"),
        ("GET", "/v1/notifications/x"),
        ("GET", "/v1/users/ann/inbox"),
        ("PATCH", "/v1/users/ann/preferences"),
        ("GET", "/metrics"),
    ):
        for headers in ({}, {"Authorization": "Bearer nk_wrong"}, {"Authorization": "Basic YTpi"}):
            async with bench.client.request(method, path, headers=headers) as response:
                assert (path, response.status) == (path, 401)
                assert response.headers["WWW-Authenticate"].startswith("Bearer")


async def test_an_open_gateway_takes_whoever_shows_nothing_and_still_no_wrong_key(tmp_path: Path) -> None:
    async with a_bench(tmp_path, mode="open") as bench:
        assert (await post(bench, an_event()))[0] == 202
        assert (await bench.json("GET", "/v1/users/ann/inbox"))[0] == 200
        assert (await post(bench, an_event(), Authorization="Bearer nk_wrong"))[0] == 401


async def test_a_key_is_held_to_its_sources_and_types(bench: Bench) -> None:
    key = bench.key(sources=("/shop/*",), types=("order.*",))
    assert (await post(bench, an_event(), **key))[0] == 202
    status, problem = await post(bench, an_event(source="/bank"), **key)
    assert (status, problem["code"]) == (403, "source_not_allowed")
    status, problem = await post(bench, an_event(type="auth.otp"), **key)
    assert (status, problem["code"]) == (403, "type_not_allowed")


async def test_a_key_is_held_to_its_rate(bench: Bench) -> None:
    key = bench.key(rate=2)
    answers = [await post(bench, an_event(id=str(n)), **key) for n in range(3)]
    assert [status for status, _ in answers] == [202, 202, 429]


async def test_a_service_key_and_a_user_publish_nothing(bench: Bench) -> None:
    for headers in (bench.key("service"), bench.user("ann")):
        assert (await post(bench, an_event(), **headers))[0] == 403


async def test_a_user_reaches_nobody_else_and_cannot_tell_who_exists(bench: Bench) -> None:
    """SEC-03."""
    bench.store.recorded["bob"] = ProfileV1(version=1)
    ann, answers = bench.user("ann"), set()
    for user in ("bob", "nobody"):
        for method, path in (
            ("GET", "inbox"),
            ("GET", "inbox/counts"),
            ("GET", "preferences"),
            ("PATCH", "preferences"),
            ("PUT", "endpoints/email/home"),
            ("DELETE", "endpoints/email/home"),
        ):
            async with bench.client.request(method, f"/v1/users/{user}/{path}", headers=ann) as response:
                answers.add((response.status, await response.text()))
    assert len(answers) == 1
    assert {status for status, _ in answers} == {404}
    assert bench.orchestrator.published == []


@pytest.mark.parametrize(
    ("token", "code"),
    [
        ({"minutes": -1}, "token_expired"),
        ({"secret": "another secret of more than 32 bytes!"}, "token_invalid"),
        ({"nbf": 99_999_999_999}, "token_invalid"),
        ({"sub": 7}, "token_invalid"),
    ],
)
async def test_a_token_that_is_not_good_is_a_401(bench: Bench, token: dict[str, Any], code: str) -> None:
    status, problem = await bench.json("GET", "/v1/users/ann/inbox", headers=bench.user(**{"user_id": "ann"} | token))
    assert (status, problem["code"]) == (401, code)


async def test_a_token_without_expiry_or_signature_is_a_401(bench: Bench) -> None:
    unsigned = "eyJhbGciOiJub25lIn0.eyJzdWIiOiJhbm4iLCJleHAiOjk5OTk5OTk5OTk5fQ."
    endless = "eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9.eyJzdWIiOiJhbm4ifQ.AAAA"
    for token in (unsigned, endless, "x"):
        headers = {"Authorization": f"Bearer {token}"}
        assert (await bench.json("GET", "/v1/users/ann/inbox", headers=headers))[0] == 401


async def test_engines_that_are_away_make_it_unready_and_reads_a_503(bench: Bench) -> None:
    assert await bench.json("GET", "/readyz") == (200, {"ready": True, "engines": {"kafka": "ok", "cassandra": "ok"}})
    bench.store.away = True
    status, body = await bench.json("GET", "/readyz")
    assert (status, body["engines"]["cassandra"]) == (503, "does not answer")
    assert (await bench.json("GET", "/v1/users/ann/inbox", headers=bench.user("ann")))[0] == 503
    assert (await bench.json("GET", "/healthz"))[0] == 200


async def test_what_is_not_there_is_a_problem_too(bench: Bench) -> None:
    async with bench.client.get("/no/such") as response:
        assert (response.status, response.content_type) == (404, "application/problem+json")
        assert (await response.json())["code"] == "not_found"
    async with bench.client.delete("/v1/events") as response:
        assert (response.status, (await response.json())["code"]) == (405, "method_not_allowed")
        assert response.headers["Allow"] == "POST"


async def test_openapi_has_every_route_and_every_reference_resolves(bench: Bench) -> None:
    status, document = await bench.json("GET", "/openapi.json")
    assert status == 200
    served = {r.canonical for r in bench.client.app.router.resources()} if bench.client.app else set()
    assert set(document["paths"]) == served
    text = json.dumps(document)
    for name in {part.split('"')[0] for part in text.split("#/components/schemas/")[1:]}:
        assert name in document["components"]["schemas"]


async def test_metrics_are_for_operators(bench: Bench) -> None:
    await post(bench, an_event(), **bench.key())
    assert (await bench.json("GET", "/metrics", headers=bench.user("ann")))[0] == 403
    async with bench.client.get("/metrics", headers=bench.key("operator")) as response:
        text = await response.text()
    assert 'notify_events_total{outcome="published"}' in text
    assert 'notify_http_request_seconds_count{method="POST",route="/v1/events",status="2xx"}' in text
    assert 'notify_http_request_seconds_count{method="GET",route="/metrics",status="4xx"}' in text
