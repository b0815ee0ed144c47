"""The SMTP adapter against servers that answer, refuse, hang and vanish in every phase."""

import asyncio
import dataclasses
import ssl
from collections import Counter
from pathlib import Path

import msgspec
import pytest
from aiosmtpd.smtp import SMTP, AuthResult, Envelope, LoginPassword, Session

from notify_streams import settings
from notify_streams.domain.answers import Answer, EndpointGone, Misconfigured, Refused, Sent, TryLater, Unknown
from notify_streams.providers.smtp.adapter import SmtpProvider
from notify_streams.providers.smtp.pool import Pool
from tests.builders import NOW
from tests.smtp_servers import CLOSE, HANG, a_mail, provider_at, raw_server, self_signed

NOBODY = TryLater("", about="provider")
BEFORE_THE_FINAL_DOT = ("greeting", "EHLO", "MAIL", "RCPT", "DATA")
LARGE = "<p>" + "x" * 20_000_000 + "</p>"


@pytest.mark.parametrize("phase", BEFORE_THE_FINAL_DOT)
async def test_a_connection_lost_before_the_final_dot_may_be_tried_again(phase: str) -> None:
    async with raw_server({phase: CLOSE}) as server, provider_at(server.port) as provider:
        assert kind(await provider.send(a_mail(), now=NOW)) == NOBODY
        assert server.mails == []


@pytest.mark.parametrize("phase", BEFORE_THE_FINAL_DOT)
async def test_silence_before_the_final_dot_may_be_tried_again(phase: str) -> None:
    async with raw_server({phase: HANG}) as server, provider_at(server.port, timeout="200ms") as provider:
        assert kind(await provider.send(a_mail(), now=NOW)) == NOBODY


@pytest.mark.parametrize("told", [CLOSE, HANG])
async def test_a_mail_that_was_only_half_sent_may_be_tried_again(told: bytes) -> None:
    async with raw_server({"content": told}) as server, provider_at(server.port, timeout="1s") as provider:
        assert isinstance(await provider.send(a_mail(html=LARGE), now=NOW), TryLater)


@pytest.mark.parametrize("told", [CLOSE, HANG, b"gibberish"])
async def test_no_answer_after_the_final_dot_is_unknown(told: bytes) -> None:
    """IDM-03."""
    async with raw_server({"end": told}) as server, provider_at(server.port, timeout="500ms") as provider:
        assert isinstance(await provider.send(a_mail(), now=NOW), Unknown)
        assert len(server.mails) == 1


async def test_both_attempts_at_a_delivery_carry_the_same_message_id() -> None:
    """IDM-03: the answer is lost once, the repeat is the same mail."""
    mail = a_mail()
    async with raw_server({"end": CLOSE}, once=True) as server, provider_at(server.port) as provider:
        assert isinstance(await provider.send(mail, now=NOW), Unknown)
        sent = await provider.send(mail, now=NOW)
        assert sent == Sent(f"<{mail.delivery_id}@notify.example>")
        assert all(f"Message-ID: <{mail.delivery_id}@notify.example>".encode() in m for m in server.mails)
        assert len(server.mails) == 2


def kind(answer: Answer) -> Answer:
    """Without its words."""
    return msgspec.structs.replace(answer, detail="")


@pytest.mark.parametrize(
    ("phase", "reply", "expected"),
    [
        ("RCPT", b"550 5.1.1 no such user", EndpointGone("550 5.1.1 no such user")),
        ("end", b"554 5.7.1 spam", Refused("554 5.7.1 spam", about="sender")),
        ("RCPT", b"554 5.7.1 blocked", Refused("554 5.7.1 blocked", about="sender")),
        ("RCPT", b"552 5.2.2 full", Refused("552 5.2.2 full", about="mailbox_full")),
        ("RCPT", b"452 4.2.2 full", TryLater("452 4.2.2 full")),
        ("RCPT", b"451 4.7.1 greylisted", TryLater("451 4.7.1 greylisted")),
        ("RCPT", b"421 4.3.2 closing", TryLater("421 4.3.2 closing", about="provider")),
        ("MAIL", b"421 4.3.2 too busy", TryLater("421 4.3.2 too busy", about="provider")),
        ("MAIL", b"530 5.7.0 log in", Misconfigured("530 the server does not take our credentials")),
        ("DATA", b"452 4.3.1 full", TryLater("452 4.3.1 full", about="provider")),
        ("end", b"421 4.3.0 closing", TryLater("421 4.3.0 closing", about="provider")),
        ("greeting", b"554 5.7.1 go away", TryLater("554 5.7.1 go away", about="provider")),
        ("RCPT", b"550-5.1.1 no such\r\n550 5.1.1 user", EndpointGone("550 5.1.1 no such 5.1.1 user")),
        ("RCPT", b"550 5.1.1 kein Postfach f\xfcr ihn", EndpointGone("550 5.1.1 kein Postfach f?r ihn")),
    ],
)
async def test_a_refusal_is_answered_by_its_code(phase: str, reply: bytes, expected: Answer) -> None:
    """EML-01, EML-02, EML-07."""
    async with raw_server({phase: reply}) as server, provider_at(server.port) as provider:
        assert await provider.send(a_mail(), now=NOW) == expected


async def test_nobody_listening_may_be_tried_again() -> None:
    async with raw_server() as server:
        port = server.port
    async with provider_at(port) as provider:
        assert isinstance(await provider.send(a_mail(), now=NOW), TryLater)


async def test_connections_are_kept_and_no_more_than_the_concurrency_are_opened() -> None:
    async with raw_server() as server, provider_at(server.port, concurrency=3) as provider:
        answers = await asyncio.gather(*(provider.send(a_mail(), now=NOW) for _ in range(30)))
        assert all(isinstance(a, Sent) for a in answers)
        assert server.connections <= 3
        assert len(server.mails) == 30
    assert server.heard.count(b"QUIT") == server.connections


@pytest.mark.parametrize("goodbye", [CLOSE, b"421 4.4.2 idle for too long"])
async def test_a_kept_connection_that_has_died_is_replaced_within_the_attempt(goodbye: bytes) -> None:
    async with raw_server() as server, provider_at(server.port) as provider:
        assert isinstance(await provider.send(a_mail(), now=NOW), Sent)
        server.answers, server.once = {"MAIL": goodbye}, True
        assert isinstance(await provider.send(a_mail(), now=NOW), Sent)
        assert server.connections == 2


async def test_a_connection_that_nobody_used_for_a_minute_is_not_trusted_any_more() -> None:
    """What a middlebox has forgotten hangs: the mail would wait for its timeout, and its provider's breaker open."""
    now = [0.0]
    async with raw_server() as server, provider_at(server.port, timeout="500ms") as provider:
        old = dataclasses.replace(provider, pool=Pool(provider.pool._client, 2, clock=lambda: now[0]))
        for at, connections in ((0.0, 1), (60.0, 1), (121.0, 2)):
            now[0] = at
            assert isinstance(await old.send(a_mail(), now=NOW), Sent)
            assert server.connections == connections
        await old.close()


async def test_after_a_refusal_the_connection_is_reset_and_used_again() -> None:
    async with raw_server({"RCPT": b"550 5.1.1 gone"}, once=True) as server, provider_at(server.port) as provider:
        assert isinstance(await provider.send(a_mail(), now=NOW), EndpointGone)
        assert isinstance(await provider.send(a_mail(), now=NOW), Sent)
        assert (server.connections, server.heard.count(b"RSET")) == (1, 1)


async def test_a_cancelled_attempt_leaves_no_half_told_connection_behind() -> None:
    async with raw_server({"RCPT": HANG}, once=True) as server, provider_at(server.port) as provider:
        task = asyncio.create_task(provider.send(a_mail(), now=NOW))
        await asyncio.sleep(0.1)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert isinstance(await provider.send(a_mail(), now=NOW), Sent)
        assert server.connections == 2


async def test_dots_at_the_start_of_lines_arrive_as_they_are() -> None:
    async with raw_server() as server, provider_at(server.port) as provider:
        await provider.send(a_mail(), now=NOW)
        body = server.mails[0].replace(b"\r\n..", b"\r\n.")
        assert b"\r\n=2E\r\n..\r\nBye" in body or b"\r\n.\r\n..\r\nBye" in body


async def test_what_is_no_address_is_refused_before_anybody_is_called() -> None:
    async with raw_server() as server, provider_at(server.port) as provider:
        assert isinstance(await provider.send(a_mail("ann@example.com>\r\nRCPT TO:<ben@example.com"), now=NOW), Refused)
        assert server.connections == 0


async def test_an_address_beyond_ascii_needs_a_server_that_takes_it() -> None:
    async with raw_server() as server, provider_at(server.port) as provider:
        assert isinstance(await provider.send(a_mail("zoë@example.com"), now=NOW), Refused)
        server.answers = {"EHLO": b"250-raw\r\n250 SMTPUTF8"}
    async with raw_server({"EHLO": b"250-raw\r\n250 SMTPUTF8"}) as server, provider_at(server.port) as provider:
        assert isinstance(await provider.send(a_mail("zoë@example.com"), now=NOW), Sent)
        assert any(line.endswith(b" SMTPUTF8") for line in server.heard)


async def test_a_password_is_never_sent_to_a_server_without_encryption() -> None:
    async with raw_server({"EHLO": b"250-raw\r\n250 AUTH PLAIN"}) as server:
        async with provider_at(server.port, username="u", password="p") as provider:
            assert isinstance(await provider.send(a_mail(), now=NOW), Misconfigured)
        assert not any(line.startswith(b"AUTH") for line in server.heard)


@pytest.mark.parametrize(
    ("bad", "setting"),
    [
        ({"url": ""}, "url"),
        ({"url": "http://x"}, "url"),
        ({"url": "smtp://"}, "url"),
        ({"url": "smtp://x:port"}, "url"),
        ({"url": "smtp://ann:secret@mail.example"}, "url"),
        ({"sender": "nobody"}, "sender"),
        ({"sender": "zoë@notify.example"}, "sender"),
        ({"reply_to": "nobody"}, "reply_to"),
        ({"username": "ann"}, "password"),
        ({"password": "secret"}, "username"),
        ({"ca_file": "/nowhere.pem"}, "ca_file"),
        ({"ca_file": __file__}, "ca_file"),
    ],
)
def test_settings_that_make_no_sense_are_named(bad: dict[str, str], setting: str) -> None:
    provider = settings.Provider(**{"url": "smtp://127.0.0.1", **bad})  # type: ignore[arg-type]
    with pytest.raises(settings.SettingsError, match=rf"^providers\.relay\.{setting}: ") as refused:
        SmtpProvider.of(provider, settings.Channel(), name="relay")
    assert "secret" not in str(refused.value)


class _Mailbox:
    """Keeps what an authenticated, encrypted session brings."""

    def __init__(self) -> None:
        self.mails: list[tuple[bool, object]] = []

    async def handle_DATA(self, server: SMTP, session: Session, envelope: Envelope) -> str:
        self.mails.append((session.ssl is not None, session.auth_data))
        return "250 OK"


async def test_with_credentials_the_session_is_encrypted_before_they_are_sent(tmp_path: Path) -> None:
    certificate = self_signed(tmp_path)
    server_side = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    server_side.load_cert_chain(certificate)
    box, loop = _Mailbox(), asyncio.get_running_loop()

    def authenticate(server: SMTP, session: Session, envelope: Envelope, mechanism: str, given: object) -> AuthResult:
        assert isinstance(given, LoginPassword)
        return AuthResult(success=given.password == b"secret", handled=False, auth_data=given.login)

    def session() -> SMTP:
        return SMTP(box, tls_context=server_side, authenticator=authenticate, auth_required=True, loop=loop)

    server = await loop.create_server(session, "127.0.0.1", 0)
    port, ca_file = server.sockets[0].getsockname()[1], str(certificate)
    async with server:
        async with provider_at(port, username="notify", password="secret", ca_file=ca_file) as provider:
            assert isinstance(await provider.send(a_mail(), now=NOW), Sent)
        async with provider_at(port, username="notify", password="wrong", ca_file=ca_file) as provider:
            assert isinstance(await provider.send(a_mail(), now=NOW), Misconfigured)
        async with provider_at(port, starttls="always", ca_file=ca_file) as provider:
            assert isinstance(await provider.send(a_mail(), now=NOW), Misconfigured)
        async with provider_at(port, username="notify", password="secret") as provider:
            assert isinstance(await provider.send(a_mail(), now=NOW), Misconfigured)
    await asyncio.sleep(0.05)
    assert box.mails == [(True, b"notify")]


async def test_a_certificate_that_nobody_vouches_for_is_not_talked_to(tmp_path: Path) -> None:
    certificate = self_signed(tmp_path)
    server_side = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    server_side.load_cert_chain(certificate)
    box, loop = _Mailbox(), asyncio.get_running_loop()
    server = await loop.create_server(lambda: SMTP(box, loop=loop), "127.0.0.1", 0, ssl=server_side)
    where = f"smtps://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    async with server:
        for ca_file, expected in (("", Misconfigured), (str(certificate), Sent)):
            provider = SmtpProvider.of(settings.Provider(url=where, ca_file=ca_file), settings.Channel())
            assert isinstance(await provider.send(a_mail(), now=NOW), expected)
            await provider.close()
    assert len(box.mails) == 1


async def test_256_mails_are_under_way_at_once_over_256_connections() -> None:
    """A reply takes 100 ms: one after the other they would take two minutes."""
    async with raw_server(pause=0.1) as server, provider_at(server.port, concurrency=256, timeout="20s") as provider:
        began = asyncio.get_running_loop().time()
        answers = await asyncio.gather(*(provider.send(a_mail(), now=NOW) for _ in range(256)))
        assert all(isinstance(a, Sent) for a in answers)
        assert server.connections == 256
        assert asyncio.get_running_loop().time() - began < 10


async def test_of_three_mailboxes_of_one_user_one_is_refused_and_nothing_else_is_touched() -> None:
    """EML-03: each mail has one recipient, so that what is refused is refused alone."""
    to = ("ann@example.com", "gone@example.com", "ann@example.org")
    async with raw_server(recipients={b"<gone@example.com>": b"550 5.1.1 no such user"}) as server:
        async with provider_at(server.port) as provider:
            answers = [await provider.send(a_mail(address), now=NOW) for address in to]
        assert [type(a) for a in answers] == [Sent, EndpointGone, Sent]
        assert len(server.mails) == 2
        assert [line for line in server.heard if line.startswith(b"RCPT")] == [f"RCPT TO:<{a}>".encode() for a in to]


async def test_a_campaign_to_full_and_blocked_mailboxes_finds_one_address_that_is_gone() -> None:
    """EML-07: 1,000 full, 1,000 that block us, one that does not exist."""
    said = {b"<full": b"552 5.2.2 over quota", b"<block": b"554 5.7.1 blocked", b"<gone": b"550 5.1.1 unknown"}
    mails = [a_mail(f"{name}-{n}@example.com") for name in ("full", "block") for n in range(1000)]
    async with (
        raw_server(recipients=said) as server,
        provider_at(server.port, concurrency=32, timeout="60s") as provider,
    ):
        answers = await asyncio.gather(*(provider.send(m, now=NOW) for m in [*mails, a_mail("gone@example.com")]))
    abouts = Counter(a.about if isinstance(a, Refused) else type(a).__name__ for a in answers)
    assert abouts == {"mailbox_full": 1000, "sender": 1000, "EndpointGone": 1}
