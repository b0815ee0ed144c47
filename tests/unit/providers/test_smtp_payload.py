"""A mail as bytes, read back by the standard library's parser."""

import email
import email.policy
from email.message import EmailMessage

import pytest
from hypothesis import given
from hypothesis import strategies as st

from notify_streams.domain.rendered import RenderedEmail
from notify_streams.ports import Message
from notify_streams.providers.smtp import payload

SENDER = payload.sender("Notify <no-reply@notify.example>")


def a_mail(*, subject: str = "Hello", text: str = "Hello", html: str = "<p>Hello</p>", locale: str = "en") -> Message:
    return Message(
        delivery_id="7d0c2f6e-5a53-5c1b-9f43-0d6a8d4b1f11",
        address="ann@example.com",
        rendered=RenderedEmail(subject, text, html),
        locale=locale,
    )


def parsed(mail: Message, sender: payload.Sender = SENDER) -> EmailMessage:
    content = payload.message(mail, sender, payload.mailbox(mail.address))
    assert all(len(line) <= 998 for line in content.split(b"\r\n"))
    assert b"\n" not in content.replace(b"\r\n", b"")
    return email.message_from_bytes(content, policy=email.policy.SMTP)


def part(message: EmailMessage, kind: str) -> str:
    body = message.get_body((kind,))
    assert body is not None
    return str(body.get_content()).replace("\r\n", "\n")


def test_a_mail_has_what_a_good_mail_has() -> None:
    message = parsed(a_mail(locale="de"))
    assert message["Message-ID"] == "<7d0c2f6e-5a53-5c1b-9f43-0d6a8d4b1f11@notify.example>"
    assert (message["To"], message["From"]) == ("ann@example.com", "Notify <no-reply@notify.example>")
    assert (message["Auto-Submitted"], message["Content-Language"]) == ("auto-generated", "de")
    assert message["Date"].datetime is not None
    assert message.get_content_type() == "multipart/alternative"
    assert [p.get_content_type() for p in message.iter_parts()] == ["text/plain", "text/html"]
    assert not message.defects


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
)


@pytest.mark.parametrize("name", NAMES)
def test_a_display_name_survives_and_makes_no_second_address(name: str) -> None:
    """EML-12."""
    message = parsed(a_mail(), payload.sender(f"{name} <no-reply@notify.example>"))
    (address,) = message["From"].addresses
    assert address.addr_spec == "no-reply@notify.example"
    assert address.display_name == name or name == "=?utf-8?q?x?="


@pytest.mark.parametrize("name", NAMES[:-1])
def test_a_quoted_display_name_in_the_settings_is_the_same_name(name: str) -> None:
    """EML-12."""
    escaped = name.replace("\\", "\\\\").replace('"', '\\"')
    quoted = payload.sender(f'"{escaped}" <no-reply@notify.example>')
    assert parsed(a_mail(), quoted)["From"].addresses[0].display_name == name


@pytest.mark.parametrize("value", ["Ann\r\nBcc: x@example.com", "Ann\nBcc: x@example.com", "Ann\rBcc: x@example.com"])
def test_a_line_break_makes_no_header(value: str) -> None:
    """TPL-01."""
    message = parsed(a_mail(subject=value, locale=value), payload.sender(f"{value} <no-reply@notify.example>"))
    assert "Bcc" not in message
    assert message["Subject"] == "Ann Bcc: x@example.com"
    assert len(message["From"].addresses) == 1
    assert len(message.get_all("Subject", [])) == 1


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
    with pytest.raises(payload.Malformed):
        payload.mailbox(address)


def test_a_domain_travels_in_ascii() -> None:
    assert payload.mailbox("ann@bücher.example") == "ann@xn--bcher-kva.example"


texts = st.text(st.characters(exclude_categories=("Cs", "Cc")), max_size=300)


@given(subject=texts)
def test_any_subject_comes_back(subject: str) -> None:
    raw = payload.message(a_mail(subject=subject), SENDER, "ann@example.com")
    header = email.message_from_bytes(raw)["Subject"]
    decoded = "".join(
        b.decode(c or "ascii") if isinstance(b, bytes) else b for b, c in email.header.decode_header(header)
    )
    assert decoded.split() == payload._CONTROL.sub(" ", subject).split()


@given(
    text=texts,
    lines=st.lists(st.sampled_from([".", "..", "", "-- ", "From x", "=20", "ü" * 90, "x" * 2000]), max_size=6),
)
def test_any_text_and_html_come_back(text: str, lines: list[str]) -> None:
    body = "\n".join([text, *lines])
    message = parsed(a_mail(text=body, html=body))
    assert part(message, "plain").rstrip("\n") == body.rstrip("\n")
    assert part(message, "html").rstrip("\n") == body.rstrip("\n")
