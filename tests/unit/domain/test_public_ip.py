"""Which addresses a socket may be opened to when a stranger has named them."""

import pytest

from notify_streams.domain.public_ip import is_public


@pytest.mark.parametrize(
    "address",
    ["8.8.8.8", "1.1.1.1", "2001:4860:4860::8888", "2a00:1450::1", "::ffff:8.8.8.8", "2606:4700::5efe:8.8.8.8"],
)
def test_the_public_internet_is_public(address: str) -> None:
    assert is_public(address)


@pytest.mark.parametrize(
    "address",
    [
        *(
            "127.0.0.1",
            "127.8.8.8",
            "0.0.0.0",
            "10.0.0.1",
            "172.16.0.1",
            "192.168.1.1",
            "169.254.169.254",
            "100.64.0.1",
        ),
        *("192.0.2.1", "198.18.0.1", "203.0.113.9", "224.0.0.1", "239.1.1.1", "240.0.0.1", "255.255.255.255"),
        *("100.64.0.1", "::1", "fe80::1", "fe80::1%eth0", "fc00::1", "fd12::1", "fec0::1", "ff02::1", "2001:db8::1"),
        *("::ffff:127.0.0.1", "::ffff:10.0.0.1", "::127.0.0.1", "64:ff9b::7f00:1", "64:ff9b::a00:1", "2002:7f00:1::"),
        *("::ffff:0:10.0.0.1", "2606:4700::5efe:10.0.0.1", "2606:4700::200:5efe:7f00:1", "64:ff9b:1::808:808"),
        *("192.0.0.8", "192.88.99.1", "2002:c058:6301::", "3fff::1", "5f00::1", "100:0:0:1::1"),
        *("2001:0:0:0:0:0:f5ff:fffe", "localhost", "", "0x7f.1", "127.1", "8.8.8.8 "),
    ],
)
def test_everything_else_is_not(address: str) -> None:
    assert not is_public(address)
