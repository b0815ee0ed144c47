"""The address in what people write for a mailbox."""

import pytest

from notify_streams.domain.addresses import address_key, why_no_address
from notify_streams.domain.mailboxes import address_in

KEY = address_key("email", "Ann@Example.COM ")


@pytest.mark.parametrize(
    "text",
    [
        "ann@example.com",
        " Ann@Example.COM ",
        "Ann <ann@EXAMPLE.com>",
        "<ann@example.com>",
        '"Lee, Ann" <ann@example.com>',
        '"a \\" b <x@y.example>" <ann@example.com>',
        "Ann  <ann@example.com> ",
    ],
)
def test_every_spelling_of_a_mailbox_is_the_same_address(text: str) -> None:
    """EML-14"""
    address = address_in(text)
    assert (why_no_address("email", address), address_key("email", address)) == (None, KEY)


def test_the_spelling_of_the_address_itself_stays() -> None:
    """EML-14: pinned, addresses are sent as spelt."""
    assert address_in("Ann <Ann.Lee@EXAMPLE.com>") == "Ann.Lee@EXAMPLE.com"


@pytest.mark.parametrize(
    "spelling", ["Ann@b\u00fccher.example", "ann@BU\u0308CHER.example", "ann@xn--bcher-kva.EXAMPLE"]
)
def test_a_domain_is_the_same_in_every_script_that_it_is_written_in(spelling: str) -> None:
    """Providers report it as it travels."""
    assert address_key("email", spelling) == address_key("email", "ann@b\u00fccher.example")


def test_a_tag_is_another_address() -> None:
    """EML-14"""
    assert address_key("email", "ann+news@example.com") != KEY


@pytest.mark.parametrize(
    "text",
    [
        "ann@example.com.",
        "Ann <ann@example.com",
        "Ann ann@example.com>",
        "Ann <ann@example.com> <eve@example.com>",
        "Ann <ann@example.com>, Eve <eve@example.com>",
        "eve@example.com <ann@example.com>",
        "Ann\r\nBcc: <eve@example.com>",
        '"Ann\r\nBcc: x" <ann@example.com>',
        "Ann <ann@exa mple.com>",
        "Ann <>",
        "",
    ],
)
def test_what_is_neither_is_refused(text: str) -> None:
    """EML-14: the first of these."""
    assert why_no_address("email", address_in(text)) is not None
