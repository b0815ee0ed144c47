"""What each reply of an SMTP server means for the mail and for the address."""

import msgspec
import pytest

from notify_streams.domain.answers import Answer, EndpointGone, Misconfigured, Refused, TryLater, Unknown
from notify_streams.providers.smtp.codes import Stage, accepted, meaning

GONE, MESSAGE, US = EndpointGone(""), Refused(""), Refused("", about="sender")
FULL = Refused("", about="mailbox_full")
THEY, NOBODY = TryLater("", about="endpoint"), TryLater("", about="provider")
MEND = Misconfigured("")


@pytest.mark.parametrize(
    ("stage", "code", "text", "expected"),
    [
        ("rcpt", 550, "5.1.1 User unknown", GONE),
        ("rcpt", 550, "5.1.2 Host unknown", GONE),
        ("rcpt", 553, "5.1.3 Bad syntax", GONE),
        ("rcpt", 551, "5.1.6 Moved", GONE),
        ("rcpt", 556, "5.1.10 Null MX", GONE),
        ("rcpt", 550, "5.1.7 Bad sender", MESSAGE),
        ("rcpt", 550, "5.7.1 Policy", US),
        ("rcpt", 554, "5.7.1 Client host blocked", US),
        ("rcpt", 550, "5.7.606 Access denied, banned sending IP", US),
        ("rcpt", 550, "5.2.1 Mailbox disabled", MESSAGE),
        ("rcpt", 552, "5.2.2 Over quota", FULL),
        ("rcpt", 550, "5.2.2 Over quota", FULL),
        ("rcpt", 552, "Exceeded storage allocation", FULL),
        ("end", 552, "5.2.2 Over quota", FULL),
        ("end", 552, "Too much mail data", MESSAGE),
        ("rcpt", 552, "4.2.2 Basic and enhanced disagree", MESSAGE),
        ("rcpt", 452, "5.2.2 Basic and enhanced disagree", THEY),
        ("rcpt", 550, "No such user here", MESSAGE),
        ("rcpt", 550, "5.1.11 Not a code", MESSAGE),
        ("rcpt", 550, "4.1.1 Basic and enhanced disagree", MESSAGE),
        ("rcpt", 554, "4.7.1 Basic and enhanced disagree", MESSAGE),
        ("rcpt", 451, "5.1.1 Basic and enhanced disagree", THEY),
        ("rcpt", 451, "4.7.1 Greylisted", THEY),
        ("rcpt", 450, "4.2.0 Mailbox busy", THEY),
        ("rcpt", 452, "4.2.2 Mailbox full", THEY),
        ("rcpt", 452, "4.3.1 Insufficient system storage", NOBODY),
        ("rcpt", 421, "4.7.0 Too many connections", NOBODY),
        ("end", 554, "5.7.1 Spam", US),
        ("end", 550, "5.7.26 Unauthenticated", US),
        ("end", 550, "5.1.1 After the mail it is the content or the sender", MESSAGE),
        ("end", 554, "Transaction failed", MESSAGE),
        ("end", 451, "4.3.0 Local error", NOBODY),
        ("end", 451, "4.7.1 Greylisted after DATA", THEY),
        ("mail", 553, "5.1.8 Sender domain", US),
        ("mail", 550, "Sender rejected", US),
        ("mail", 552, "5.3.4 Too big", MESSAGE),
        ("mail", 555, "5.5.4 Parameters", MESSAGE),
        ("mail", 530, "5.7.0 Authentication required", MEND),
        ("mail", 421, "4.3.2 Shutting down", NOBODY),
        ("mail", 450, "4.7.1 Too fast", NOBODY),
        ("data", 354, "unexpected", NOBODY),
        ("data", 552, "5.3.4 Too big", MESSAGE),
        ("connect", 554, "5.7.1 Go away", NOBODY),
        ("connect", 535, "5.7.8 Bad credentials", MEND),
        ("connect", 534, "5.7.9 Mechanism too weak", MEND),
        ("connect", 538, "5.7.11 Encryption required", MEND),
        ("connect", 454, "4.7.0 Temporary authentication failure", NOBODY),
        ("connect", -1, "garbage", NOBODY),
        ("end", -1, "garbage", Unknown("")),
        ("end", 354, "go on", Unknown("")),
    ],
)
def test_a_reply_has_one_meaning_in_its_stage(stage: Stage, code: int, text: str, expected: Answer) -> None:
    """EML-01, EML-02, EML-07."""
    assert msgspec.structs.replace(meaning(stage, code, text), detail="") == expected


def test_a_detail_names_the_code_but_never_an_address() -> None:
    answer = meaning("rcpt", 550, "5.1.1 <ann@example.com>: Recipient address rejected:\nuser ann@example.com unknown")
    assert answer == EndpointGone("550 5.1.1 <[address]>: Recipient address rejected: user [address] unknown")


def test_a_detail_of_a_failed_login_is_the_code_alone() -> None:
    assert meaning("connect", 535, "5.7.8 user ann with password hunter2 not found") == Misconfigured(
        "535 the server does not take our credentials"
    )


def test_a_detail_can_always_be_written() -> None:
    answer = meaning("rcpt", 550, "5.2.1 f\udcfcr\x1b[31m ihn" + "x" * 5000)
    assert isinstance(answer, Refused)
    assert answer.detail.startswith("550 5.2.1 f?r [31m ihn")
    assert len(msgspec.json.encode(answer)) < 400


def test_only_positive_completions_accept() -> None:
    assert [code for code in (199, 200, 250, 252, 299, 300, 354, 450, 550, -1) if accepted(code)] == [
        200,
        250,
        252,
        299,
    ]
