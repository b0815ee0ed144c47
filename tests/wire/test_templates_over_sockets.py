"""Templates from their files to what a provider gets over its socket: what is read there, and nothing beside it."""

import asyncio
import email
import email.policy
import json
import random
from email.header import decode_header
from email.message import EmailMessage
from pathlib import Path
from urllib.parse import parse_qsl

import msgspec
import pytest

from notify_streams.content.templates import Templates
from notify_streams.domain.answers import Sent
from notify_streams.domain.rendered import RenderedEmail
from notify_streams.ports import Message, Provider
from notify_streams.providers.twilio.adapter import TwilioProvider
from notify_streams.settings import Channel as ChannelSettings
from notify_streams.settings import Provider as ProviderSettings
from schemas.words import Channel
from tests.push import DEVICE, a_push
from tests.rendering import Folder, a_delivery
from tests.simulated import sending
from tests.simulated import simulated as simulated_push
from tests.simulated_texts import ACCOUNT, TO, now_ms
from tests.simulated_texts import simulated as simulated_texts
from tests.smtp_servers import a_mail, provider_at, raw_server

CATALOGUE = """
channels = ["email", "push", "sms"]
[categories.orders]
[types."order.confirmed"]
category = "orders"
channels = ["email", "push", "sms"]
"""
NAME = "O'Brien & Söhne <3"
WORDS = {"de": "Hallo", "it": "Ciao", "ja": "こんにちは"}


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    """One greeting on every channel."""
    (tmp_path / "texts").mkdir()
    return greeting(Folder(tmp_path / "texts", CATALOGUE), "en", "Hello")


def greeting(folder: Folder, locale: str, word: str) -> Folder:
    text = word + " {{ name }}"
    folder.mail(subject=text, text=f"{text}, {{{{ 1234.5|number }}}}", html=f"<p>{text}</p>", locale=locale)
    folder.put(f"order.confirmed/{locale}/push.json", json.dumps({"title": text, "body": text}))
    return folder.put(f"order.confirmed/{locale}/sms.txt", text)


def rendered(renderer: Templates, channel: Channel, plain: Message, name: str, locale: str = "en") -> Message:
    """The message with what its templates make of this name."""
    said, spoken = renderer.message(a_delivery(channel, locale=locale, payload={"name": name}))
    return msgspec.structs.replace(plain, rendered=said, locale=spoken)


def parsed(raw: bytes) -> EmailMessage:
    message = email.message_from_bytes(raw.removesuffix(b".\r\n"), policy=email.policy.SMTP)
    assert isinstance(message, EmailMessage)
    return message


def part_of(message: EmailMessage, kind: str) -> str:
    part = message.get_body((kind,))
    assert part is not None
    return str(part.get_content()).strip()


async def all_taken(provider: Provider, messages: list[Message]) -> None:
    answers = await asyncio.gather(*(provider.send(message, now=now_ms()) for message in messages))
    assert [type(answer) for answer in answers] == [Sent] * len(messages)


@pytest.mark.parametrize("line_break", ["\r\n", "\n", "\r", "\x0b", "\x85", "\u2028", "\x00"])
async def test_a_line_break_in_any_field_makes_no_header_and_no_recipient(folder: Folder, line_break: str) -> None:
    """TPL-01: in the subject's variable, and in whatever else reaches a header; the mail behind it is sent."""
    evil = f"Ann{line_break}Bcc: x@example.com{line_break}{line_break}.{line_break}MAIL FROM:<x@example.com>"
    plain = msgspec.structs.replace(
        a_mail(), type=evil, category=evil, tenant=evil, unsubscribe=f"https://n.example/{evil}"
    )
    bad = msgspec.structs.replace(rendered(folder.renderer(), "email", plain, evil), locale=evil)
    sender = f"Shop{line_break}Bcc: y@example.com <shop@example.com>"
    async with raw_server() as server, provider_at(server.port, concurrency=1, sender=sender) as provider:
        await all_taken(provider, [bad, rendered(folder.renderer(), "email", a_mail(), "Ben")])
    first, behind = map(parsed, server.mails)
    assert [line for line in server.heard if line.startswith(b"RCPT")] == [b"RCPT TO:<ann@example.com>"] * 2
    for name in ("Subject", "From", "To", "Message-ID", "Content-Language", "Feedback-ID", "List-Unsubscribe"):
        assert len(first.get_all(name, [])) == 1, name
    assert first["Bcc"] is None
    assert first["Subject"] == "Hello Ann Bcc: x@example.com . MAIL FROM:<x@example.com>"
    assert (behind["Subject"], part_of(behind, "plain")) == ("Hello Ben", "Hello Ben, 1,234.5")


async def test_a_name_is_escaped_once_in_html_and_nowhere_else(folder: Folder, tmp_path: Path) -> None:
    """TPL-04: mail, text and push, as their providers got them."""
    renderer, said = folder.renderer(), f"Hello {NAME}"
    async with raw_server() as server, provider_at(server.port) as provider:
        await all_taken(provider, [rendered(renderer, "email", a_mail(), NAME)])
    mail = parsed(server.mails[0])
    assert (mail["Subject"], part_of(mail, "plain")) == (said, f"{said}, 1,234.5")
    assert part_of(mail, "html") == "<p>Hello O&#39;Brien &amp; Söhne &lt;3</p>"
    async with simulated_push(tmp_path) as to, sending(to, "apns") as apple, sending(to, "fcm") as google:
        push = rendered(renderer, "push", a_push(DEVICE, expires_at=now_ms() + 90_000), NAME)
        await all_taken(apple, [push])
        await all_taken(google, [msgspec.structs.replace(push, address="fcm-token:1", platform="android")])
        apns, fcm = (json.loads(entry.content or b"") for entry in to.kit.entries)
    assert apns["aps"]["alert"] == fcm["message"]["notification"] == {"title": said, "body": said}
    assert await text_to_twilio(rendered(renderer, "sms", a_mail(TO), NAME)) == said


async def text_to_twilio(message: Message) -> str:
    """What Twilio's simulator was asked to send."""
    async with simulated_texts() as to:
        where = ProviderSettings(
            url=f"{to.url}/twilio", account_sid=ACCOUNT.sid, auth_token=ACCOUNT.token, from_number=TO
        )
        provider = TwilioProvider.of(where, ChannelSettings(attempt_timeout="2s"))
        assert isinstance(await provider.send(message, now=now_ms()), Sent)
        await provider.close()
        [entry] = to.kit.entries
    return dict(parse_qsl((entry.content or b"").decode(), strict_parsing=True))["Body"]


async def test_200_mails_twenty_at_a_time_are_each_wholly_in_their_readers_language(folder: Folder) -> None:
    """TPL-06: subject, both bodies, number and the header that names the language. TPL-07: it-IT reads `it`."""
    for locale, word in WORDS.items():
        greeting(folder, locale, word)
    renderer, asked = folder.renderer(), ("de", "it-IT", "ja")
    mails = [
        rendered(renderer, "email", a_mail(f"{asked[n % 3]}@example.com"), f"n{n}", asked[n % 3]) for n in range(200)
    ]
    async with raw_server() as server, provider_at(server.port, concurrency=20) as provider:
        await all_taken(provider, mails)
    found = {str(m["Subject"]).rpartition(" ")[2]: m for m in map(parsed, server.mails)}
    assert len(found) == 200
    for name, mail in found.items():
        locale = str(mail["To"]).partition("@")[0].partition("-")[0]
        said = f"{WORDS[locale]} {name}"
        assert mail["Subject"] == said
        assert part_of(mail, "html") == f"<p>{said}</p>"
        assert part_of(mail, "plain") == f"{said}, {'1,234.5' if locale == 'ja' else '1.234,5'}"
        assert mail["Content-Language"] == locale


async def test_2000_long_subjects_arrive_as_they_were_in_lines_that_every_server_takes() -> None:
    """TPL-10"""
    subjects = [a_subject(random.Random(seed)) for seed in range(2000)]
    mails = [msgspec.structs.replace(a_mail(), rendered=RenderedEmail(s, "x", "<p>x</p>")) for s in subjects]
    async with raw_server() as server, provider_at(server.port, concurrency=16) as provider:
        await all_taken(provider, mails)
    heads = [raw.partition(b"\r\n\r\n")[0] for raw in server.mails]
    assert all(len(line) <= 78 for head in heads for line in head.split(b"\r\n"))
    for head in heads:
        assert all(len(word) <= 75 for word in head.split() if word.startswith(b"=?"))
    assert sorted(decoded(email.message_from_bytes(head + b"\r\n\r\n")["Subject"]) for head in heads) == sorted(
        subjects
    )


def a_subject(chance: random.Random) -> str:
    """60 to 400 characters of all kinds; spaces follow each other, none is at an end."""
    alphabet = ["a", "Zoë", "漢字", "👨‍👩‍👧‍👦", "é", " ", "  ", "=?", "?=", "-", "order", "שלום", "e\u0301"]
    text = "".join(chance.choice(alphabet) for _ in range(400))[: chance.randint(58, 398)]
    return f"<{text}>"


def decoded(value: str) -> str:
    """By RFC 2047: white space between encoded words is none."""
    parts = decode_header(value.replace("\r\n", ""))
    return "".join(text.decode(charset or "ascii") if isinstance(text, bytes) else text for text, charset in parts)


async def test_a_right_to_left_mail_says_so_and_keeps_its_question_mark_at_the_end(folder: Folder) -> None:
    """TPL-08: in the bytes that the server got."""
    subject = "האם הזמנה {{ name|isolate }} הגיעה?"
    html = '<html lang="{{ locale }}" dir="{{ direction }}"><p>האם הזמנה <bdi>{{ name }}</bdi> הגיעה?</p></html>'
    folder.mail(subject=subject, text=subject, html=html, locale="he")
    async with raw_server() as server, provider_at(server.port) as provider:
        await all_taken(provider, [rendered(folder.renderer(), "email", a_mail(), "AB-12", "he-IL")])
    mail = parsed(server.mails[0])
    assert decoded(email.message_from_bytes(server.mails[0])["Subject"]) == "האם הזמנה \u2068AB-12\u2069 הגיעה?"
    assert part_of(mail, "html").startswith('<html lang="he" dir="rtl">')
    assert "<bdi>AB-12</bdi>" in part_of(mail, "html")
    assert mail["Content-Language"] == "he"
