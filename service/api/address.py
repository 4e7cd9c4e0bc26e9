"""Whose request it is: the address of a caller, behind proxies that are trusted or not."""

from collections.abc import Iterable
from functools import lru_cache
from ipaddress import IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network
from typing import Final, TypeAlias

from starlette.types import Scope

Network: TypeAlias = IPv4Network | IPv6Network
_FORWARDED: Final = b"x-forwarded-for"
_IPV6_SITE: Final = 64


@lru_cache(4096)
def holds(trusted: tuple[Network, ...], address: str) -> bool:
    """Whether an address lies in one of the networks; what is none lies in none."""
    try:
        known = ip_address(address)
    except ValueError:
        return False
    if isinstance(known, IPv6Address) and known.ipv4_mapped is not None:
        known = known.ipv4_mapped
    return any(known in network for network in trusted)


@lru_cache(65_536)
def group_of(address: str) -> str:
    """What counts as one caller: an IPv4 address, or the /64 of IPv6, which one caller has whole.
    Empty for what is no address."""
    try:
        known = ip_address(address)
    except ValueError:
        return ""
    if not isinstance(known, IPv6Address):
        return address
    if known.ipv4_mapped is not None:
        return str(known.ipv4_mapped)
    return str(ip_network((int(known) >> _IPV6_SITE << _IPV6_SITE, _IPV6_SITE)))


def caller_address(scope: Scope, trusted: tuple[Network, ...]) -> str:
    """The address that a request comes from, as far as it is known.

    Each proxy adds the address that it saw at the right end of ``X-Forwarded-For``. So the header
    is read from there, and only as far as trusted proxies have written it: what stands further
    left anybody can have made up.
    """
    peer = scope["client"][0] if scope.get("client") else ""
    if not trusted or not holds(trusted, peer):
        return peer
    lines = [value for name, value in scope["headers"] if name == _FORWARDED]
    hops = b",".join(lines).decode("latin-1").split(",")
    return _first_foreign(peer, (hop.strip() for hop in reversed(hops)), trusted)


def _first_foreign(peer: str, hops: Iterable[str], trusted: tuple[Network, ...]) -> str:
    address = peer
    for hop in hops:
        if not group_of(hop):
            break
        address = hop
        if not holds(trusted, hop):
            break
    return address
