"""Endpoints over HTTP: through the registry, one spelling, and no word about others."""

import asyncio
import statistics
import time
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from notify_streams.domain.addresses import address_key
from notify_streams.gateway.spelling import spelling_of
from notify_streams.settings import Channel, Provider, Settings
from schemas.addresses import ClaimAddressV1, ReleaseAddressV1, decode_change
from schemas.profiles import NOBODY
from tests.builders import MAILBOX
from tests.wire.gateway_parts import Bench, a_bench

TOKEN = "t" * 64
HOME = "/v1/users/ann/endpoints/email/home"


@pytest.fixture
async def bench(tmp_path: Path) -> AsyncIterator[Bench]:
    async with a_bench(tmp_path) as bench:
        yield bench


async def put(bench: Bench, path: str, address: str, user: str = "ann", **body: Any) -> tuple[int, Any]:
    url = f"/v1/users/{user}/endpoints/{path}"
    return await bench.json("PUT", url, json={"address": address, **body}, headers=bench.user(user))


async def push(bench: Bench, endpoint_id: str = "phone", user: str = "ann", token: str = TOKEN) -> tuple[int, Any]:
    return await put(bench, f"push/{endpoint_id}", token, user, platform="ios")


async def listed(bench: Bench, user: str = "ann", headers: dict[str, str] | None = None) -> list[dict[str, Any]]:
    status, body = await bench.json("GET", f"/v1/users/{user}/endpoints", headers=headers or bench.user(user))
    assert status == 200
    items: list[dict[str, Any]] = body["items"]
    return items


async def test_a_put_goes_by_the_registry_under_the_addresss_own_key(bench: Bench) -> None:
    status, view = await put(bench, "email/home", "Ann <Ann@Example.com>")
    assert (status, view["address"], view["verified"]) == (200, "Ann@Example.com", False)
    topic, key, value, _ = bench.orchestrator.published[0]
    change = decode_change(value)
    assert (topic, key.decode()) == ("address-changes", address_key("email", MAILBOX))
    assert isinstance(change, ClaimAddressV1)
    assert (change.user_id, change.endpoint_id, change.by, change.verified) == ("ann", "home", "user", False)


async def test_a_second_user_of_a_device_gets_its_token_and_the_first_has_it_no_longer(bench: Bench) -> None:
    """TOK-06: no "already exists"; ann signed in, and never out."""
    assert (await push(bench))[0] == 200
    status, view = await push(bench, "mine", "ben")
    assert (status, view["address"], view["verified"]) == (200, TOKEN, True)
    assert (await listed(bench), [e["endpoint_id"] for e in await listed(bench, "ben")]) == ([], ["mine"])
    assert (await push(bench))[0] == 200
    assert ([e["endpoint_id"] for e in await listed(bench)], await listed(bench, "ben")) == (["phone"], [])


async def test_a_token_that_is_posted_five_times_at_once_is_one_row(bench: Bench) -> None:
    """TOK-08"""
    answers = await asyncio.gather(*(push(bench) for _ in range(5)), *(push(bench, f"phone-{n}") for n in range(5)))
    assert {status for status, _ in answers} == {200}
    assert [e["address"] for e in await listed(bench)] == [TOKEN]


async def test_all_endpoints_of_a_user_are_listed_in_their_order_with_the_version(bench: Bench) -> None:
    await put(bench, "email/home", MAILBOX)
    await push(bench)
    async with bench.client.get("/v1/users/ann/endpoints", headers=bench.user("ann")) as response:
        assert (response.status, response.headers["ETag"]) == (200, '"2"')
        body = await response.json()
    assert body["next"] is None
    assert [(e["channel"], e["endpoint_id"]) for e in body["items"]] == [("email", "home"), ("push", "phone")]
    assert await listed(bench, headers=bench.key("service")) == body["items"]
    assert await listed(bench, "nobody") == []
    assert (await bench.json("GET", "/v1/users/ben/endpoints", headers=bench.user("ann")))[0] == 404
    assert (await bench.json("GET", "/v1/users/ann/endpoints", headers=bench.key("producer")))[0] == 403


async def test_a_replaced_address_is_released_at_the_registry_and_nobody_is_told(bench: Bench) -> None:
    await put(bench, "email/home", MAILBOX)
    await put(bench, "email/home", "new@example.com")
    release = decode_change(bench.orchestrator.published[-1][2])
    assert isinstance(release, ReleaseAddressV1)
    assert (release.quiet, bench.orchestrator.addresses[address_key("email", MAILBOX)]) == (True, None)
    assert [e["address"] for e in await listed(bench)] == ["new@example.com"]
    published = len(bench.orchestrator.published)
    await put(bench, "email/home", "NEW@example.com")
    assert len(bench.orchestrator.published) == published + 1


async def test_a_delete_goes_by_the_registry_and_one_of_nothing_is_a_204_too(bench: Bench) -> None:
    await put(bench, "email/home", MAILBOX)
    for _ in range(2):
        async with bench.client.delete(HOME, headers=bench.user("ann")) as response:
            assert response.status == 204
    topics = [topic for topic, *_ in bench.orchestrator.published]
    assert topics == ["address-changes", "address-changes", "user-commands"]
    assert (await listed(bench), bench.orchestrator.addresses[address_key("email", MAILBOX)]) == ([], None)


async def test_put_again_after_a_delete_it_is_there_again(bench: Bench) -> None:
    """Also where all of it happens within a millisecond, or the gateways' clocks differ."""
    for _ in range(20):
        assert (await put(bench, "email/home", MAILBOX))[0] == 200
        assert [e["address"] for e in await listed(bench)] == [MAILBOX]
        async with bench.client.delete(HOME, headers=bench.user("ann")) as response:
            assert response.status == 204
        assert await listed(bench) == []


async def test_a_claim_that_comes_after_its_delete_does_not_bring_it_back(tmp_path: Path) -> None:
    async with a_bench(tmp_path, command_timeout="50ms") as bench:
        bench.orchestrator.silent = True
        assert (await put(bench, "email/home", MAILBOX))[0] == 202
        bench.orchestrator.silent = False
        async with bench.client.delete(HOME, headers=bench.user("ann")) as response:
            assert response.status == 204
        _, key, value, _ = bench.orchestrator.published[0]
        await bench.orchestrator.publish("address-changes", key, value)
        assert await listed(bench) == []


async def test_without_the_registry_a_put_and_a_delete_are_a_202(tmp_path: Path) -> None:
    async with a_bench(tmp_path, command_timeout="50ms") as bench:
        await put(bench, "email/home", MAILBOX)
        bench.orchestrator.silent = True
        status, body = await put(bench, "email/work", "work@example.com")
        assert (status, body["status"]) == (202, "pending")
        assert (await bench.json("DELETE", HOME, headers=bench.user("ann")))[0] == 202


async def test_without_cassandra_and_redis_endpoints_can_be_put_and_deleted(bench: Bench) -> None:
    bench.store.away = bench.ledger.away = True
    bench.orchestrator.answers.listening = True
    assert (await put(bench, "email/home", MAILBOX))[0] == 200
    async with bench.client.delete(HOME, headers=bench.user("ann")) as response:
        assert response.status == 204


async def test_a_claim_for_another_version_is_a_412_before_the_address_changes_hands(bench: Bench) -> None:
    await push(bench)
    headers = {**bench.user("ben"), "If-Match": '"7"'}
    body = {"address": TOKEN, "platform": "ios"}
    status, problem = await bench.json("PUT", "/v1/users/ben/endpoints/push/mine", json=body, headers=headers)
    assert (status, problem["code"]) == (412, "version_conflict")
    assert [e["endpoint_id"] for e in await listed(bench)] == ["phone"]


async def test_a_claim_of_one_endpoint_too_many_is_refused_before_the_address_changes_hands(bench: Bench) -> None:
    await push(bench)
    for n in range(32):
        assert (await put(bench, f"email/e{n}", f"a{n}@example.com", "ben"))[0] == 200
    status, problem = await push(bench, "mine", "ben")
    assert (status, problem["errors"][0]["pointer"]) == (422, "/endpoint_id")
    assert [e["endpoint_id"] for e in await listed(bench)] == ["phone"]


@pytest.mark.parametrize(
    "address",
    [
        "http://169.254.169.254/x",
        "https://127.0.0.1",
        "https://[::1]",
        "https://[::ffff:10.0.0.5]",
        "https://2130706433",
        "https://localhost.",
        "https://user@10.0.0.5",
        "https://hooks.example.com:22/x",
        "https://hooks.example.com/" + "x" * 3000,
        "ftp://hooks.example.com",
        "https://0x7f.1/x",
    ],
)
async def test_urls_that_lead_inside_are_refused_with_one_generic_reason(bench: Bench, address: str) -> None:
    """SEC-01"""
    answers = [await put(bench, "webhook/mine", url) for url in (address, "https://10.0.0.1/admin")]
    assert answers[0] == answers[1]
    assert (answers[0][0], answers[0][1]["errors"][0]["pointer"]) == (422, "/address")
    assert bench.orchestrator.published == []


async def test_a_subscription_that_leads_inside_is_refused_too(bench: Bench) -> None:
    """SEC-01"""
    inside = '{"endpoint":"https://10.0.0.5/x","keys":{"p256dh":"a","auth":"b"}}'
    status, problem = await put(bench, "push/web", inside, platform="web")
    assert (status, bench.orchestrator.published) == (422, [])
    assert "10.0.0.5" not in str(problem)


@pytest.mark.parametrize(
    ("written", "region"),
    [("+49 (0)170 1234567", None), ("+491701234567", None), ("0049 170 1234567", "DE"), ("0170 1234567", "DE")],
)
async def test_a_number_is_kept_as_e164_however_it_is_written(bench: Bench, written: str, region: str | None) -> None:
    """SMS-01"""
    given = {} if region is None else {"region": region}
    status, view = await put(bench, "sms/phone", written, **given)
    assert (status, view["address"]) == (200, "+491701234567")


@pytest.mark.parametrize(
    ("written", "given", "pointer"),
    [
        ("07400123456", {}, "/address"),
        ("+000000000", {}, "/address"),
        ("999", {"region": "GB"}, "/address"),
        ("07400 123456", {"region": "Britain"}, "/region"),
        ("ann", {"region": "GB"}, "/address"),
    ],
)
async def test_a_number_that_is_none_is_refused_and_not_repeated(
    bench: Bench, written: str, given: dict[str, str], pointer: str
) -> None:
    """SMS-01"""
    status, problem = await put(bench, "sms/phone", written, **given)
    assert (status, [e["pointer"] for e in problem["errors"]]) == (422, [pointer])
    assert written not in str(problem)


def test_region_and_private_addresses_are_those_of_the_channels_providers() -> None:
    settings = Settings(
        channels={"sms": Channel(providers=("a", "b")), "webhook": Channel(providers=("hooks",)), "push": Channel()},
        providers={
            "a": Provider(kind="twilio"),
            "b": Provider(kind="twilio", default_region="GB"),
            "hooks": Provider(kind="webhook", allow_private=True),
        },
    )
    spelling = spelling_of(settings)
    assert spelling.kept("sms", "07400 123456") == "+447400123456"
    assert spelling.kept("webhook", "http://127.0.0.1:9000/x") == "http://127.0.0.1:9000/x"
    assert (spelling.region, spelling.private) == ("GB", frozenset({"webhook"}))


async def suppressed(bench: Bench, address: str = MAILBOX, **body: Any) -> None:
    path = f"/v1/suppressions/email/{address}"
    assert (await bench.json("PUT", path, json=body, headers=bench.key("operator")))[0] == 200


async def test_an_endpoint_says_why_nothing_is_sent_there_and_until_when(bench: Bench) -> None:
    service = bench.key("service")
    await bench.json("PUT", HOME, json={"address": MAILBOX, "verified": True}, headers=service)
    await suppressed(bench, reason="mailbox_full", until="2099-01-01T00:00:00Z")
    for headers in (service, bench.user("ann")):
        _, view = await bench.json("GET", HOME, headers=headers)
        assert (view["suppressed"], view["suppressed_until"]) == ("mailbox_full", "2099-01-01T00:00:00Z")


async def test_a_mark_that_is_past_is_not_shown(bench: Bench) -> None:
    service = bench.key("service")
    await bench.json("PUT", HOME, json={"address": MAILBOX, "verified": True}, headers=service)
    profile = bench.orchestrator.profiles["ann"]
    past = msgspec.structs.replace(profile.endpoints[0], suppressed="mailbox_full", suppressed_until=1)
    bench.ledger.told.clear()
    bench.store.recorded["ann"] = msgspec.structs.replace(profile, endpoints=(past,), version=9)
    bench.orchestrator.answers.listening = False
    _, view = await bench.json("GET", HOME, headers=service)
    assert (view["suppressed"], view["suppressed_until"]) == (None, None)


async def test_whether_an_address_is_known_here_nobody_learns_by_putting_it(bench: Bench) -> None:
    """SEC-08: neither that others have it, nor that it is on the list; until it is shown to be one's own."""
    for user in ("ben", "cem"):
        await put(bench, "email/mine", "known@example.com", user)
    await suppressed(bench, "known@example.com")

    async def seen(user: str, address: str) -> Any:
        url = f"/v1/users/{user}/endpoints/email/guess"
        headers = bench.user(user)
        async with bench.client.put(url, json={"address": address}, headers=headers) as response:
            answer = response.status, {k: v for k, v in response.headers.items() if k not in ("X-Request-ID", "Date")}
            body = await response.json()
        verify = await bench.json("POST", f"{url}/verify", headers=headers)
        wrong = await bench.json("POST", f"{url}/verify", json={"code": "x"}, headers=headers)
        assert body["address"] == address
        return answer, {**body, "address": ""}, await listed_without_address(bench, user), verify, wrong

    assert await seen("eve", "known@example.com") == await seen("fay", "fresh@example.com")


async def test_nor_does_it_take_longer_for_an_address_that_is_known(bench: Bench) -> None:
    """SEC-08: 500 timed calls each, taken in turn; their medians are within noise."""
    for user in ("ben", "cem"):
        await put(bench, "email/mine", "known@example.com", user)
    await suppressed(bench, "known@example.com")
    headers, times = bench.user("eve"), dict[str, list[float]]()
    for number in range(500):
        for kind, address in (("known", "known@example.com"), ("fresh", f"f{number:04d}@example.com")):
            started = time.perf_counter()
            url = f"/v1/users/eve/endpoints/email/{kind}"
            async with bench.client.put(url, json={"address": address}, headers=headers) as response:
                assert response.status == 200
            times.setdefault(kind, []).append(time.perf_counter() - started)
    known, fresh = (statistics.median(times[kind]) for kind in ("known", "fresh"))
    assert abs(known - fresh) < 0.5 * max(known, fresh)


async def listed_without_address(bench: Bench, user: str) -> list[dict[str, Any]]:
    return [{**e, "address": ""} for e in await listed(bench, user)]


async def test_a_profile_that_nobody_has_changed_is_put_into_like_any_other(bench: Bench) -> None:
    assert bench.orchestrator.profiles.get("new", NOBODY) is NOBODY
    assert (await put(bench, "email/home", MAILBOX, "new"))[0] == 200
