"""What each reply of an SMTP server means for the mail and for the address."""

import pytest

from notify_streams.domain.answers import Answer, EndpointGone, Refused, TryLater
from notify_streams.providers.smtp.codes import Stage, accepted, meaning


@pytest.mark.parametrize(
    ("stage", "code", "text", "expected"),
    [
        ("rcpt", 550, "5.1.1 User unknown", EndpointGone),
        ("rcpt", 550, "5.1.2 Host unknown", EndpointGone),
        ("rcpt", 553, "5.1.3 Bad syntax", EndpointGone),
        ("rcpt", 551, "5.1.6 Moved", EndpointGone),
        ("rcpt", 556, "5.1.10 Null MX", EndpointGone),
        ("rcpt", 550, "5.1.7 Bad sender", Refused),
        ("rcpt", 550, "5.7.1 Policy", Refused),
        ("rcpt", 550, "5.2.1 Mailbox disabled", Refused),
        ("rcpt", 550, "No such user here", Refused),
        ("rcpt", 550, "5.1.11 Not a code", Refused),
        ("rcpt", 550, "4.1.1 Basic and enhanced disagree", Refused),
        ("rcpt", 451, "5.1.1 Basic and enhanced disagree", TryLater),
        ("rcpt", 451, "4.7.1 Greylisted", TryLater),
        ("rcpt", 452, "4.2.2 Mailbox full", TryLater),
        ("end", 554, "5.7.1 Spam", Refused),
        ("end", 550, "5.1.1 After the mail it is the content or the sender", Refused),
        ("end", 451, "4.3.0 Local error", TryLater),
        ("mail", 553, "5.1.8 Sender domain", Refused),
        ("mail", 530, "5.7.0 Authentication required", TryLater),
        ("mail", 421, "4.3.2 Shutting down", TryLater),
        ("data", 354, "unexpected", TryLater),
        ("data", 552, "5.3.4 Too big", Refused),
        ("connect", 554, "5.7.1 Go away", TryLater),
        ("connect", 535, "5.7.8 Bad credentials", TryLater),
        ("end", -1, "garbage", TryLater),
    ],
)
def test_a_reply_has_one_meaning_in_its_stage(stage: Stage, code: int, text: str, expected: type[Answer]) -> None:
    """EML-01, EML-02."""
    assert isinstance(meaning(stage, code, text), expected)


def test_a_detail_names_the_code_but_never_an_address() -> None:
    answer = meaning("rcpt", 550, "5.1.1 <ann@example.com>: Recipient address rejected:\nuser ann@example.com unknown")
    assert answer == EndpointGone("550 5.1.1 <[address]>: Recipient address rejected: user [address] unknown")


def test_only_positive_completions_accept() -> None:
    assert [code for code in (199, 200, 250, 252, 299, 300, 354, 450, 550, -1) if accepted(code)] == [
        200,
        250,
        252,
        299,
    ]
