"""The simulator as others use it: mails in, its log, its script, its pages, its process."""

import asyncio
import signal
import socket
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from notify_streams.domain.answers import EndpointGone, Sent, TryLater, Unknown
from notify_streams.providers.simulator.serve import Ports, PortTaken, Running, start
from tests.builders import NOW
from tests.smtp_servers import a_mail, provider_at


@pytest.fixture
async def simulator(tmp_path: Path) -> AsyncIterator[Running]:
    running = await start(Ports(), log=tmp_path / "mails.jsonl", credentials=tmp_path / "keys")
    yield running
    await running.close()


async def ask(simulator: Running, path: str, method: str = "GET", **how: Any) -> tuple[int, Any, Any]:
    url = f"http://127.0.0.1:{simulator.http_port}{path}"
    async with aiohttp.ClientSession() as session, session.request(method, url, **how) as answer:
        body = await (answer.json(content_type=None) if "json" in answer.content_type else answer.text())
        return answer.status, body, answer.headers


async def entries(simulator: Running) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = (await ask(simulator, "/log"))[1]["entries"]
    return found


async def test_a_mail_is_in_the_log_when_it_was_accepted(simulator: Running) -> None:
    mail = a_mail()
    async with provider_at(simulator.smtp_port) as provider:
        assert isinstance(await provider.send(mail, now=NOW), Sent)
    (entry,) = await entries(simulator)
    assert (entry["event"], entry["delivery_id"], entry["to"]) == ("accepted", mail.delivery_id, "ann@example.com")
    counts = (await ask(simulator, "/counts"))[1]
    assert counts["providers"] == {"smtp": {"accepted": 1, "refused": 0, "dropped": 0}}
    assert (counts["accepted"], counts["refused"], counts["dropped"]) == (1, 0, 0)


async def test_200_mails_over_16_connections_are_200_lines_each_once(simulator: Running) -> None:
    mails = [a_mail() for _ in range(200)]
    async with provider_at(simulator.smtp_port, concurrency=16) as provider:
        await asyncio.gather(*(provider.send(m, now=NOW) for m in mails))
    assert sorted(e["delivery_id"] for e in await entries(simulator)) == sorted(m.delivery_id for m in mails)


async def test_the_conventions_of_an_address(simulator: Running) -> None:
    """EML-01, EML-02, IDM-03."""
    async with provider_at(simulator.smtp_port) as provider:
        assert isinstance(await provider.send(a_mail("bounce+ann@example.com"), now=NOW), EndpointGone)
        busy = [await provider.send(a_mail("busy-2+ann@example.com"), now=NOW) for _ in range(3)]
        lost = [await provider.send(a_mail("lost+ann@example.com"), now=NOW) for _ in range(2)]
    assert [type(a) for a in busy] == [TryLater, TryLater, Sent]
    assert [type(a) for a in lost] == [Unknown, Sent]
    events = [e["event"] for e in await entries(simulator)]
    assert events == ["refused", "refused", "refused", "accepted", "dropped", "accepted"]


async def test_a_script_put_by_http_is_followed(simulator: Running) -> None:
    rule = {"recipient": "*@example.com", "answers": [{"stage": "data", "code": 554, "text": "5.7.1 spam"}]}
    assert (await ask(simulator, "/script", "PUT", json=rule))[0] == 200
    async with provider_at(simulator.smtp_port) as provider:
        answers = [await provider.send(a_mail(), now=NOW) for _ in range(2)]
    assert [getattr(a, "detail", "") for a in answers] == ["554 5.7.1 spam", ""]
    assert (await ask(simulator, "/script"))[1][0]["recipient"] == "*@example.com"


@pytest.mark.parametrize("body", [b"{", b'{"recipient": "x"}', b'{"recipient": "x", "answers": [{"stage": "never"}]}'])
async def test_a_script_that_makes_no_sense_is_refused_with_the_reason(simulator: Running, body: bytes) -> None:
    status, problem, _ = await ask(simulator, "/script", "PUT", data=body)
    assert status == 400
    assert problem["detail"]


async def test_the_pages_show_the_mails_and_the_html_can_do_nothing(simulator: Running) -> None:
    """SEC-06."""
    mail = a_mail(subject="<b>Zoë</b>", html="<script>alert(1)</script><p>Hello</p>")
    async with provider_at(simulator.smtp_port) as provider:
        await provider.send(mail, now=NOW)
    _, listing, headers = await ask(simulator, "/?q=zoë")
    assert "&lt;b&gt;Zoë&lt;/b&gt;" in listing
    assert "default-src 'none'" in headers["Content-Security-Policy"]
    _, page, _ = await ask(simulator, "/mail/1")
    assert '<iframe src="/message/1/html" sandbox' in page
    assert mail.delivery_id in page
    _, html, headers = await ask(simulator, "/mail/1/html")
    assert "<script>" in html
    assert headers["Content-Security-Policy"].startswith("sandbox; default-src 'none'")
    assert "Nothing matches" in (await ask(simulator, "/?q=nobody"))[1]
    assert (await ask(simulator, "/mail/7"))[0] == 404


async def test_ready_means_that_mails_are_taken(simulator: Running) -> None:
    assert (await ask(simulator, "/readyz"))[0] == 200
    await simulator.smtp.close()
    assert (await ask(simulator, "/readyz"))[0] == 503
    assert (await ask(simulator, "/healthz"))[0] == 200


async def test_a_log_that_was_cleared_is_empty(simulator: Running) -> None:
    async with provider_at(simulator.smtp_port) as provider:
        await provider.send(a_mail(), now=NOW)
        assert (await ask(simulator, "/log", "DELETE"))[0] == 204
        await provider.send(a_mail(), now=NOW)
    assert [e["n"] for e in await entries(simulator)] == [1]


async def test_a_taken_port_says_what_to_do(simulator: Running, tmp_path: Path) -> None:
    with pytest.raises(PortTaken, match="another --smtp-port"):
        await start(Ports(smtp=simulator.smtp_port), log=tmp_path / "other.jsonl", credentials=tmp_path / "keys")
    with pytest.raises(PortTaken, match="another --http-port"):
        await start(Ports(http=simulator.http_port), log=tmp_path / "other.jsonl", credentials=tmp_path / "keys")


async def test_the_process_serves_until_it_is_told_to_stop(tmp_path: Path) -> None:
    words = (
        "-m",
        "notify_streams",
        "providers",
        "simulate",
        "--smtp-port",
        "0",
        "--http-port",
        "0",
        "--apns-port",
        "0",
        "--log",
        "m.jsonl",
    )
    process = await asyncio.create_subprocess_exec(sys.executable, *words, cwd=tmp_path, stdout=asyncio.subprocess.PIPE)
    assert process.stdout is not None
    said = (await asyncio.wait_for(process.stdout.readline(), 20)).decode()
    port = int(said.split("smtp://127.0.0.1:")[1].split(",")[0])
    async with provider_at(port) as provider:
        assert isinstance(await provider.send(a_mail(), now=NOW), Sent)
        process.send_signal(signal.SIGTERM)
        assert await asyncio.wait_for(process.wait(), 5) == 0
    assert len((tmp_path / "m.jsonl").read_text().splitlines()) == 1
    with socket.socket() as probe:
        assert probe.connect_ex(("127.0.0.1", port)) != 0
