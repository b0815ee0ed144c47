"""The suppression list over HTTP, for operators."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from notify_streams.domain.addresses import address_key
from tests.builders import MAILBOX
from tests.wire.gateway_parts import Bench, a_bench


@pytest.fixture
async def bench(tmp_path: Path) -> AsyncIterator[Bench]:
    async with a_bench(tmp_path) as bench:
        yield bench


class Desk:
    """An operator at one gateway."""

    def __init__(self, bench: Bench) -> None:
        self._bench, self._key = bench, bench.key("operator", name="ops")

    async def __call__(
        self, method: str, address: str, body: Any = None, channel: str = "email", query: str = ""
    ) -> tuple[int, Any]:
        path = f"/v1/suppressions/{channel}/{quote(address, safe='')}{query}"
        given = {} if body is None else {"json": body}
        return await self._bench.json(method, path, headers=self._key, **given)


@pytest.fixture
def ask(bench: Bench) -> Desk:
    return Desk(bench)


async def verified(bench: Bench, address: str, user: str = "ann") -> None:
    path = f"/v1/users/{user}/endpoints/email/home"
    body = {"address": address, "verified": True}
    assert (await bench.json("PUT", path, json=body, headers=bench.key("service")))[0] == 200


async def mark_of(bench: Bench, user: str = "ann") -> str | None:
    _, view = await bench.json("GET", f"/v1/users/{user}/endpoints/email/home", headers=bench.key("service"))
    suppressed: str | None = view["suppressed"]
    return suppressed


@pytest.mark.parametrize("spelling", ["ann@example.com", "Ann <ann@EXAMPLE.com>", " ANN@example.com"])
async def test_an_address_is_found_in_every_spelling_and_kept_as_it_was_spelt(
    bench: Bench, ask: Desk, spelling: str
) -> None:
    """EML-14"""
    status, _ = await ask("PUT", "Ann@Example.COM ", {"reason": "manual"})
    assert status == 200
    status, view = await ask("GET", spelling)
    assert (status, view["suppressed"], view["reasons"][0]["address"]) == (200, "manual", "Ann@Example.COM")
    assert view["reasons"][0]["by"] == "/keys/ops"
    await verified(bench, spelling)
    assert await mark_of(bench) == "manual"


async def test_a_tag_is_another_address(bench: Bench, ask: Desk) -> None:
    """EML-14"""
    await ask("PUT", "Ann@Example.COM ", {})
    assert (await ask("GET", "ann+news@example.com"))[1]["suppressed"] is None
    await verified(bench, "ann+news@example.com")
    assert await mark_of(bench) is None


async def test_what_is_malformed_is_refused_wherever_it_is_written(bench: Bench, ask: Desk) -> None:
    """EML-14"""
    for method, body in (("PUT", {}), ("GET", None), ("DELETE", None)):
        status, problem = await ask(method, "ann@example.com.", body)
        assert (status, problem["errors"][0]["pointer"]) == (422, "/address")
    path = "/v1/users/ann/endpoints/email/home"
    answer = await bench.json("PUT", path, json={"address": "ann@example.com."}, headers=bench.user("ann"))
    assert (answer[0], bench.orchestrator.published) == (422, [])


async def test_it_holds_for_all_users_of_the_address_and_survives_delete_and_re_add(bench: Bench, ask: Desk) -> None:
    for user in ("ann", "ben"):
        await verified(bench, MAILBOX, user)
    _, view = await ask("PUT", MAILBOX, {"reason": "complaint"})
    assert (view["users"], await mark_of(bench), await mark_of(bench, "ben")) == (
        ["ann", "ben"],
        "complaint",
        "complaint",
    )
    async with bench.client.delete("/v1/users/ann/endpoints/email/home", headers=bench.key("service")) as response:
        assert response.status == 204
    assert (await ask("GET", MAILBOX))[1]["users"] == ["ben"]
    await verified(bench, MAILBOX.upper())
    assert await mark_of(bench) == "complaint"


async def test_lifted_it_is_sent_to_again_and_only_one_reason_can_be_lifted(bench: Bench, ask: Desk) -> None:
    await verified(bench, MAILBOX)
    for reason in ("bounce", "opt_out"):
        await ask("PUT", MAILBOX, {"reason": reason})
    status, view = await ask("DELETE", MAILBOX, query="?reason=opt_out")
    assert (status, view["suppressed"], await mark_of(bench)) == (200, "bounce", "bounce")
    status, view = await ask("DELETE", MAILBOX)
    assert (status, view["suppressed"], view["reasons"], await mark_of(bench)) == (200, None, [], None)
    assert (await ask("DELETE", MAILBOX))[0] == 200


async def test_until_an_instant_and_never_sooner_for_being_said_again(ask: Desk) -> None:
    _, view = await ask("PUT", MAILBOX, {"until": "2099-05-01T00:00:00+02:00"})
    assert view["until"] == "2099-04-30T22:00:00Z"
    _, view = await ask("PUT", MAILBOX, {"until": "2098-01-01T00:00:00Z"})
    assert view["until"] == "2099-04-30T22:00:00Z"


@pytest.mark.parametrize(
    ("body", "pointer"),
    [
        ({"reason": "dislike"}, "/reason"),
        ({"until": "2000-01-01T00:00:00Z"}, "/until"),
        ({"until": "2099-01-01T00:00:00"}, "/until"),
        ({"until": "soon"}, "/until"),
        ({"reason": "mailbox_full"}, "/until"),
        ({"untill": None}, "/untill"),
    ],
)
async def test_a_suppression_that_cannot_be_is_refused(bench: Bench, ask: Desk, body: Any, pointer: str) -> None:
    status, problem = await ask("PUT", MAILBOX, body)
    assert (status, [e["pointer"] for e in problem["errors"]]) == (422, [pointer])
    assert bench.orchestrator.published == []


async def test_numbers_tokens_and_urls_have_a_list_too(ask: Desk) -> None:
    for channel, address, spelling in (
        ("sms", "+49 170 1234567", "+491701234567"),
        ("push", "t" * 64, "t" * 64),
        ("webhook", "https://hooks.example.com/a?b=c", "https://hooks.example.com/a?b=c"),
    ):
        assert (await ask("PUT", address, {}, channel))[0] == 200
        assert (await ask("GET", spelling, channel=channel))[1]["suppressed"] == "manual"


async def test_only_operators_see_and_change_the_list(bench: Bench) -> None:
    path = f"/v1/suppressions/email/{MAILBOX}"
    for headers in (bench.key("producer"), bench.key("service"), bench.user("ann")):
        for method in ("GET", "PUT", "DELETE"):
            assert (await bench.json(method, path, headers=headers))[0] == 403
    assert (await bench.json("GET", path))[0] == 401
    assert bench.orchestrator.published == []


async def test_a_channel_or_reason_that_there_is_not_is_a_400(ask: Desk) -> None:
    assert [(await ask("GET", "x", channel=channel))[0] for channel in ("inapp", "fax")] == [400, 400]
    status, problem = await ask("DELETE", MAILBOX, query="?reason=dislike")
    assert (status, problem["code"]) == (400, "invalid_parameter")


async def test_without_the_registry_a_change_is_pending_and_a_question_unavailable(tmp_path: Path) -> None:
    async with a_bench(tmp_path, command_timeout="50ms") as bench:
        bench.orchestrator.silent = True
        ask = Desk(bench)
        assert [(await ask(method, MAILBOX, body))[0] for method, body in (("PUT", {}), ("DELETE", None))] == [202, 202]
        assert (await ask("GET", MAILBOX))[0] == 503


async def test_an_answer_of_the_registry_touches_no_profile(bench: Bench, ask: Desk) -> None:
    await ask("PUT", MAILBOX, {})
    assert (bench.ledger.told, bench.orchestrator.profiles) == ({}, {})
    assert list(bench.orchestrator.addresses) == [address_key("email", MAILBOX)]
