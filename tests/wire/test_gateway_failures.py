"""Failed notifications over HTTP."""

import time
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

from schemas.outcomes import OutcomeV1
from schemas.receipts import ReceiptV1
from schemas.words import Reason
from tests.wire.gateway_parts import Bench, a_bench

NOW = time.time_ns() // 1_000_000
HOUR = 3_600_000


@pytest.fixture
async def bench(tmp_path: Path) -> AsyncIterator[Bench]:
    async with a_bench(tmp_path) as bench:
        yield bench


def a_failure(**fields: Any) -> OutcomeV1:
    known: dict[str, Any] = {
        "delivery_id": str(uuid4()),
        "notification_id": str(uuid4()),
        "user_id": "ann",
        "type": "order.confirmed",
        "channel": "email",
        "endpoint_id": "home",
        "state": "failed",
        "at": NOW,
        "attempt": 3,
        "provider": "smtp",
        "reason": Reason.REFUSED,
        "detail": "550 5.1.1",
    }
    return OutcomeV1(**{**known, **fields})


async def listed(bench: Bench, query: str) -> tuple[int, Any]:
    path = f"/v1/notifications?state=failed&channel=email{query}"
    return await bench.json("GET", path, headers=bench.key("operator"))


async def test_what_failed_is_listed_with_its_reason_in_words_and_in_the_providers_own(bench: Bench) -> None:
    bench.store.failed = [failure := a_failure(), a_failure(channel="push")]
    status, page = await listed(bench, "")
    assert (status, page["next"], len(page["items"])) == (200, None, 1)
    item = page["items"][0]
    assert (item["notification_id"], item["provider"], item["attempts"]) == (failure.notification_id, "smtp", 3)
    assert (item["reason"], item["detail"]) == ("refused", "550 5.1.1")
    assert "refused" in item["why"]


async def test_what_came_back_later_is_listed_too(bench: Bench) -> None:
    bounced = ReceiptV1(
        receipt_id="r",
        delivery_id=str(uuid4()),
        notification_id=str(uuid4()),
        user_id="ann",
        channel="email",
        provider="ses",
        state="bounced",
        at=NOW,
        received_at=NOW,
        detail="5.1.1",
    )
    bench.store.failed = [bounced]
    _, page = await listed(bench, "")
    assert (page["items"][0]["provider"], page["items"][0]["reason"]) == ("ses", None)
    assert "later" in page["items"][0]["why"]


@pytest.mark.parametrize("limit", [1, 2, 3, 7])
async def test_pages_have_neither_gap_nor_repeat_though_many_failed_in_the_same_millisecond(
    bench: Bench, limit: int
) -> None:
    bench.store.failed = [a_failure(at=NOW - n // 9) for n in range(20)]
    seen, after = list[str](), ""
    while True:
        _, page = await listed(bench, f"&limit={limit}{after}")
        assert len(page["items"]) <= limit
        seen += [item["delivery_id"] for item in page["items"]]
        if page["next"] is None:
            break
        after = f"&after={page['next']}"
    assert len(seen) == 20
    assert set(seen) == {one.delivery_id for one in bench.store.failed}


async def test_since_bounds_the_list_which_is_a_day_when_left_out(bench: Bench) -> None:
    bench.store.failed = [a_failure(at=NOW - 2 * HOUR), a_failure(at=NOW - 30 * HOUR)]
    assert len((await listed(bench, ""))[1]["items"]) == 1
    since = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime((NOW - HOUR) / 1000))
    assert (await listed(bench, f"&since={since}"))[1]["items"] == []


@pytest.mark.parametrize(
    ("query", "pointer"),
    [
        ("state=sent&channel=email", "/state"),
        ("channel=email", "/state"),
        ("state=failed", "/channel"),
        ("state=failed&channel=fax", "/channel"),
        ("state=failed&channel=email&limit=0", "/limit"),
        ("state=failed&channel=email&limit=501", "/limit"),
        ("state=failed&channel=email&since=yesterday", "/since"),
        ("state=failed&channel=email&since=2026-11-30T10:00:00", "/since"),
        ("state=failed&channel=email&since=2020-01-01T00:00:00Z", "/since"),
        ("state=failed&channel=email&after=zz", "/after"),
        ("state=failed&channel=email&after=5b5d", "/after"),
    ],
)
async def test_a_bad_parameter_is_a_400_that_names_it(bench: Bench, query: str, pointer: str) -> None:
    status, problem = await bench.json("GET", f"/v1/notifications?{query}", headers=bench.key("operator"))
    assert (status, problem["errors"][0]["pointer"]) == (400, pointer)


async def test_failures_are_for_operators(bench: Bench) -> None:
    path = "/v1/notifications?state=failed&channel=email"
    assert (await bench.json("GET", path))[0] == 401
    assert (await bench.json("GET", path, headers=bench.key("producer")))[0] == 403
    assert (await bench.json("GET", path, headers=bench.user("ann")))[0] == 403
