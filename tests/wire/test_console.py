"""The console over HTTP: who may enter, what its pages show, what a form changes."""

import asyncio
import os
import re
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import aiohttp
import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer

from notify_streams.gateway.console.routes import Desk
from notify_streams.gateway.console.watching import Watching
from notify_streams.ports import Unavailable
from notify_streams.records.explain import explain
from schemas.deadletters import DeadLetter
from tests.facts import a_decision, an_id
from tests.wire.gateway_parts import Bench, a_bench, an_item
from tests.wire.test_gateway_failures import a_failure

PAGES = (
    "/console",
    "/console/find",
    "/console/failures",
    "/console/providers",
    "/console/dead-letters",
    "/console/timers",
    "/console/settings",
    "/console/users/ann",
    f"/console/notifications/{an_id()}",
)
TWINS = ("/v1/console/now", "/v1/console/providers", "/v1/console/settings", "/v1/dead-letters")
EVIL = "<script>alert(1)</script>"
METRICS = """notify_consumer_lag{role="sender-sms",topic="t"} 3
notify_breaker_state{provider="twilio"} 2
"""


@dataclass
class Letters:
    """Dead letters in memory."""

    kept: list[DeadLetter] = field(default_factory=list)
    put_back: list[str] = field(default_factory=list)
    away: bool = False

    async def newest(self, limit: int, *, stage: str = "", error_class: str = "") -> Sequence[DeadLetter]:
        if self.away:
            raise Unavailable("the broker is away")
        return [one for one in self.kept if stage in ("", one.stage) and error_class in ("", one.error_class)][:limit]

    async def redrive(self, ids: Sequence[str]) -> int:
        known = {one.id for one in self.kept}
        for id_ in ids:
            if id_ not in known:
                raise LookupError(id_)
        self.put_back += ids
        return len(ids)


def a_letter(id_: str, **fields: Any) -> DeadLetter:
    known: dict[str, Any] = {
        "topic": "notify.events.normal",
        "partition": 0,
        "offset": 7,
        "timestamp": 1,
        "attempts": 1,
        "error_class": "ValidationError",
        "error": "$.data.recipients[3]: expected str",
        "stage": "ingest",
        "failed_at": 1_796_000_000_000,
        "version": "0.1.0",
        "key": b"k",
        "value": EVIL.encode(),
    }
    return DeadLetter(id=id_, **{**known, **fields})


@pytest.fixture
async def metrics() -> AsyncIterator[str]:
    app = web.Application()
    app.router.add_get("/metrics", _answer)
    async with TestServer(app) as server:
        yield str(server.make_url("/metrics"))


async def _answer(request: web.Request) -> web.Response:
    return web.Response(text=METRICS)


@pytest.fixture
def letters() -> Letters:
    return Letters()


async def _no_timers(user: str) -> list[Any]:
    return []


@pytest.fixture
async def bench(tmp_path: Path, letters: Letters, metrics: str) -> AsyncIterator[Bench]:
    watching = Watching([metrics, "http://127.0.0.1:1/metrics"])
    desk = Desk(letters=letters, timers_of=_no_timers, watching=watching)
    async with a_bench(tmp_path, desk=desk, explain=explain) as bench:
        yield bench
    await watching.close()


async def signed_in(bench: Bench) -> str:
    """Through the door; a token for forms."""
    secret = bench.key("operator")["Authorization"].split()[1]
    form = {"key": secret, "next": "/console/settings"}
    async with bench.client.post("/console/sign-in", data=form, allow_redirects=False) as response:
        assert (response.status, response.headers["Location"]) == (303, "/console/settings")
        cookie = response.headers["Set-Cookie"]
        assert "HttpOnly" in cookie
        assert "SameSite=Strict" in cookie
        name, _, value = cookie.partition(";")[0].partition("=")
        bench.client.session.cookie_jar.update_cookies({name: value}, bench.client.make_url("/"))
    page = await text(bench, "/console/settings")
    found = re.search(r'<meta name="csrf" content="([^"]+)">', page)
    assert found is not None
    return found[1]


async def text(bench: Bench, path: str, status: int = 200, **options: Any) -> str:
    async with bench.client.get(path, **options) as response:
        assert response.status == status, await response.text()
        return await response.text()


@pytest.mark.parametrize("path", PAGES)
async def test_who_is_not_signed_in_comes_to_the_door_and_from_there_to_the_page(bench: Bench, path: str) -> None:
    async with bench.client.get(path, allow_redirects=False) as response:
        assert response.status == 303
        assert response.headers["Location"] == f"/console/sign-in?next={path.replace('/', '%2F')}"
    async with bench.client.get(path, headers=bench.user("ann")) as response:
        assert response.status == 403
    async with bench.client.get(path, headers=bench.key("producer")) as response:
        assert response.status == 403


@pytest.mark.parametrize("path", TWINS)
async def test_the_twins_want_an_operators_key_or_the_cookie(bench: Bench, path: str) -> None:
    assert (await bench.json("GET", path))[0] == 401
    assert (await bench.json("GET", path, headers=bench.key("producer")))[0] == 403
    assert (await bench.json("GET", path, headers=bench.key("operator")))[0] == 200
    await signed_in(bench)
    assert (await bench.json("GET", path))[0] == 200


@pytest.mark.parametrize("key", ["", "nk_wrong", "nk_ü", "x" * 5000])
async def test_a_wrong_key_opens_nothing(bench: Bench, key: str) -> None:
    async with bench.client.post("/console/sign-in", data={"key": key}) as response:
        assert response.status == 403
        assert "Set-Cookie" not in response.headers
        if key:
            assert key not in await response.text()


async def test_a_producers_key_opens_nothing(bench: Bench) -> None:
    secret = bench.key("producer")["Authorization"].split()[1]
    async with bench.client.post("/console/sign-in", data={"key": secret}) as response:
        assert response.status == 403


@pytest.mark.parametrize(
    "then", ["https://evil.example/", "//evil.example/console", "/consolex", "/console/\\evil", "/v1/events", ""]
)
async def test_the_door_leads_inside_and_nowhere_else(bench: Bench, then: str) -> None:
    secret = bench.key("operator")["Authorization"].split()[1]
    form = {"key": secret, "next": then}
    async with bench.client.post("/console/sign-in", data=form, allow_redirects=False) as response:
        assert response.headers["Location"] == "/console"


async def test_guessing_is_slowed_down(bench: Bench) -> None:
    statuses = []
    for _ in range(12):
        async with bench.client.post("/console/sign-in", data={"key": "nk_x"}) as response:
            statuses.append(response.status)
    assert 429 in statuses


async def test_a_key_that_is_revoked_ends_its_sessions(bench: Bench) -> None:
    await signed_in(bench)
    os.unlink(bench.settings.auth.keys_file)
    bench.key("operator")  # the file is there again, with another key
    await asyncio.sleep(0.3)  # looked at four times a second
    async with bench.client.get("/console/settings", allow_redirects=False) as response:
        assert response.status == 303


async def test_signing_out_needs_the_form_and_ends_the_session_here(bench: Bench) -> None:
    token = await signed_in(bench)
    async with bench.client.post("/console/sign-out", data={"csrf": "wrong"}, allow_redirects=False) as response:
        assert response.status == 403
    async with bench.client.post("/console/sign-out", data={"csrf": token}, allow_redirects=False) as response:
        assert response.status == 303
    async with bench.client.get("/console", allow_redirects=False) as response:
        assert response.status == 303


async def test_every_page_is_drawn_and_loads_nothing_from_elsewhere(bench: Bench) -> None:
    await signed_in(bench)
    for path in PAGES[:-1]:
        async with bench.client.get(path) as response:
            assert response.status == 200, path
            policy = response.headers["Content-Security-Policy"]
            assert "default-src 'none'" in policy
            assert "unsafe-inline" not in policy
            body = await response.text()
        assert not re.search(r"<style|\sstyle=|\son\w+=|<script(?! type=\"module\" src=\"/console/)", body), path


async def test_now_says_what_the_processes_say_and_who_is_silent(bench: Bench) -> None:
    page = await text(bench, "/console", headers=bench.key("operator"))
    assert "twilio is open" in page
    assert "http://127.0.0.1:1/metrics does not answer" in page
    _, now = await bench.json("GET", "/v1/console/now", headers=bench.key("operator"))
    assert now["mood"] == "bad"
    assert "sender-sms" in [hop["role"] for hop in now["hops"]]
    twilio = next(one for one in now["providers"] if one["provider"] == "twilio")  # this process has others of its own
    assert (twilio["breaker"], twilio["since"] is None) == ("open", False)


async def test_a_page_asks_for_its_inside_alone(bench: Bench) -> None:
    ops = bench.key("operator")
    inside = await text(bench, "/console", headers=ops | {"X-Fragment": "1"})
    assert inside.lstrip().startswith("<h1>Now</h1>")
    assert "<html" not in inside
    async with bench.client.get("/console", headers={"X-Fragment": "1"}) as response:
        assert response.status == 401


async def test_failures_are_grouped_by_reason_and_lead_to_their_stories(bench: Bench) -> None:
    failures = [a_failure(at=a_failure().at - 1000 * n) for n in range(3)]
    bench.store.failed = [*failures]
    page = await text(bench, "/console/failures?channel=email&hours=24", headers=bench.key("operator"))
    assert "3 deliveries by email failed in a day." in page
    assert f"/console/notifications/{failures[0].notification_id}" in page
    assert "550 5.1.1" in page


async def test_a_story_tells_what_was_decided_and_from_what(bench: Bench) -> None:
    decision = a_decision()
    id_ = decision.notification.notification_id
    bench.store.known[id_] = [decision]
    page = await text(bench, f"/console/notifications/{id_}", headers=bench.key("operator"))
    assert "What it was decided from" in page
    assert decision.catalogue in page
    await text(bench, f"/console/notifications/{an_id()}", 404, headers=bench.key("operator"))
    await text(bench, "/console/notifications/none", 404, headers=bench.key("operator"))


async def test_a_user_is_shown_with_addresses_masked(bench: Bench) -> None:
    ops = bench.key("operator")
    body = {"address": "ann.secret@example.com", "verified": True}
    assert (await bench.json("PUT", "/v1/users/ann/endpoints/email/home", headers=ops, json=body))[0] == 200
    bench.store.items = [an_item(1)]
    page = await text(bench, "/console/users/ann", headers=ops)
    assert "ann.secret" not in page
    assert "a…@example.com" in page
    assert "inapp 1" in page


async def test_what_others_wrote_is_text_and_nothing_else(bench: Bench, letters: Letters) -> None:
    letters.kept = [a_letter("0-1", error=EVIL, stage=EVIL, error_class=EVIL)]
    bench.store.failed = [a_failure(detail=EVIL, type=EVIL, user_id="a'\"<b>")]
    ops = bench.key("operator")
    for path in (
        "/console/dead-letters",
        "/console/failures",
        f"/console/find?q={EVIL}",
        f"/console/timers?user={EVIL}",
    ):
        page = await text(bench, path, headers=ops)
        assert "<script>alert" not in page, path
        assert "<b>" not in page.partition("<main")[2], path


async def test_dead_letters_go_back_once_their_number_is_typed(bench: Bench, letters: Letters) -> None:
    letters.kept = [a_letter("0-1"), a_letter("0-2"), a_letter("1-1", stage="inbox")]
    token = await signed_in(bench)
    page = await text(bench, "/console/dead-letters?stage=ingest")
    assert "0-1" in page
    assert "1-1" not in page
    form = [("csrf", token), ("id", "0-1"), ("id", "0-2"), ("typed", "2"), ("stage", "ingest")]
    async with bench.client.post("/console/dead-letters/redrive", data=form, allow_redirects=False) as response:
        assert response.status == 303
        assert response.headers["Location"] == "/console/dead-letters?stage=ingest&class=&put_back=2"
    assert letters.put_back == ["0-1", "0-2"]
    assert "2 were put back." in await text(bench, "/console/dead-letters?put_back=2")


@pytest.mark.parametrize(
    ("form", "status"),
    [
        ([("id", "0-1"), ("typed", "1"), ("csrf", "of another session")], 403),
        ([("id", "0-1"), ("typed", "1")], 403),
        ([("id", "0-1"), ("typed", "2"), ("csrf", "")], 422),
        ([("typed", "0"), ("csrf", "")], 422),
        ([("id", "0-1"), ("id", "9-9"), ("typed", "2"), ("csrf", "")], 404),
    ],
)
async def test_nothing_goes_back_that_was_not_confirmed(
    bench: Bench, letters: Letters, form: list[tuple[str, str]], status: int
) -> None:
    letters.kept = [a_letter("0-1")]
    token = await signed_in(bench)
    sent = [(name, token if name == "csrf" and not value else value) for name, value in form]
    async with bench.client.post("/console/dead-letters/redrive", data=sent, allow_redirects=False) as response:
        assert response.status == status
    assert letters.put_back == []


async def test_a_form_of_nobody_changes_nothing(bench: Bench, letters: Letters) -> None:
    letters.kept = [a_letter("0-1")]
    form = {"id": "0-1", "typed": "1", "csrf": ""}
    async with bench.client.post("/console/dead-letters/redrive", data=form, allow_redirects=False) as response:
        assert (response.status, response.headers["Location"]) == (303, "/console/sign-in")
    assert letters.put_back == []


async def test_an_engine_that_is_away_is_a_page_that_says_so(bench: Bench, letters: Letters) -> None:
    letters.away = bench.store.away = True
    ops = bench.key("operator")
    for path in ("/console/dead-letters", "/console/failures", "/console/users/ann"):
        assert "does not answer" in await text(bench, path, 503, headers=ops)


async def test_secrets_are_masked_among_the_settings(bench: Bench) -> None:
    page = await text(bench, "/console/settings", headers=bench.key("operator"))
    assert bench.settings.auth.jwt_secret not in page
    assert "auth.jwt_secret" in page


async def test_files_are_served_with_their_types_and_no_other_file_is(bench: Bench) -> None:
    for name, type_ in (("console.css", "text/css"), ("console.js", "text/javascript")):
        async with bench.client.get(f"/console/assets/{name}") as response:
            assert (response.status, response.content_type) == (200, type_)
            tag = response.headers["ETag"]
        async with bench.client.get(f"/console/assets/{name}", headers={"If-None-Match": tag}) as response:
            assert response.status == 304
    for name in ("..%2fpages.py", "base.html", "none.css", "%2e%2e"):
        async with bench.client.get(f"/console/assets/{name}") as response:
            assert response.status == 404, name


async def test_in_an_open_installation_forms_of_other_sites_are_refused(tmp_path: Path, letters: Letters) -> None:
    letters.kept = [a_letter("0-1")]
    desk = Desk(letters=letters, timers_of=_no_timers, watching=Watching([]))
    form = {"id": "0-1", "typed": "1"}
    async with a_bench(tmp_path, desk=desk, mode="open") as bench:
        cross = {"Sec-Fetch-Site": "cross-site"}
        async with bench.client.post("/console/dead-letters/redrive", data=form, headers=cross) as response:
            assert response.status == 403
        assert letters.put_back == []
        async with bench.client.post("/console/dead-letters/redrive", data=form, allow_redirects=False) as response:
            assert response.status == 303
    await desk.watching.close()
    assert letters.put_back == ["0-1"]


async def test_the_cookie_is_for_https_alone_where_the_address_is(tmp_path: Path, letters: Letters) -> None:
    desk = Desk(letters=letters, timers_of=_no_timers, watching=Watching([]))
    async with a_bench(tmp_path, desk=desk, public_url="https://notify.example") as bench:
        secret = bench.key("operator")["Authorization"].split()[1]
        form = aiohttp.FormData({"key": secret})
        async with bench.client.post("/console/sign-in", data=form, allow_redirects=False) as response:
            assert "Secure" in response.headers["Set-Cookie"]
    await desk.watching.close()
