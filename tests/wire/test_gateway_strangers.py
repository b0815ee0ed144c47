"""Requests that no client of ours makes: each gets an answer that says so, none gets a 500."""

import asyncio
import gzip
from base64 import urlsafe_b64encode
from collections.abc import AsyncIterator
from pathlib import Path
from uuid import UUID

import pytest

from tests.wire.gateway_parts import Bench, a_bench

SHORT = b'{"type":"order.confirmed","recipients":["ann"],"payload":{"order":"1"}}'
UNPRINTABLE = "\udcff\udcfe"  # how the server passes on the bytes ff fe


@pytest.fixture
async def bench(tmp_path: Path) -> AsyncIterator[Bench]:
    async with a_bench(tmp_path) as bench:
        yield bench


async def raw(bench: Bench, *lines: bytes, body: bytes = b"") -> bytes:
    """The status line of what comes back for these very bytes."""
    reader, writer = await asyncio.open_connection("127.0.0.1", bench.client.port)
    writer.write(b"\r\n".join((*lines, b"Host: x", b"Content-Length: %d" % len(body), b"Connection: close", b"", body)))
    answer = await reader.read()
    writer.close()
    return answer.partition(b"\r\n")[0].removeprefix(b"HTTP/1.1 ")


@pytest.mark.parametrize("secret", [b"nk_\xff\xfe", b"\xff.\xff.\xff", "nk_é".encode()])
async def test_a_key_or_token_of_other_letters_is_a_401(bench: Bench, secret: bytes) -> None:
    path = b"GET /v1/users/ann/preferences HTTP/1.1"
    assert await raw(bench, path, b"Authorization: Bearer " + secret) == b"401 Unauthorized"


async def test_a_trace_that_is_none_is_left_out(bench: Bench) -> None:
    key = bench.key()["Authorization"].encode()
    lines = b"POST /v1/events HTTP/1.1", b"Authorization: " + key, b"Idempotency-Key: k", b"traceparent: \xff\xfe"
    assert await raw(bench, *lines, body=SHORT) == b"202 Accepted"
    assert "traceparent" not in dict(bench.orchestrator.published[0][3])


async def test_an_attribute_that_is_no_utf8_is_a_422(bench: Bench) -> None:
    attributes = b"ce-specversion: 1.0", b"ce-id: \xff", b"ce-source: /a", b"ce-type: order.confirmed"
    lines = b"POST /v1/events HTTP/1.1", b"Authorization: " + bench.key()["Authorization"].encode(), *attributes
    assert await raw(bench, *lines, body=SHORT) == b"422 Unprocessable Entity"


@pytest.mark.parametrize("version", ["9" * 5000, '"' + "9" * 19 + '"', "\u0663", "²", '""', '"1", "2"', 'W/"1"', "-1"])
async def test_a_version_that_can_never_be_is_a_412(bench: Bench, version: str) -> None:
    headers = {**bench.user("ann"), "If-Match": version}
    status, problem = await bench.json("PATCH", "/v1/users/ann/preferences", json={}, headers=headers)
    assert (status, problem["code"]) == (412, "version_conflict")


@pytest.mark.parametrize("id_", ["foo", "%00", "%ff", "0" * 31, "..%2F..%2Fkeys", "x" * 4000])
@pytest.mark.parametrize("suffix", ["", "/explain"])
async def test_a_notification_id_that_is_no_uuid_does_not_exist(bench: Bench, id_: str, suffix: str) -> None:
    status, problem = await bench.json(
        "GET", f"/v1/notifications/{id_}{suffix}", headers=bench.key("operator"), allow_redirects=False
    )
    unknown = await bench.json("GET", f"/v1/notifications/{UUID(int=1)}{suffix}", headers=bench.key("operator"))
    assert (status, problem) == unknown
    assert status == 404


@pytest.mark.parametrize("id_", [bytes(16), b"\xff" * 16, bytes(range(16)), b"\xff" * 6 + b"\x4f" + b"\xbf" * 9])
async def test_a_cursor_that_is_no_item_is_a_400(bench: Bench, id_: bytes) -> None:
    cursor = urlsafe_b64encode(id_).decode().rstrip("=")
    status, problem = await bench.json("GET", f"/v1/users/ann/inbox?after={cursor}", headers=bench.user("ann"))
    assert (status, problem["errors"][0]["pointer"]) == (400, "/after")


async def test_a_body_that_is_not_encoded_as_it_says_is_a_400(bench: Bench) -> None:
    key = bench.key()["Authorization"].encode()
    lines = b"POST /v1/events HTTP/1.1", b"Authorization: " + key, b"Content-Encoding: gzip", b"Idempotency-Key: k"
    for body in (SHORT, gzip.compress(SHORT)[:-12]):
        assert await raw(bench, *lines, body=body) == b"400 Bad Request"
    assert not bench.orchestrator.published


async def test_who_leaves_in_the_middle_of_a_body_is_no_fault_of_ours(
    bench: Bench, caplog: pytest.LogCaptureFixture
) -> None:
    key = bench.key()["Authorization"].encode()
    _, writer = await asyncio.open_connection("127.0.0.1", bench.client.port)
    head = b"POST /v1/events HTTP/1.1", b"Host: x", b"Authorization: " + key, b"Content-Length: 100", b"", b"{"
    writer.write(b"\r\n".join(head))
    await writer.drain()
    await asyncio.sleep(0.05)
    writer.close()
    await asyncio.sleep(0.05)
    assert [line.getMessage() for line in caplog.records if line.levelname == "ERROR"] == []


@pytest.mark.parametrize("path", ["/healthz", "/readyz", "/openapi.json"])
async def test_head_is_get_without_the_body(bench: Bench, path: str) -> None:
    async with bench.client.head(path) as head, bench.client.get(path) as get:
        assert (head.status, head.headers["Content-Length"], await head.read()) == (
            200,
            get.headers["Content-Length"],
            b"",
        )
