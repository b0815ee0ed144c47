"""The simulator with every protocol up: the settings that it names make each adapter speak with it."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from notify_streams.domain.answers import EndpointGone, Sent, TryLater, Unknown
from notify_streams.providers.simulator.script import Reply, Rule, Weather
from notify_streams.providers.simulator.serve import Ports, Running, start
from tests.every_protocol import CHANNELS, Told, a_gateway, sent


@pytest.fixture
async def gateway() -> AsyncIterator[Told]:
    async with a_gateway() as told:
        yield told


@pytest.fixture
async def simulator(tmp_path: Path, gateway: Told) -> AsyncIterator[Running]:
    running = await start(Ports(), log=tmp_path / "log.jsonl", credentials=tmp_path / "keys", receipts_to=gateway.url)
    yield running
    await running.close()


@pytest.mark.parametrize("name", CHANNELS)
async def test_every_adapter_speaks_with_it_by_its_own_settings(simulator: Running, name: str) -> None:
    message, answer = await sent(simulator, name)
    assert isinstance(answer, Sent), answer
    [entry] = [e for e in simulator.log.recent if e.provider == name]
    assert entry.event == "accepted"
    assert entry.delivery_id == message.delivery_id or name == "twilio"


@pytest.mark.parametrize("name", CHANNELS)
async def test_what_the_script_tells_a_recipient_is_what_they_get(simulator: Running, name: str) -> None:
    busy = Reply("data", 451 if name == "smtp" else 503, "4.3.0 busy")
    simulator.script.put(Rule("*", (busy, Reply("drop")), provider=name))
    answers = [(await sent(simulator, name))[1] for _ in range(3)]
    assert [type(a) for a in answers] == [TryLater, Unknown, Sent] or name in ("fcm", "apns", "webpush", "webhook")
    assert isinstance(answers[0], TryLater)
    assert not isinstance(answers[1], Sent)
    assert isinstance(answers[2], Sent)
    assert [e.event for e in simulator.log.recent if e.provider == name] == ["refused", "dropped", "accepted"]


@pytest.mark.parametrize("name", ["fcm", "apns", "webpush"])
async def test_a_device_that_is_gone_is_gone_in_its_vendors_words(simulator: Running, name: str) -> None:
    simulator.script.put(Rule("*", (Reply("data", 404 if name == "fcm" else 410),), provider=name))
    assert isinstance((await sent(simulator, name))[1], EndpointGone)


async def test_weather_is_for_everybody_whom_no_rule_names(simulator: Running) -> None:
    simulator.script.forecast(Weather("fcm", refused=1.0, code=503))
    assert isinstance((await sent(simulator, "fcm"))[1], TryLater)
    simulator.script.put(Rule("device:*", (Reply("delay"),), provider="fcm"))
    assert isinstance((await sent(simulator, "fcm"))[1], Sent)
    assert isinstance((await sent(simulator, "apns"))[1], Sent)


@pytest.mark.parametrize(("name", "said"), [("ses", b"Delivery"), ("sendgrid", b"delivered")])
async def test_mail_is_told_of_later_in_the_vendors_form(
    simulator: Running, gateway: Told, name: str, said: bytes
) -> None:
    message, _ = await sent(simulator, name)
    body = await gateway.until(f"/v1/receipts/{name}", said)
    assert message.reference.encode() in body


async def test_a_text_message_is_told_of_where_it_asks_for_it(simulator: Running, gateway: Told) -> None:
    await sent(simulator, "twilio", public_url=gateway.url)
    assert b"MessageStatus=delivered" in await gateway.until("/v1/receipts/twilio", b"delivered")


async def test_a_rule_says_what_follows(simulator: Running, gateway: Told) -> None:
    simulator.script.put(Rule("ann@*", (), then=("delivered", "complained")))
    await sent(simulator, "sendgrid")
    await gateway.until("/v1/receipts/sendgrid", b"spamreport")


async def test_the_keys_are_made_once_and_only_their_owner_reads_them(tmp_path: Path) -> None:
    first = await start(Ports(), log=tmp_path / "1.jsonl", credentials=tmp_path / "keys")
    await first.close()
    again = await start(Ports(), log=tmp_path / "2.jsonl", credentials=tmp_path / "keys")
    await again.close()
    assert again.settings["providers.twilio"]["auth_token"] == first.settings["providers.twilio"]["auth_token"]
    assert again.application_server_key == first.application_server_key
    assert {path.stat().st_mode & 0o077 for path in (tmp_path / "keys").iterdir()} == {0}
