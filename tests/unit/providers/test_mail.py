"""A mail as bytes, read back by the standard library's parser."""

import email
import email.policy
import random
import re
from email.header import decode_header
from email.message import EmailMessage

import pytest
from hypothesis import given
from hypothesis import strategies as st

from notify_streams.domain.rendered import RenderedEmail
from notify_streams.ports import Message
from notify_streams.providers.mail import mime
from notify_streams.providers.mail.addresses import Mailbox, Malformed, Sender, header, mailbox, named
from notify_streams.providers.mail.words import one_line, words
from tests.builders import NOW

SENDER = Sender(named("Notify <no-reply@notify.example>"))
A_LINK = "https://notify.example/v1/unsubscribe/" + "t0ken" * 40


def a_message(**changes: str | None) -> Message:
    plain = {
        "delivery_id": "7d0c2f6e-5a53-5c1b-9f43-0d6a8d4b1f11",
        "address": "ann@example.com",
        "locale": "en",
        "type": "order.confirmed",
        "category": "orders",
        "tenant": "shop",
        "reference": "r3f_erence-",
    }
    return Message(rendered=RenderedEmail("", "", ""), **{**plain, **changes})  # type: ignore[arg-type]


def raw(
    message: Message | None = None,
    *,
    subject: str = "Hello",
    text: str = "Hello",
    html: str = "<p>Hello</p>",
    sender: Sender = SENDER,
) -> bytes:
    known = message or a_message()
    content = mime.mail(known, RenderedEmail(subject, text, html), sender, to=mailbox(known.address), now=NOW)
    assert all(len(line) <= 998 for line in content.split(b"\r\n"))
    assert b"\n" not in content.replace(b"\r\n", b"")
    assert content.isascii()
    return content


def parsed(message: Message | None = None, **rest: str | Sender) -> EmailMessage:
    return email.message_from_bytes(raw(message, **rest), policy=email.policy.SMTP)  # type: ignore[arg-type]


def part(message: EmailMessage, kind: str) -> str:
    body = message.get_body((kind,))
    assert body is not None
    return str(body.get_content()).replace("\r\n", "\n")


def head(content: bytes) -> list[str]:
    return content.partition(b"\r\n\r\n")[0].decode().split("\r\n")


def test_a_mail_has_what_a_good_mail_has() -> None:
    message = parsed(a_message(locale="de"))
    assert message["Message-ID"] == "<7d0c2f6e-5a53-5c1b-9f43-0d6a8d4b1f11@notify.example>"
    assert (message["To"], message["From"]) == ("ann@example.com", "Notify <no-reply@notify.example>")
    assert (message["Auto-Submitted"], message["Content-Language"]) == ("auto-generated", "de")
    assert message["Date"].datetime.timestamp() == NOW // 1000
    assert message["X-Notify-Reference"] == "r3f_erence-"
    assert message["Feedback-ID"] == "order.confirmed:orders:shop:notify-streams"
    assert message["Reply-To"] is None
    assert message.get_content_type() == "multipart/alternative"
    assert [p.get_content_type() for p in message.iter_parts()] == ["text/plain", "text/html"]
    assert not message.defects


def test_what_can_be_unsubscribed_says_so_in_one_click() -> None:
    """EML-09: one https URI, and the words of RFC 8058."""
    message = parsed(a_message(unsubscribe=A_LINK))
    assert message.get_all("List-Unsubscribe") == [f"<{A_LINK}>"]
    assert message.get_all("List-Unsubscribe-Post") == ["List-Unsubscribe=One-Click"]


def test_what_is_mandatory_cannot_be_unsubscribed() -> None:
    """EML-09."""
    message = parsed(a_message(unsubscribe=None))
    assert message["List-Unsubscribe"] is None
    assert message["List-Unsubscribe-Post"] is None


def test_complaints_are_counted_by_groups_of_mails_and_by_nothing_of_a_person() -> None:
    message = parsed(a_message(type="a:b c\r\nBcc: x@y", category="", tenant="tänant", user_id="ann"))
    assert message["Feedback-ID"] == "a-b-c-Bcc-x-y:none:t-nant:notify-streams"
    assert "ann" not in str(message["Feedback-ID"]).split(":")


NAMES = (
    "Smith, Quentin",
    "Support (Billing)",
    'A "B" C',
    "C:\\D",
    "x@y",
    "<b>",
    "Zoë",
    "",
    "Zoë, Ltd. <x@y>",
    "=?utf-8?q?x?=",
    "O'Brien",
    "Two  spaces",
    "a;b: c,d",
    '"',
    "\\",
    "ann@example.com, ben@example.com",
    "株式会社 通知 部門 " * 6 + "x",
    "Long, name " * 20 + "x",
    "مرحبا",
    "👩‍👩‍👧‍👦",
)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("field", ["From", "To", "Reply-To"])
def test_a_display_name_survives_and_makes_no_second_address(name: str, field: str) -> None:
    """EML-12."""
    value = header(Mailbox(name, "no-reply@notify.example"), field)
    assert all(len(line) <= 78 for line in f"{field}: {value}".split("\r\n"))
    message = email.message_from_string(f"{field}: {value}\r\n\r\n", policy=email.policy.SMTP)
    (address,) = message[field].addresses
    assert address.addr_spec == "no-reply@notify.example"
    assert name in (address.display_name, _decoded_by_words(value.rpartition("\r\n")[0]))


@pytest.mark.parametrize("name", NAMES)
def test_a_display_name_in_the_settings_is_the_same_name_quoted_or_not(name: str) -> None:
    """EML-12."""
    escaped = name.replace("\\", "\\\\").replace('"', '\\"')
    quoted = Sender(named(f'"{escaped}" <no-reply@notify.example>'), named(f'"{escaped}" <help@notify.example>'))
    message = parsed(sender=quoted)
    if name.isascii():
        assert message["From"].addresses[0].display_name == message["Reply-To"].addresses[0].display_name == name
    assert len(message["From"].addresses) == len(message["Reply-To"].addresses) == 1
    if '"' not in name:
        assert named(f"{name} <no-reply@notify.example>").name == name


BREAKS = ["\r\n", "\n", "\r", "\x00", "\x0b", "\x85", "\u2028", "\r\n\r\n", "\r\n "]


@pytest.mark.parametrize("broken", BREAKS)
def test_a_line_break_makes_no_header(broken: str) -> None:
    """TPL-01."""
    value = f"Ann{broken}Bcc: x@example.com"
    sender = Sender(named(f"{value} <no-reply@notify.example>"), named(f"{value} <help@notify.example>"))
    message = parsed(
        a_message(locale=value, type=value, reference=None, unsubscribe=value), subject=value, sender=sender
    )
    assert message["Bcc"] is None
    assert re.sub(" +", " ", message["Subject"]) == "Ann Bcc: x@example.com"
    assert len(message["From"].addresses) == len(message["Reply-To"].addresses) == len(message["To"].addresses) == 1
    assert len(message.get_all("Subject", [])) == 1


def test_right_to_left_mail_arrives_as_the_template_wrote_it() -> None:
    """TPL-08: direction, language and isolates are in the HTML, and the subject keeps its isolates."""
    subject = "ההזמנה \u2068ORD-123\u2069 אושרה?"
    html = '<html dir="rtl" lang="he"><body><p>ההזמנה <bdi>ORD-123</bdi> אושרה?</p></body></html>'
    message = parsed(a_message(locale="he"), subject=subject, html=html, text=subject)
    assert message["Subject"] == subject
    assert part(message, "html").strip() == html
    assert part(message, "plain").strip() == subject
    assert message["Content-Language"] == "he"


@pytest.mark.parametrize(
    "address",
    [
        "",
        "ann",
        "ann@",
        "@example.com",
        "a b@example.com",
        "a@b>\r\nRCPT TO:<c@d",
        "a@b\n",
        "<a@b>",
        "a,b@c",
        "a@" + "b" * 255,
    ],
)
def test_what_is_no_mailbox_is_malformed(address: str) -> None:
    with pytest.raises(Malformed):
        mailbox(address)


def test_a_domain_travels_in_ascii() -> None:
    assert mailbox("ann@bücher.example") == "ann@xn--bcher-kva.example"


PIECES = (
    "order ",
    "ready, ",
    "Ünïcödé ",
    "é",
    "数",
    "通知が届きました",
    "👩‍👩‍👧‍👦",
    "🇩🇪",
    "a" * 30,
    " ",
    "=?utf-8?q?x?= ",
    "x",
)


def test_2000_long_subjects_come_back_from_lines_and_words_of_legal_length() -> None:
    """TPL-10."""
    chance = random.Random(2047)
    for _ in range(2000):
        subject = ""
        while len(subject) < chance.randint(60, 400):
            subject += chance.choice(PIECES)
        subject = subject[: chance.randint(60, 400)].strip()
        content = raw(subject=subject)
        lines = head(content)
        start = next(n for n, line in enumerate(lines) if line.startswith("Subject: "))
        end = next(n for n in range(start + 1, len(lines)) if not lines[n].startswith(" "))
        assert all(len(line) <= 78 and line.strip() for line in lines[start:end])
        value = "\r\n".join(lines[start:end])
        found = re.findall(r"=\?utf-8\?b\?[A-Za-z0-9+/=]*\?=", value)
        assert all(len(word) <= 75 for word in found)
        assert not re.search(r"\?==\?", value)
        assert str(email.message_from_bytes(content, policy=email.policy.default)["Subject"]) == subject
        assert _decoded_by_words(value.removeprefix("Subject: ")) == subject


def _decoded_by_words(value: str) -> str:
    """By the older of the standard library's two parsers, which shares no code with the newer one."""
    pieces = decode_header(value.replace("\r\n", ""))
    return "".join(b.decode(c or "ascii") if isinstance(b, bytes) else b for b, c in pieces)


def test_a_long_subject_of_ascii_stays_readable_on_the_wire() -> None:
    subject = "Your order 123 has been confirmed and will be with you on Friday, the 4th of December, before noon"
    assert words(subject, 9).split("\r\n") == [subject[:65], subject[65:]]


texts = st.text(st.characters(exclude_categories=("Cs", "Cc")), max_size=300)


@given(subject=texts)
def test_any_subject_comes_back(subject: str) -> None:
    value = words(subject, 9)
    assert all(len(line) <= 76 for line in f"Subject: {value}".split("\r\n"))
    assert _decoded_by_words(value) == one_line(subject)


@given(
    text=texts,
    lines=st.lists(st.sampled_from([".", "..", "", "-- ", "From x", "=20", "ü" * 90, "x" * 2000]), max_size=6),
)
def test_any_text_and_html_come_back(text: str, lines: list[str]) -> None:
    body = "\n".join([text, *lines])
    message = parsed(text=body, html=body)
    assert part(message, "plain").rstrip("\n") == body.rstrip("\n")
    assert part(message, "html").rstrip("\n") == body.rstrip("\n")
