"""The inbox over HTTP: what people list, count, poll for, and do."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from msgspec.structs import replace

from notify_streams.ports import InboxCounts
from notify_streams.settings import Limits
from schemas.commands import FieldError
from schemas.inbox import InboxCommandV1, decode_inbox_record
from tests.wire.gateway_parts import Bench, a_bench, an_item

INBOX = "/v1/users/ann/inbox"
ITEM = UUID(int=7, version=1)


@pytest.fixture
async def bench(tmp_path: Path) -> AsyncIterator[Bench]:
    async with a_bench(tmp_path) as bench:
        yield bench


def commands(bench: Bench) -> list[InboxCommandV1]:
    found = []
    for topic, key, value, _ in bench.orchestrator.published:
        if topic == "inbox-commands":
            assert key == b"ann"
            command = decode_inbox_record(value)
            assert isinstance(command, InboxCommandV1)
            found.append(command)
    return found


def titles(page: dict[str, Any]) -> list[str]:
    return [item["title"] for item in page["items"]]


@pytest.mark.parametrize("action", ["read", "unread", "archive"])
async def test_what_is_done_to_an_item_is_a_command_and_the_answer_are_the_counts_after_it(
    bench: Bench, action: str
) -> None:
    bench.orchestrator.inbox = InboxCounts(41, 3, 2)
    async with bench.client.post(f"{INBOX}/{ITEM}/{action}", headers=bench.user("ann")) as response:
        assert (response.status, response.headers["ETag"]) == (200, '"42"')
        assert await response.json() == {"unread": 3, "unseen": 2, "sequence": 42}
    (command,) = commands(bench)
    assert (command.action, command.item_ids, command.up_to, command.by) == (action, (str(ITEM),), None, "user")


@pytest.mark.parametrize(("path", "action"), [("read-all", "read"), ("seen-all", "seen")])
async def test_all_is_bounded_by_a_sequence_or_by_the_time_of_receipt(bench: Bench, path: str, action: str) -> None:
    ann = bench.user("ann")
    assert (await bench.json("POST", f"{INBOX}/{path}", headers=ann, json={"up_to": 12}))[0] == 200
    assert (await bench.json("POST", f"{INBOX}/{path}", headers=ann))[0] == 200
    bounded, unbounded = commands(bench)
    assert (bounded.action, bounded.item_ids, bounded.up_to) == (action, (), 12)
    assert (unbounded.action, unbounded.up_to) == (action, 2**63 - 1)


@pytest.mark.parametrize(
    ("body", "pointer"), [({"up_to": -1}, "/up_to"), ({"up_to": "9"}, "/up_to"), ({"upto": 9}, "/upto"), ([], "")]
)
async def test_a_body_that_is_none_is_a_422_that_names_the_field(bench: Bench, body: object, pointer: str) -> None:
    status, problem = await bench.json("POST", f"{INBOX}/read-all", headers=bench.user("ann"), json=body)
    assert (status, problem["errors"][0]["pointer"]) == (422, pointer)
    assert commands(bench) == []


@pytest.mark.parametrize("item", ["7", "x" * 36, str(UUID(int=7, version=4)), ITEM.hex, "{" + str(ITEM) + "}"])
async def test_what_can_be_no_item_is_a_404(bench: Bench, item: str) -> None:
    assert (await bench.json("POST", f"{INBOX}/{item}/read", headers=bench.user("ann")))[0] == 404
    assert commands(bench) == []


async def test_nobody_reaches_anothers_inbox(bench: Bench) -> None:
    bob, path = bench.user("bob"), f"{INBOX}/{ITEM}/read"
    assert (await bench.json("POST", path, headers=bob))[0] == 404
    assert (await bench.json("POST", path, headers=bench.key("producer")))[0] == 403
    assert (await bench.json("POST", path))[0] == 401
    assert commands(bench) == []


async def test_a_command_that_is_not_answered_in_time_is_a_202(tmp_path: Path) -> None:
    async with a_bench(tmp_path, command_timeout="50ms") as bench:
        bench.orchestrator.silent = True
        status, body = await bench.json("POST", f"{INBOX}/{ITEM}/read", headers=bench.user("ann"))
        assert (status, body["status"], body["command_id"]) == (202, "pending", commands(bench)[0].command_id)


async def test_a_command_that_is_refused_says_why(bench: Bench) -> None:
    bench.orchestrator.wrong = (FieldError("/up_to", "a sequence of the future"),)
    status, problem = await bench.json("POST", f"{INBOX}/read-all", headers=bench.user("ann"), json={"up_to": 99})
    assert (status, problem["code"], problem["errors"]) == (
        422,
        "invalid_command",
        [{"pointer": "/up_to", "detail": "a sequence of the future"}],
    )


async def test_the_broker_away_is_a_503_that_may_be_repeated(bench: Bench) -> None:
    bench.orchestrator.away = True
    async with bench.client.post(f"{INBOX}/{ITEM}/read", headers=bench.user("ann")) as response:
        assert (response.status, response.headers["Retry-After"]) == (503, "2")


async def test_ten_thousand_commands_a_second_are_told_to_wait_and_others_are_not(tmp_path: Path) -> None:
    async with a_bench(tmp_path, limits=Limits(inbox_commands=5)) as bench:
        ann = bench.user("ann")
        statuses = [(await bench.json("POST", f"{INBOX}/{ITEM}/read", headers=ann))[0] for _ in range(20)]
        assert statuses[:5] == [200] * 5
        assert 429 in statuses[5:]
        assert set(statuses) == {200, 429}
        async with bench.client.post(f"{INBOX}/{ITEM}/read", headers=ann) as response:
            if response.status == 429:
                assert int(response.headers["Retry-After"]) >= 1
        assert (await bench.json("POST", f"/v1/users/bob/inbox/{ITEM}/read", headers=bench.user("eve")))[0] == 404


async def test_archived_items_are_shown_only_where_they_are_asked_for(bench: Bench) -> None:
    bench.store.items = [replace(an_item(n), archived=n % 2 == 0) for n in range(1, 7)]
    ann = bench.user("ann")
    assert titles((await bench.json("GET", INBOX, headers=ann))[1]) == ["inapp 1", "inapp 3", "inapp 5"]
    _, archived = await bench.json("GET", f"{INBOX}?state=archived", headers=ann)
    assert titles(archived) == ["inapp 2", "inapp 4", "inapp 6"]
    assert {item["state"] for item in archived["items"]} == {"archived"}
    assert titles((await bench.json("GET", f"{INBOX}?state=unread", headers=ann))[1]) == [
        "inapp 1",
        "inapp 3",
        "inapp 5",
    ]


async def test_an_aggregated_item_keeps_its_first_id_and_says_for_whom_it_speaks(bench: Bench) -> None:
    first = UUID(int=99, version=1)
    bench.store.items = [replace(an_item(1), stands_for=first, count=7, actors=("Ann", "Ben"), others=5)]
    _, page = await bench.json("GET", INBOX, headers=bench.user("ann"))
    (item,) = page["items"]
    assert (item["item_id"], item["count"], item["actors"], item["others"]) == (str(first), 7, ["Ann", "Ben"], 5)


async def test_who_has_what_holds_is_told_that_nothing_has_changed(bench: Bench) -> None:
    bench.store.header = InboxCounts(7, 2, 1)
    ann = bench.user("ann")
    for path in (INBOX, f"{INBOX}/counts", f"{INBOX}?state=unread&limit=5"):
        async with bench.client.get(path, headers=ann) as response:
            assert (response.status, response.headers["ETag"]) == (200, '"7"')
        for held in ('"7"', 'W/"7"', '"3", "7"'):
            async with bench.client.get(path, headers=ann | {"If-None-Match": held}) as response:
                assert (response.status, await response.read()) == (304, b"")
        async with bench.client.get(path, headers=ann | {"If-None-Match": '"6"'}) as response:
            assert response.status == 200


async def test_a_cursor_that_was_edited_is_a_400(bench: Bench) -> None:
    bench.store.items = [an_item(n) for n in range(1, 10)]
    ann = bench.user("ann")
    _, page = await bench.json("GET", f"{INBOX}?limit=3", headers=ann)
    for edited in (page["next"] + "A", page["next"][:-1], page["next"][:-1] + "_", "%00" * 22):
        status, problem = await bench.json("GET", f"{INBOX}?after={edited}", headers=ann)
        assert (status, problem["code"]) == (400, "invalid_parameter"), edited
