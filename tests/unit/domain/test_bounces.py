"""What a refusal that came back says against the address."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from notify_streams.domain.bounces import code_of, verdict


@pytest.mark.parametrize(
    ("status", "says"),
    [
        ("5.1.1", "gone"),
        ("5.1.2", "gone"),
        ("5.1.10", "gone"),
        ("5.2.1", "gone"),
        ("550 5.1.1 <x>: no such user.", "gone"),
        ("smtp; 550-5.1.1.", "gone"),
        ("5.2.2", "full"),
        ("4.2.2", "full"),
        ("552 5.2.2 over quota", "full"),
        ("5.7.1", "spared"),
        ("554 5.7.1 blocked", "spared"),
        ("5.7.26", "spared"),
        ("5.3.4", "spared"),
        ("4.1.1", "spared"),
        ("4.4.7", "spared"),
        ("5.0.0", "open"),
        ("550 unknown", "open"),
        ("", "open"),
        ("from 4.2.2.1 with 192.5.1.1", "open"),
    ],
)
def test_only_an_absent_mailbox_is_gone(status: str, says: str) -> None:
    """EML-07"""
    assert verdict(status) == says


@given(st.text())
def test_of_any_text_only_a_code_is_kept(text: str) -> None:
    """SEC-09: what servers answer quotes addresses."""
    assert all(c in "0123456789." for c in code_of(text))
