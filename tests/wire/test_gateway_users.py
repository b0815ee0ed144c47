"""What the gateway tells of notifications, inboxes, preferences and endpoints, on parts in memory."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from schemas.profiles import ProfileV1
from tests.facts import a_decision
from tests.wire.gateway_parts import Bench, a_bench, an_event, an_item

KNOWN = "3f2b0a52-8f1e-5a0e-9d5f-1a2b3c4d5e6f"


@pytest.fixture
async def bench(tmp_path: Path) -> AsyncIterator[Bench]:
    async with a_bench(tmp_path) as bench:
        yield bench


async def post(bench: Bench, body: Any, **headers: str) -> tuple[int, Any]:
    return await bench.json("POST", "/v1/events", json=body, headers=headers)


def pointers(problem: Any) -> list[str]:
    return [error["pointer"] for error in problem["errors"]]


async def test_a_notification_is_accepted_from_the_202_until_facts_are_there(bench: Bench) -> None:
    """ORD-05."""
    key = bench.key()
    _, answer = await post(bench, an_event(), **key)
    path = f"/v1/notifications/{answer['notifications'][0]['notification_id']}"
    status, body = await bench.json("GET", path, headers=key)
    assert (status, body["state"], body["user_id"]) == (200, "accepted", "ann")


async def test_unknown_notifications_and_those_of_other_sources_are_the_same_404(bench: Bench) -> None:
    _, answer = await post(bench, an_event(), **bench.key())
    taken = answer["notifications"][0]["notification_id"]
    other = bench.key(sources=("/bank",))
    answers = [await bench.json("GET", f"/v1/notifications/{id_}", headers=other) for id_ in (taken, "no-such")]
    assert answers[0] == answers[1]
    assert answers[0][0] == 404


async def test_once_decided_the_status_is_the_fold_and_still_hidden_from_other_sources(bench: Bench) -> None:
    bench.store.known[KNOWN] = [a_decision(notification_id=KNOWN, source="/shop/orders")]
    status, body = await bench.json("GET", f"/v1/notifications/{KNOWN}", headers=bench.key(sources=("/shop/*",)))
    assert (status, body["notification_id"], body["state"]) == (200, KNOWN, "queued")
    assert (await bench.json("GET", f"/v1/notifications/{KNOWN}", headers=bench.key(sources=("/bank",))))[0] == 404
    assert (await bench.json("GET", f"/v1/notifications/{KNOWN}/explain", headers=bench.key("operator")))[0] == 200


async def test_only_operators_get_explanations_and_unknown_ones_are_a_404(bench: Bench) -> None:
    query = {"user_id": "ann", "source": "/s", "event_id": "1"}
    for path in (f"/v1/notifications/{KNOWN}/explain", "/v1/explain"):
        assert (await bench.json("GET", path, params=query, headers=bench.key()))[0] == 403
        assert (await bench.json("GET", path, params=query, headers=bench.key("operator")))[0] == 404
    status, problem = await bench.json("GET", "/v1/explain?user_id=ann", headers=bench.key("operator"))
    assert (status, pointers(problem)) == (400, ["/source", "/event_id"])


async def test_the_inbox_comes_in_pages_without_gap_or_repeat(bench: Bench) -> None:
    bench.store.items = [an_item(n, read=n % 3 == 0) for n in range(1, 26)]
    ann, seen, after = bench.user("ann"), list[str](), ""
    while True:
        _, page = await bench.json("GET", f"/v1/users/ann/inbox?limit=10{after}", headers=ann)
        seen += [item["title"] for item in page["items"]]
        if page["next"] is None:
            break
        after = f"&after={page['next']}"
    assert seen == [f"inapp {n}" for n in range(1, 26)]


async def test_the_unread_come_in_full_pages_too(bench: Bench) -> None:
    bench.store.items = [an_item(n, read=n % 3 != 0) for n in range(1, 31)]
    ann = bench.user("ann")
    _, page = await bench.json("GET", "/v1/users/ann/inbox?limit=6&state=unread", headers=ann)
    assert [item["title"] for item in page["items"]] == [f"inapp {n}" for n in range(3, 19, 3)]
    _, rest = await bench.json("GET", f"/v1/users/ann/inbox?limit=6&state=unread&after={page['next']}", headers=ann)
    assert [item["title"] for item in rest["items"]] == [f"inapp {n}" for n in range(21, 31, 3)]
    assert rest["next"] is None


async def test_an_items_payload_comes_back_digit_for_digit(bench: Bench) -> None:
    """KAF-07."""
    bench.store.items = [an_item(1)]
    async with bench.client.get("/v1/users/ann/inbox", headers=bench.user("ann")) as response:
        assert '"payload":{"id":9007199254740993,"big":18446744073709551616,"amount":0.1}' in await response.text()


@pytest.mark.parametrize("query", ["limit=0", "limit=101", "limit=x", "limit=-1", "after=!", "after=AAAA", "state=x"])
async def test_a_bad_parameter_is_a_400(bench: Bench, query: str) -> None:
    status, problem = await bench.json("GET", f"/v1/users/ann/inbox?{query}", headers=bench.user("ann"))
    assert (status, problem["code"]) == (400, "invalid_parameter")


async def test_the_counts_are_the_headers(bench: Bench) -> None:
    status, counts = await bench.json("GET", "/v1/users/ann/inbox/counts", headers=bench.user("ann"))
    assert (status, counts) == (200, {"unread": 0, "unseen": 0, "sequence": 0})


async def test_a_change_is_shown_by_the_next_read_and_by_the_etag(bench: Bench) -> None:
    ann, path = bench.user("ann"), "/v1/users/ann/preferences"
    async with bench.client.patch(path, json={"channels": {"email": False}}, headers=ann) as response:
        assert (response.status, response.headers["ETag"]) == (200, '"1"')
        patched = await response.json()
    async with bench.client.get(path, headers=ann) as response:
        assert (response.headers["ETag"], await response.json()) == ('"1"', patched)
    assert patched["channels"] == {"inapp": True, "email": False}
    assert patched["mandatory"] == ["security"]
    assert patched["categories"]["security"] == {"email": True}


async def test_every_cell_reads_back_as_written(bench: Bench) -> None:
    """PRF-09, PRF-02."""
    ann, path = bench.user("ann"), "/v1/users/ann/preferences"
    cells = [("orders", "inapp"), ("orders", "email"), ("marketing", "email")]
    for at, (category, channel) in enumerate(cells, 1):
        status, _ = await bench.json("PATCH", path, json={"categories": {category: {channel: False}}}, headers=ann)
        assert status == 200
        _, body = await bench.json("GET", path, headers=ann)
        off = [(n, c) for n, switches in body["categories"].items() for c, on in switches.items() if not on]
        assert sorted(off) == sorted(cells[:at])


async def test_a_mandatory_category_stays_on_and_the_answer_names_it(bench: Bench) -> None:
    """PRF-06."""
    ann, path = bench.user("ann"), "/v1/users/ann/preferences"
    body = {"categories": {"security": {"email": False}}}
    status, problem = await bench.json("PATCH", path, json=body, headers=ann)
    assert (status, pointers(problem)) == (422, ["/categories/security/email"])
    assert (await bench.json("GET", path, headers=ann))[1]["categories"]["security"]["email"] is True


@pytest.mark.parametrize(
    ("body", "status", "pointer"),
    [
        ({"zone": "Etc/GMT 12"}, 422, "/zone"),
        ({"zone": None}, 422, "/zone"),
        ({"zone": "../../zone"}, 422, "/zone"),
        ({"locale": "french"}, 422, "/locale"),
        ({"channels": {"email": True, "fax": True}}, 422, "/channels/fax"),
        ({"channels": {"inapp": True, "email": "yes"}}, 422, "/channels/email"),
        ({"categories": {"no-such": {"email": True}}}, 422, "/categories/no-such"),
        ({"categories": {"orders": {"email": True}, "marketing": {"fax": True}}}, 422, "/categories/marketing/fax"),
        ({"categories": {"orders": {"email": 0}}}, 422, "/categories/orders/email"),
        ({"quiet_hours": [{"start": "08:00", "end": "08:00"}]}, 422, "/quiet_hours/0/end"),
        ({"quiet_hours": [{"start": "24:00", "end": "08:00"}]}, 422, "/quiet_hours/0/start"),
        ({"quiet_hours": [{"start": "8", "end": "09:00"}]}, 422, "/quiet_hours/0/start"),
        ({"quiet_hours": [{"start": "08:00"}]}, 422, "/quiet_hours/0/end"),
        ({"quiet_hours": [{"start": "08:00", "end": "09:00", "days": ["mum"]}]}, 422, "/quiet_hours/0/days/0"),
        ({"quiet_hours": [{"start": "08:00", "end": "09:00", "channels": ["fax"]}]}, 422, "/quiet_hours/0/channels/0"),
        ({"quiet_hours": [{"start": "08:00", "end": "09:00", "dayz": ["mon"]}]}, 422, "/quiet_hours/0/dayz"),
        ({"quiet_hours": [{"start": "08:00", "end": "09:00", "days": ["mon"] * 8}]}, 422, "/quiet_hours/0/days"),
        (
            {"quiet_hours": [{"start": "08:00", "end": "09:00", "channels": ["inapp"]}]},
            422,
            "/quiet_hours/0/channels/0",
        ),
        ({"quiet_hours": [{"start": "0٨:00", "end": "09:00"}]}, 422, "/quiet_hours/0/start"),
        ({"categories": {"marketing": {"push": True}}}, 422, "/categories/marketing/push"),
        ({"digest": {"inapp": {"marketing": "daily"}}}, 422, "/digest/inapp/marketing"),
        ({"digest_at": "08:00\n"}, 422, "/digest_at"),
        ({"digest_at": "25:00"}, 422, "/digest_at"),
        ({"digest_at": "24:00"}, 422, "/digest_at"),
        ({"digest_at": 8}, 422, "/digest_at"),
        ({"digest": {"email": {"orders": "weekly"}}}, 422, "/digest/email/orders"),
        ({"digest": {"email": {"no-such": "daily"}}}, 422, "/digest/email/no-such"),
        ({"digest": {"email": {"security": "daily"}}}, 422, "/digest/email/security"),
        ({"digest": {"fax": {"orders": "daily"}}}, 422, "/digest/fax"),
        ({"chanels": {"email": False}}, 422, "/chanels"),
        ([], 422, ""),
    ],
)
async def test_preferences_that_nobody_can_have_are_refused(bench: Bench, body: Any, status: int, pointer: str) -> None:
    """PRF-09."""
    path = "/v1/users/ann/preferences"
    got, problem = await bench.json("PATCH", path, json=body, headers=bench.user("ann"))
    assert (got, pointers(problem)) == (status, [pointer])
    assert bench.orchestrator.published == []


async def test_a_problem_repeats_little_of_what_was_sent(bench: Bench) -> None:
    body = {"quiet_hours": [{"start": "08:00", "end": "09:00", "days": ["x" * 10_000]}]}
    status, problem = await bench.json("PATCH", "/v1/users/ann/preferences", json=body, headers=bench.user("ann"))
    assert (status, pointers(problem)) == (422, ["/quiet_hours/0/days/0"])
    assert len(problem["detail"]) < 250
    wrong = {"categories": {"x" * 100 + str(n): {"email": True} for n in range(1000)}}
    _, problem = await bench.json("PATCH", "/v1/users/ann/preferences", json=wrong, headers=bench.user("ann"))
    assert problem["errors"][-1] == {"pointer": "", "detail": "980 more"}
    assert len(problem["errors"]) == 21


async def test_a_bad_zone_is_named_and_leaves_the_good_one(bench: Bench) -> None:
    """QH-10."""
    ann, path = bench.user("ann"), "/v1/users/ann/preferences"
    for zone in ("US/Eastern", "Etc/GMT+12", "Europe/Kyiv"):
        status, body = await bench.json("PATCH", path, json={"zone": zone}, headers=ann)
        assert (status, body["zone"]) == (200, zone)
        for bad in ("", None, "Etc/Unknown", "Etc/GMT 12", "GMT+5", "America/new_york", "../../zone", "z" * 300):
            status, problem = await bench.json("PATCH", path, json={"zone": bad}, headers=ann)
            assert (status, pointers(problem)) == (422, ["/zone"])
        assert (await bench.json("GET", path, headers=ann))[1]["zone"] == zone


async def test_a_change_for_another_version_is_a_412(bench: Bench) -> None:
    ann, path = bench.user("ann"), "/v1/users/ann/preferences"
    for tag, expected in (('"0"', 200), ('"0"', 412), ('"1"', 200), ("nonsense", 412), ("*", 200)):
        body = {"locale": f"fr-{tag.strip(chr(34))[:3].upper().replace('*', 'X')}"}
        async with bench.client.patch(path, json=body, headers={**ann, "If-Match": tag}) as response:
            assert (tag, response.status) == (tag, expected)


async def test_an_answer_that_does_not_come_is_a_202(tmp_path: Path) -> None:
    async with a_bench(tmp_path, command_timeout="100ms") as bench:
        bench.orchestrator.silent = True
        status, body = await bench.json(
            "PATCH", "/v1/users/ann/preferences", json={"locale": "fr"}, headers=bench.user("ann")
        )
        assert (status, body["status"]) == (202, "pending")


async def test_without_hearing_answers_a_change_is_refused_before_it_is_made(bench: Bench) -> None:
    bench.orchestrator.answers.listening = False
    status, _ = await bench.json("PATCH", "/v1/users/ann/preferences", json={"locale": "fr"}, headers=bench.user("ann"))
    assert status == 503
    assert bench.orchestrator.published == []


async def test_a_read_is_never_older_than_what_was_answered(bench: Bench) -> None:
    ann, path = bench.user("ann"), "/v1/users/ann/preferences"
    await bench.json("PATCH", path, json={"locale": "fr"}, headers=ann)
    bench.store.recorded["ann"] = ProfileV1(version=0, locale="old")
    assert (await bench.json("GET", path, headers=ann))[1]["locale"] == "fr"
    profile = msgspec.structs.replace(bench.orchestrator.profiles["ann"], version=2, locale="de")
    bench.orchestrator.answers.take(
        b'{"schema":"command-result.v1","command_id":"c","user_id":"ann","status":"applied","version":2}'
    )
    asyncio.get_running_loop().call_later(0.2, bench.store.recorded.update, {"ann": profile})
    assert (await bench.json("GET", path, headers=ann))[1]["locale"] == "de"


async def test_a_users_endpoint_is_unverified_and_a_services_is_what_it_says(bench: Bench) -> None:
    body, path = {"address": "Ann@Example.com", "verified": True}, "/v1/users/ann/endpoints/email/home"
    status, view = await bench.json("PUT", path, json=body, headers=bench.user("ann"))
    assert (status, view["verified"], view["address"]) == (200, False, "Ann@Example.com")
    service = bench.key("service")
    assert (await bench.json("PUT", path, json=body, headers=service))[1]["verified"] is True
    assert (await bench.json("GET", path, headers=bench.user("ann")))[1]["verified"] is True
    async with bench.client.delete(path, headers=service) as response:
        assert response.status == 204
    assert (await bench.json("GET", path, headers=service))[0] == 404


@pytest.mark.parametrize(
    ("path", "body", "pointer"),
    [
        ("email/home", {"address": "no mailbox"}, "/address"),
        ("sms/phone", {"address": "0151 123"}, "/address"),
        ("webhook/mine", {"address": "ftp://example.com"}, "/address"),
        ("push/phone", {"address": "short", "platform": "ios"}, "/address"),
        ("push/phone", {"address": "t" * 64, "platform": "palm"}, "/platform"),
        ("email/home", {}, "/address"),
        ("push/phone", {"address": "t" * 64}, "/platform"),
        ("inapp/x", {"address": "x"}, "/channel"),
        ("fax/x", {"address": "x"}, "/channel"),
        ("email/a%2Fb", {"address": "ann@example.com"}, "/endpoint_id"),
        ("email/a%0Ab", {"address": "ann@example.com"}, "/endpoint_id"),
        ("email/" + "x" * 129, {"address": "ann@example.com"}, "/endpoint_id"),
        ("push/phone", {"address": "t" * 4097, "platform": "ios"}, "/address"),
    ],
)
async def test_an_endpoint_that_cannot_be_is_refused(bench: Bench, path: str, body: Any, pointer: str) -> None:
    status, problem = await bench.json("PUT", f"/v1/users/ann/endpoints/{path}", json=body, headers=bench.user("ann"))
    assert status in (400, 422)
    assert pointers(problem) == [pointer]
