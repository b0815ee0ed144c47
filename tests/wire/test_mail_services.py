"""SES and SendGrid adapters against servers that answer, refuse, hang and vanish."""

import pytest

from notify_streams.domain.answers import Answer, Misconfigured, Refused, Sent, TryLater, Unknown
from notify_streams.domain.rendered import RenderedPush
from notify_streams.settings import SettingsError
from tests.builders import NOW
from tests.http_servers import CLOSE, HANG, RESET, raw_http
from tests.mails import API_KEY, KEY_ID, SECRET_KEY, a_message, a_provider, kind_of, service_at

KINDS = ("ses", "sendgrid")


def said(status: int, body: bytes = b"{}", headers: bytes = b"") -> bytes:
    return b"HTTP/1.1 %d X\r\n%bContent-Length: %d\r\n\r\n%b" % (status, headers, len(body), body)


TAKEN = {
    "ses": said(200, b'{"MessageId":"m-0001"}'),
    "sendgrid": said(202, b"", b"X-Message-Id: m-0001\r\n"),
}


@pytest.mark.parametrize("kind", KINDS)
async def test_a_mail_that_was_taken_has_the_providers_name_for_it(kind: str) -> None:
    async with raw_http(TAKEN[kind]) as server, service_at(kind, server.url) as provider:
        assert await provider.send(a_message(), now=NOW) == Sent("m-0001")
        assert len(server.requests) == 1


@pytest.mark.parametrize(
    ("status", "expected"),
    [
        *((status, TryLater("", about="provider")) for status in (408, 425, 429, 500, 502, 503, 504)),
        *((status, Refused("")) for status in (400, 404, 410, 413, 422, 501)),
        *((status, Misconfigured("")) for status in (401, 403)),
    ],
)
@pytest.mark.parametrize("kind", KINDS)
async def test_a_status_has_its_class(kind: str, status: int, expected: Answer) -> None:
    """RTY-04."""
    async with raw_http(said(status)) as server, service_at(kind, server.url) as provider:
        assert kind_of(await provider.send(a_message(), now=NOW)) == expected


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("status", [429, 503])
async def test_a_wait_that_is_asked_for_is_passed_on(kind: str, status: int) -> None:
    async with (
        raw_http(said(status, headers=b"Retry-After: 7\r\n")) as server,
        service_at(kind, server.url) as provider,
    ):
        answer = await provider.send(a_message(), now=NOW)
        assert isinstance(answer, TryLater)
        assert answer.retry_after == 7.0


async def test_sendgrids_own_header_says_when_its_limit_is_refreshed() -> None:
    headers = b"X-RateLimit-Remaining: 0\r\nX-RateLimit-Reset: %d\r\n" % (NOW // 1000 + 12)
    async with raw_http(said(429, headers=headers)) as server, service_at("sendgrid", server.url) as provider:
        answer = await provider.send(a_message(), now=NOW)
        assert isinstance(answer, TryLater)
        assert answer.retry_after == 12.0


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("told", [CLOSE, RESET, HANG, b"gibberish"])
async def test_no_answer_after_the_request_was_handed_over_is_unknown(kind: str, told: bytes) -> None:
    """IDM-03: neither knows an idempotency key, so nobody can tell."""
    async with raw_http(told) as server, service_at(kind, server.url, attempt_timeout="300ms") as provider:
        assert isinstance(await provider.send(a_message(), now=NOW), Unknown)
        assert not provider.repeatable


@pytest.mark.parametrize("kind", KINDS)
async def test_both_attempts_at_a_delivery_carry_the_same_message_id_and_reference(kind: str) -> None:
    """IDM-03."""
    message = a_message()
    async with raw_http(CLOSE, TAKEN[kind]) as server, service_at(kind, server.url) as provider:
        answers = [type(await provider.send(message, now=now)) for now in (NOW, NOW)]
    assert answers == [Unknown, Sent]
    first, second = (request.partition(b"\r\n\r\n")[2] for request in server.requests)
    assert first == second
    assert b'"r3f-erence_"' in first


@pytest.mark.parametrize("kind", KINDS)
async def test_nobody_listening_may_be_tried_again(kind: str) -> None:
    async with raw_http() as server:
        url = server.url
    async with service_at(kind, url) as provider:
        assert kind_of(await provider.send(a_message(), now=NOW)) == TryLater("", about="provider")


@pytest.mark.parametrize("kind", KINDS)
async def test_three_mailboxes_of_one_user_are_three_mails_and_one_is_refused(kind: str) -> None:
    """EML-03: each request has one recipient."""
    answers = (TAKEN[kind], said(400), TAKEN[kind])
    async with raw_http(*answers) as server, service_at(kind, server.url) as provider:
        to = ("ann@example.com", "bad@example.com", "ann@example.org")
        found = [type(await provider.send(a_message(address), now=NOW)) for address in to]
    assert found == [Sent, Refused, Sent]
    assert [sum(r.count(a.encode()) for a in to) for r in server.requests] == [1, 1, 1]


@pytest.mark.parametrize("kind", KINDS)
async def test_no_answer_repeats_what_an_error_says_or_what_we_signed_with(kind: str) -> None:
    planted = f"ann@example.com {API_KEY} {SECRET_KEY} Order 123".encode()
    body = b'{"message":"%b","__type":"%b","errors":[{"message":"%b","field":"%b"}]}' % (planted, *(planted,) * 3)
    for status in (400, 401, 403, 429, 500):
        async with raw_http(said(status, body)) as server, service_at(kind, server.url) as provider:
            answer = repr(await provider.send(a_message(), now=NOW)) + repr(provider)
        assert not any(word in answer for word in ("ann@", API_KEY, SECRET_KEY, "Order"))


@pytest.mark.parametrize("kind", KINDS)
async def test_what_is_no_address_is_refused_before_anybody_is_called(kind: str) -> None:
    async with raw_http() as server, service_at(kind, server.url) as provider:
        assert isinstance(await provider.send(a_message("a@b, c@d"), now=NOW), Refused)
        assert server.connections == 0


@pytest.mark.parametrize("kind", KINDS)
def test_mails_are_taken_and_nothing_else(kind: str) -> None:
    provider = a_provider(kind)
    assert provider.takes(a_message())
    assert not provider.takes(a_message(rendered=RenderedPush("Hello")))


@pytest.mark.parametrize(
    ("kind", "setting", "value"),
    [
        ("ses", "region", ""),
        ("ses", "access_key_id", ""),
        ("ses", "secret_access_key", ""),
        ("ses", "secret_access_key", "with\nbreak"),
        ("ses", "url", "ftp://x"),
        ("ses", "url", "https://user:pw@x"),
        ("ses", "ca_file", "/nowhere.pem"),
        ("ses", "sender", "nobody"),
        ("sendgrid", "api_key", ""),
        ("sendgrid", "api_key", "SG.x y"),
        ("sendgrid", "url", "api.sendgrid.com"),
        ("sendgrid", "reply_to", "nobody"),
    ],
)
def test_a_setting_that_cannot_work_is_refused_at_the_start_by_its_name(kind: str, setting: str, value: str) -> None:
    with pytest.raises(SettingsError, match=rf"^providers\.{kind}\.{setting}: ") as refused:
        a_provider(kind, **{setting: value})
    assert not value or value.startswith(("/", "ftp", "api", "nobody")) or value not in str(refused.value)


def test_the_vendors_own_address_is_the_default() -> None:
    assert "https://email.eu-west-1.amazonaws.com/v2/email/outbound-emails" in repr(a_provider("ses"))
    assert "https://api.sendgrid.com/v3/mail/send" in repr(a_provider("sendgrid"))
    assert KEY_ID not in repr(a_provider("ses"))
