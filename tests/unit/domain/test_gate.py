"""Whether a delivery may still be sent when its sender meets it."""

import pytest

from notify_streams.domain.gate import why_not
from schemas.content import Content
from schemas.words import Reason
from tests.builders import NOW, a_delivery


@pytest.mark.parametrize(("age_s", "reason"), [(599, None), (600, Reason.EXPIRED), (601, Reason.EXPIRED)])
def test_at_the_instant_of_expiry_it_is_too_late(age_s: int, reason: Reason | None) -> None:
    """RTY-07"""
    code = a_delivery(expires_at=NOW + 600_000)
    assert why_not(code, NOW + age_s * 1000, ()) is reason


@pytest.mark.parametrize(
    ("address", "patterns", "reason"),
    [
        ("ann@example.com", (), None),
        ("ann@example.com", ("*@example.com",), None),
        ("Ann@EXAMPLE.com", ("*@example.com",), None),
        ("ann@example.com", ("*@EXAMPLE.com",), None),
        ("ann@example.com", ("bob@*", "ann@*"), None),
        ("ann@example.com.evil.test", ("*@example.com",), Reason.GUARDED),
        ("ann@sub.example.com", ("*@example.com",), Reason.GUARDED),
        ("ann@example.com\nx", ("*@example.com",), Reason.GUARDED),
        ("+15551234", ("*@example.com",), Reason.GUARDED),
        ("", ("*@example.com",), Reason.GUARDED),
    ],
)
def test_a_guarded_environment_reaches_only_the_addresses_it_names(
    address: str, patterns: tuple[str, ...], reason: Reason | None
) -> None:
    assert why_not(a_delivery(content=Content(address=address)), NOW, patterns) is reason


def test_without_content_there_is_no_address_to_allow() -> None:
    assert why_not(a_delivery(content=None), NOW, ("*",)) is None
    assert why_not(a_delivery(content=None), NOW, ("*@example.com",)) is Reason.GUARDED


def test_expired_comes_before_guarded() -> None:
    assert why_not(a_delivery(expires_at=NOW), NOW, ("nobody",)) is Reason.EXPIRED
