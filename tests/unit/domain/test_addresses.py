"""Which addresses of each channel are taken."""

import pytest

from notify_streams.domain.addresses import why_no_address
from schemas.words import Channel

SUBSCRIPTION = '{"endpoint":"https://push.example/1","keys":{"p256dh":"a","auth":"b"}}'


def of_bytes(size: int) -> str:
    """A subscription of that size."""
    return SUBSCRIPTION.replace('"a"', '"' + "a" * (size - len(SUBSCRIPTION) + 1) + '"')


@pytest.mark.parametrize(
    ("channel", "address"),
    [
        ("email", "ann@example.com"),
        ("email", "o'brien+news@mail.example.co.uk"),
        ("email", "ann@bücher.example"),
        ("sms", "+4915112345678"),
        ("webhook", "https://hooks.example.com/a?b=c"),
        ("push", "d" * 64),
        ("push", SUBSCRIPTION),
        ("push", SUBSCRIPTION.replace("}}", '},"expirationTime":null}')),
        ("push", SUBSCRIPTION.replace("}}", '},"expirationTime":1790000000000}')),
        ("email", "a@" + ("x" * 60 + ".") * 4 + "examples"),
        ("sms", "+123456789012345"),
        ("webhook", "https://a.example/" + "x" * 2030),
        ("push", "d" * 4096),
        ("push", of_bytes(4096)),
    ],
)
def test_an_address_is_taken(channel: Channel, address: str) -> None:
    assert why_no_address(channel, address) is None


@pytest.mark.parametrize(
    ("channel", "address"),
    [
        ("email", "ann"),
        ("email", "@example.com"),
        ("email", "ann@localhost"),
        ("email", "ann@10.0.0.1"),
        ("email", "ann@-x.example"),
        ("email", "a..b@example.com"),
        ("email", "ann@example.com\r\nBcc: eve@example.com"),
        ("email", "Ann <ann@example.com>"),
        ("email", "a" * 65 + "@example.com"),
        ("email", "ann@" + "x" * 64 + ".example"),
        ("email", "ab@" + ("x" * 60 + ".") * 4 + "examples"),
        ("email", "ann@" + "ü." * 40 + "example"),
        ("sms", "015112345678"),
        ("sms", "+49151123ext4"),
        ("sms", "+1234567890123456"),
        ("sms", "+49151" + "\u0664" * 6),
        ("webhook", "ftp://example.com"),
        ("webhook", "https://user:pass@example.com"),
        ("webhook", "https://[::1"),
        ("webhook", "https://a.example/" + "x" * 2031),
        ("webhook", "https://a.example/" + "é" * 1100),
        ("push", "short"),
        ("push", "{}"),
        ("push", of_bytes(4097)),
        ("push", "d" * 4097),
        ("push", SUBSCRIPTION.replace("}}", '},"more":"x"}')),
        ("push", SUBSCRIPTION.replace("}}", ',"more":"x"}}')),
        ("push", SUBSCRIPTION.replace('"a"', "1")),
        ("push", SUBSCRIPTION.replace("https:", "ftp:")),
        ("push", SUBSCRIPTION.replace("/1", "/" + "x" * 2048)),
        ("inapp", "anything"),
    ],
)
def test_an_address_is_refused(channel: Channel, address: str) -> None:
    assert why_no_address(channel, address) is not None


@pytest.mark.parametrize(
    ("channel", "words"),
    [
        ("email", "a mailbox has at most 254 bytes"),
        ("sms", "a phone number has at most 16 bytes"),
        ("webhook", "a webhook's URL has at most 2,048 bytes"),
        ("push", "a device token or subscription has at most 4,096 bytes"),
        ("inapp", "the inbox has no addresses"),
    ],
)
def test_an_address_without_end_is_refused_by_its_length(channel: Channel, words: str) -> None:
    for address in ("x" * 1_000_000, '{"endpoint":"' + "x" * 1_000_000):
        assert why_no_address(channel, address) == words
