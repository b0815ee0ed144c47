"""The simulator's pages as a browser gets them: the list, a message of each kind, weather and rules."""

import asyncio
import re
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from notify_streams.providers.simulator.script import Reply, Rule, Weather
from notify_streams.providers.simulator.serve import Ports, Running, start
from tests.every_protocol import CHANNELS, Told, a_gateway, address_of, sent


@pytest.fixture
async def gateway() -> AsyncIterator[Told]:
    async with a_gateway() as told:
        yield told


@pytest.fixture
async def simulator(tmp_path: Path, gateway: Told) -> AsyncIterator[Running]:
    running = await start(Ports(), log=tmp_path / "log.jsonl", credentials=tmp_path / "keys", receipts_to=gateway.url)
    yield running
    await running.close()


async def ask(simulator: Running, path: str, method: str = "GET", **how: Any) -> tuple[int, str]:
    url = f"http://127.0.0.1:{simulator.http_port}{path}"
    async with aiohttp.ClientSession() as session, session.request(method, url, **how) as answer:
        assert answer.status >= 300 or answer.content_type != "text/html" or "Content-Security-Policy" in answer.headers
        return answer.status, await answer.text()


async def shown(simulator: Running, words: str) -> str:
    """The first message's page as soon as these words are on it."""
    async with asyncio.timeout(10):
        while words not in (page := (await ask(simulator, "/message/1"))[1]):  # noqa: ASYNC110 -- it is in a page
            await asyncio.sleep(0.05)
    return page


def from_own_page(simulator: Running) -> dict[str, str]:
    return {"Origin": f"http://127.0.0.1:{simulator.http_port}"}


def rows(page: str) -> list[str]:
    return page.partition("<tbody>")[2].split("<tr>")[1:]


@pytest.mark.parametrize("name", CHANNELS)
async def test_a_message_of_every_protocol_is_a_line_that_says_what_it_says(simulator: Running, name: str) -> None:
    await sent(simulator, name)
    [row] = rows((await ask(simulator, f"/?provider={name}"))[1])
    says = {"push": "Hello: Dear Ann", "sms": "Dear Ann", "webhook": "order.confirmed"}.get(CHANNELS[name], "Hello")
    assert f">{says}</a>" in row
    assert re.search(r"\d (ms|s)<", row), "the latency of its answer"


async def test_the_list_is_narrowed_by_what_is_in_its_address(simulator: Running) -> None:
    simulator.script.put(Rule("*", (Reply("data", 503),), provider="fcm"))
    for name in ("sendgrid", "twilio", "fcm", "fcm"):
        await sent(simulator, name)
    for query, count in (
        ("", 4),
        ("provider=fcm", 2),
        ("answer=refused", 1),
        ("to=ann%40EXAMPLE", 1),
        ("q=dear", 3),
        ("provider=fcm&answer=accepted&q=503", 0),
        ("before=3", 2),
        ("before=x&answer=never", 4),
    ):
        assert len(rows((await ask(simulator, f"/?{query}"))[1])) == count, query


async def test_more_than_a_page_has_older_ones_behind_a_link(simulator: Running) -> None:
    for n in range(130):
        simulator.log.add(provider="webhook", event="accepted", to=f"/hooks/{n}", answer="204")
    first = (await ask(simulator, "/"))[1]
    assert len(rows(first)) == 100
    older = (await ask(simulator, "/?before=31"))[1]
    assert 'href="/?before=31"' in first
    assert len(rows(older)) == 30


async def test_a_repeat_of_a_reference_is_counted_and_linked(simulator: Running) -> None:
    for _ in range(2):
        simulator.log.add(provider="sendgrid", event="accepted", to="ann@example.com", answer="202", delivery_id="d-1")
    assert all('dropped seen">2<' in row for row in rows((await ask(simulator, "/"))[1]))
    assert '2 times: also <a href="/message/2">' in (await ask(simulator, "/message/1"))[1]


async def test_a_push_is_shown_as_a_card_with_what_its_service_was_told(simulator: Running) -> None:
    for name in ("webpush", "apns", "fcm"):
        await sent(simulator, name)
    web, apns, fcm = [(await ask(simulator, f"/message/{n}"))[1] for n in (1, 2, 3)]
    assert all("<h3>Hello</h3>" in page and "<p>Dear Ann</p>" in page for page in (web, apns, fcm))
    assert "<dt>TTL</dt>" in web
    assert "<dt>Urgency</dt>" in web
    assert "as the browser decrypted it" in web
    assert "<dt>apns-push-type</dt>" in apns
    assert "collapse_key" in fcm
    assert not re.search("bearer|vapid", web + apns + fcm, re.IGNORECASE)


async def test_a_text_has_its_segments_and_the_statuses_that_were_posted(simulator: Running, gateway: Told) -> None:
    await sent(simulator, "twilio", public_url=gateway.url)
    page = await shown(simulator, "<td>delivered</td>")
    assert "GSM 7-bit, 8 units" in page
    assert [word for word in ("queued", "sent", "delivered") if f"<td>{word}</td>" in page] == [
        "queued",
        "sent",
        "delivered",
    ]
    assert "?ref=" not in page
    assert "/v1/receipts/twilio?…" in page


async def test_receipts_of_a_mail_say_when_what_and_how_they_were_answered(simulator: Running) -> None:
    simulator.script.put(Rule("ann@*", (), then=("delivered", "complained")))
    await sent(simulator, "sendgrid")
    page = await shown(simulator, "<td>spamreport</td>")
    assert [len(re.findall(f"<td>{word}</td>", page)) for word in ("delivered", "spamreport")] == [1, 1]
    assert page.count('class="accepted">200</td>') == 2
    assert "It said later: delivered, spamreport." in page


async def test_a_webhook_has_its_verdict(simulator: Running) -> None:
    await sent(simulator, "webhook")
    address = await address_of(simulator, "webhook")
    assert (await ask(simulator, address.partition(str(simulator.http_port))[2], "POST", data=b"{}"))[0] == 401
    assert "The signature is right." in (await ask(simulator, "/message/1"))[1]
    assert "The signature is not that of" in (await ask(simulator, "/message/2"))[1]


async def test_what_a_message_brings_is_text_on_every_page(simulator: Running) -> None:
    """SEC-06."""
    simulator.log.add(
        provider="webpush", event="accepted", to="<i>", answer="201", content=b'{"title": "<script>alert(1)</script>"}'
    )
    for path in ("/", "/message/1"):
        page = (await ask(simulator, path))[1]
        assert "<script>alert" not in page
        assert "&lt;i&gt;" in page


async def test_the_first_sentence_says_which_weather_is_in_force(simulator: Running) -> None:
    assert "Every provider takes everything at once." in (await ask(simulator, "/behaviour"))[1]
    form = {"provider": "fcm", "refused": "100", "code": "503", "latency_s": "0"}
    answer = await ask(simulator, "/behaviour/weather", "POST", data=form, headers=from_own_page(simulator))
    assert answer[0] == 200, "after the way back to the page"
    await sent(simulator, "fcm")
    assert simulator.script.weather[0] == Weather("fcm", refused=1.0)
    assert re.search(r"FCM answers 503 since \d\d:\d\d; 1 call went wrong\.", (await ask(simulator, "/behaviour"))[1])
    cleared = {"provider": "fcm", "refused": "0"}
    await ask(simulator, "/behaviour/weather", "POST", data=cleared, headers=from_own_page(simulator))
    assert not simulator.script.weather


async def test_a_rule_is_added_counted_and_removed(simulator: Running) -> None:
    own = from_own_page(simulator)
    form = {"recipient": "device:*", "provider": "fcm", "stage": "data", "code": "404", "times": "2", "then": ""}
    await ask(simulator, "/behaviour/rule", "POST", data=form, headers=own)
    await sent(simulator, "fcm")
    page = (await ask(simulator, "/behaviour"))[1]
    assert "1 rule for single recipients." in page
    assert "404 2 times" in page
    assert '<td class="r">1</td>' in page
    await ask(simulator, "/behaviour/rule", "POST", data={"recipient": "device:*", "provider": "fcm"}, headers=own)
    assert simulator.script.rules == ()


@pytest.mark.parametrize("form", [{"provider": "fcm", "refused": "many"}, {"provider": "fcm", "refused": "101"}])
async def test_a_form_that_makes_no_sense_changes_nothing_and_says_why(
    simulator: Running, form: dict[str, str]
) -> None:
    own = from_own_page(simulator)
    status, page = await ask(simulator, "/behaviour/weather", "POST", data=form, headers=own)
    assert status == 422
    assert "Not changed:" in page
    assert simulator.script.weather == ()


@pytest.mark.parametrize(
    ("method", "path", "headers"),
    [
        ("POST", "/behaviour/clear", {}),
        ("POST", "/behaviour/clear", {"Origin": "null"}),
        ("POST", "/behaviour/clear", {"Origin": "https://evil.example"}),
        ("POST", "/behaviour/clear", {"Sec-Fetch-Site": "cross-site"}),
        ("POST", "/behaviour/clear", {"Origin": "http://evil.example:1", "Host": "evil.example:1"}),
        ("DELETE", "/script", {"Origin": "https://evil.example"}),
        ("DELETE", "/log", {"Sec-Fetch-Site": "same-site"}),
    ],
)
async def test_other_sites_change_nothing(simulator: Running, method: str, path: str, headers: dict[str, str]) -> None:
    simulator.script.forecast(Weather("fcm", refused=1.0))
    assert (await ask(simulator, path, method, headers=headers))[0] == 403
    assert simulator.script.weather
