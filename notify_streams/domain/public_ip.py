"""Which IP addresses belong to the public internet (IANA special-purpose registries, RFC 6890)."""

from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address

# Whose last four bytes are an IPv4 address: RFC 6052 (NAT64), RFC 4291 2.5.5.1, RFC 2765 (translated).
_EMBEDDING = (IPv6Network("64:ff9b::/96"), IPv6Network("::/96"), IPv6Network("::ffff:0:0:0/96"))
_ISATAP = frozenset(
    {0x00005EFE, 0x02005EFE}
)  # RFC 5214 6.1: the first half of an interface's id, before the IPv4 address
# Not globally reachable by IANA's registries, whatever this version of Python knows of them; and relays of 6to4, which
# RFC 7526 has ended.
_NOWHERE = (
    *(IPv4Network("192.0.0.0/24"), IPv4Network("192.88.99.0/24")),
    *(IPv6Network("64:ff9b:1::/48"), IPv6Network("100:0:0:1::/64")),  # RFC 8215, RFC 9780
    *(IPv6Network("3fff::/20"), IPv6Network("5f00::/16"), IPv6Network("fec0::/10")),  # RFC 9637, RFC 9602, RFC 3879
)


def is_public(text: str) -> bool:
    """Whether a socket to it leaves for the public internet, also through whatever carries IPv4 inside IPv6.

    False for what is no address. A zone (`fe80::1%eth0`) makes it local.
    """
    try:
        address = ip_address(text)
    except ValueError:
        return False
    if isinstance(address, IPv4Address):
        return _global(address)
    inner = _inner(address)
    if inner is not None:
        return _global(inner)
    tunnels = int(address) >> 32 & 0xFFFFFFFF in _ISATAP
    return address.scope_id is None and _global(address) and (not tunnels or _global(_last(address)))


def _global(address: IPv4Address | IPv6Address) -> bool:
    return address.is_global and not address.is_multicast and not any(address in network for network in _NOWHERE)


def _inner(address: IPv6Address) -> IPv4Address | None:
    """The IPv4 address that it stands for or tunnels to."""
    if address.ipv4_mapped is not None:
        return address.ipv4_mapped
    if address.sixtofour is not None:
        return address.sixtofour
    if address.teredo is not None:
        return address.teredo[1]
    return _last(address) if any(address in network for network in _EMBEDDING) else None


def _last(address: IPv6Address) -> IPv4Address:
    return IPv4Address(int(address) & 0xFFFFFFFF)
