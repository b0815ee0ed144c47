"""The SMTP simulator met by a client that nobody here wrote: the standard library's smtplib."""

import asyncio
import smtplib
from collections.abc import AsyncIterator
from pathlib import Path

import aiohttp
import pytest

from notify_streams.providers.simulator.serve import Ports, Running, start

MAIL = "Subject: Hello\r\nMessage-ID: <d-1@notify.example>\r\n\r\nHello\r\n.\r\n..\r\nBye\r\n"
SENDER = "no-reply@notify.example"


@pytest.fixture
async def simulator(tmp_path: Path) -> AsyncIterator[Running]:
    running = await start(Ports(), log=tmp_path / "mails.jsonl", credentials=tmp_path / "keys")
    yield running
    await running.close()


async def told(simulator: Running, *rules: tuple[str, int, str]) -> None:
    """What RCPT answers each of these recipients, once."""
    async with aiohttp.ClientSession(f"http://127.0.0.1:{simulator.http_port}") as session:
        for recipient, code, text in rules:
            rule = {"recipient": recipient, "answers": [{"stage": "rcpt", "code": code, "text": text}]}
            assert (await session.put("/script", json=rule)).status == 200


async def sent(simulator: Running, to: list[str]) -> dict[str, tuple[int, bytes]]:
    """The recipients that were refused. Raises what smtplib raises."""

    def converse() -> dict[str, tuple[int, bytes]]:
        with smtplib.SMTP("127.0.0.1", simulator.smtp_port, timeout=10) as client:
            return client.sendmail(SENDER, to, MAIL)

    return await asyncio.to_thread(converse)


async def test_a_mail_arrives_with_its_dots(simulator: Running) -> None:
    assert await sent(simulator, ["ann@example.com"]) == {}
    (mail,) = simulator.log.mails
    assert mail.content == MAIL.encode()


async def test_one_of_three_recipients_is_refused_and_the_other_two_get_one_mail(simulator: Running) -> None:
    """EML-03: RCPT answers 250, 550, 250."""
    await told(simulator, ("gone@example.com", 550, "5.1.1 no such user"))
    to = ["ann@example.com", "gone@example.com", "ben@example.com"]
    assert await sent(simulator, to) == {"gone@example.com": (550, b"5.1.1 no such user")}
    assert simulator.log.counts == {"refused": 1, "accepted": 1}
    assert simulator.log.recent[-1].to == "ann@example.com, ben@example.com"


async def test_nothing_is_taken_when_all_recipients_are_refused(simulator: Running) -> None:
    await told(simulator, ("ann@example.com", 550, "5.1.1 gone"), ("ben@example.com", 452, "4.2.2 full"))
    with pytest.raises(smtplib.SMTPRecipientsRefused) as refused:
        await sent(simulator, ["ann@example.com", "ben@example.com"])
    assert {to: code for to, (code, _) in refused.value.recipients.items()} == {
        "ann@example.com": 550,
        "ben@example.com": 452,
    }
    assert simulator.log.counts == {"refused": 2}


async def test_commands_out_of_order_are_refused_and_the_session_goes_on(simulator: Running) -> None:
    def converse() -> list[int]:
        with smtplib.SMTP("127.0.0.1", simulator.smtp_port, timeout=10) as client:
            client.ehlo()
            early = client.docmd("DATA")[0], client.rcpt("ann@example.com")[0]
            client.mail(SENDER)
            client.rset()
            late = client.docmd("DATA")[0]
            return [*early, late, client.noop()[0]]

    codes = await asyncio.to_thread(converse)
    assert codes[:3] == [503, 503, 503]
    assert codes[3] == 250
