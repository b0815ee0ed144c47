"""Which IP addresses belong to the public internet (IANA special-purpose registries, RFC 6890)."""

from ipaddress import IPv4Address, IPv6Address, IPv6Network, ip_address

_NAT64 = (IPv6Network("64:ff9b::/96"), IPv6Network("64:ff9b:1::/48"))  # RFC 6052, RFC 8215
_COMPATIBLE = IPv6Network("::/96")  # RFC 4291 2.5.5.1
_SITE_LOCAL = IPv6Network("fec0::/10")


def is_public(text: str) -> bool:
    """Whether a socket to it leaves for the public internet, also through whatever carries IPv4 inside IPv6.

    False for what is no address. A zone (`fe80::1%eth0`) makes it local.
    """
    try:
        address = ip_address(text)
    except ValueError:
        return False
    if isinstance(address, IPv6Address):
        inner = _inner(address)
        return inner.is_global and not inner.is_multicast if inner is not None else _global(address)
    return address.is_global and not address.is_multicast


def _global(address: IPv6Address) -> bool:
    local = address.scope_id is not None or address.is_multicast or address in _SITE_LOCAL
    return address.is_global and not local


def _inner(address: IPv6Address) -> IPv4Address | None:
    """The IPv4 address that it stands for or tunnels to."""
    if address.ipv4_mapped is not None:
        return address.ipv4_mapped
    if address.sixtofour is not None:
        return address.sixtofour
    if address.teredo is not None:
        return address.teredo[1]
    if any(address in network for network in (*_NAT64, _COMPATIBLE)):
        return IPv4Address(int(address) & 0xFFFFFFFF)
    return None
