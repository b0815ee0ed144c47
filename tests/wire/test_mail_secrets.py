"""SEC-09 for mail: planted credentials, addresses, references, subjects, bodies are in no log, answer or settings."""

import logging

import pytest

from notify_streams.domain.rendered import RenderedEmail
from notify_streams.ports import Message
from notify_streams.settings import Provider as ProviderSettings
from notify_streams.settings import Settings, masked
from tests.builders import NOW
from tests.http_servers import CLOSE, raw_http
from tests.mails import API_KEY, SECRET_KEY, a_message, service_at
from tests.smtp_servers import provider_at, raw_server

PASSWORD, ADDRESS, SUBJECT, BODY = "hunter2-pl4nted", "planted.ann@example.com", "Pl4nted subject", "Pl4nted body"
REFERENCE = "pl4nted-r3ference"
PLANTED = (API_KEY, SECRET_KEY, PASSWORD, ADDRESS, SUBJECT, BODY, REFERENCE)


def a_planted_message() -> Message:
    return a_message(ADDRESS, rendered=RenderedEmail(SUBJECT, BODY, f"<p>{BODY}</p>"), reference=REFERENCE)


def clean(*texts: str) -> bool:
    return not any(planted in text for planted in PLANTED for text in texts)


@pytest.mark.parametrize("kind", ["ses", "sendgrid"])
async def test_services_say_nothing_of_what_they_send(kind: str, caplog: pytest.LogCaptureFixture) -> None:
    """SEC-09."""
    caplog.set_level(logging.DEBUG)
    echo = f"{ADDRESS} {SUBJECT} {API_KEY} {SECRET_KEY} {REFERENCE}".encode()
    refused = b"HTTP/1.1 400 X\r\nx-amzn-ErrorType: %b\r\nContent-Length: %d\r\n\r\n%b" % (echo, len(echo), echo)
    said = []
    for told in (refused, CLOSE, b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}"):
        async with raw_http(told) as server, service_at(kind, server.url) as provider:
            said.append(repr(await provider.send(a_planted_message(), now=NOW)) + repr(provider))
    assert clean(caplog.text, *said)


async def test_smtp_says_nothing_of_what_it_sends(caplog: pytest.LogCaptureFixture) -> None:
    """SEC-09."""
    caplog.set_level(logging.DEBUG)
    said = []
    for phase in ("RCPT", "end", "MAIL"):
        echo = f"550 5.1.1 <{ADDRESS}> is unknown here".encode()
        async with raw_server({phase: echo}) as server, provider_at(server.port) as provider:
            said.append(repr(await provider.send(a_planted_message(), now=NOW)) + repr(provider))
    login = {"EHLO": b"250-raw\r\n250 AUTH PLAIN LOGIN", "AUTH": f"535 5.7.8 no {PASSWORD}".encode()}
    async with (
        raw_server(login) as server,
        provider_at(server.port, username="notify", password=PASSWORD, starttls="never") as provider,
    ):
        said.append(repr(await provider.send(a_planted_message(), now=NOW)) + repr(provider))
        assert any(line.startswith(b"AUTH") for line in server.heard)
        assert said[-1].startswith("Misconfigured")
    assert clean(caplog.text, *said)


def test_settings_are_shown_without_their_secrets() -> None:
    """SEC-09."""
    provider = ProviderSettings(password=PASSWORD, api_key=API_KEY, secret_access_key=SECRET_KEY)
    assert clean(str(masked(Settings(providers={"mail": provider}))))
