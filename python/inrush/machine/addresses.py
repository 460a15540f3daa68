"""The addresses of this host's interfaces, and whether a name or an address is one of them. Linux's rtnetlink."""

from __future__ import annotations

import contextlib
import ipaddress
import socket
import struct
from collections.abc import Collection, Iterator, Sequence

from inrush.machine.connections import ANSWER_S, ATTRIBUTE, HEADER, REQUEST_DUMP, answers

IpAddress = ipaddress.IPv4Address | ipaddress.IPv6Address

#: linux/rtnetlink.h, linux/if_addr.h
GET_ADDRESSES, IFA_ADDRESS, IFA_LOCAL = 22, 1, 2
#: Of an answer, before its attributes: family, length of the prefix, flags, scope, interface.
ADDRESS = struct.Struct("=BBBBI")


def own_hosts(names: Sequence[str]) -> list[str]:
    """Those of these names and addresses that are this host's. A name is resolved here."""
    mine = own_addresses()
    return [name for name in names if is_own(resolved(name), mine)]


def is_own(found: Collection[IpAddress], mine: Collection[IpAddress]) -> bool:
    """Whether one of what a name means is an interface's. Many hosts know themselves by a name of their loopback interface. Addresses
    that are each link's own may be those of any host. Pure."""
    return any(one.is_loopback or (one in mine and not one.is_link_local) for one in found)


def own_addresses() -> set[IpAddress]:
    """Empty where the kernel does not say."""
    with (
        contextlib.suppress(OSError, struct.error),
        socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, socket.NETLINK_ROUTE) as link,
    ):
        link.settimeout(ANSWER_S)
        asked = ADDRESS.pack(socket.AF_UNSPEC, 0, 0, 0, 0)
        link.send(HEADER.pack(HEADER.size + len(asked), GET_ADDRESSES, REQUEST_DUMP, 1, 0) + asked)
        return {found for answer in answers(link) for found in addresses_in(answer)}
    return set()


def addresses_in(answer: bytes) -> Iterator[IpAddress]:
    """Of one interface. One that leads to a single other host has that one's as its address, and ours as the local one."""
    at, held = ADDRESS.size, dict[int, bytes]()
    while at + ATTRIBUTE.size <= len(answer):
        size, kind = ATTRIBUTE.unpack_from(answer, at)
        held[kind] = answer[at + ATTRIBUTE.size : at + size]
        at += max(4, (size + 3) & ~3)
    packed = held.get(IFA_LOCAL, held.get(IFA_ADDRESS, b""))
    if len(packed) in (4, 16):
        yield ipaddress.ip_address(packed)


def resolved(name: str) -> set[IpAddress]:
    """What a name or an address means here; empty of one that means nothing."""
    with contextlib.suppress(OSError, UnicodeError):
        found = socket.getaddrinfo(name, None, type=socket.SOCK_STREAM)
        return {plain(ipaddress.ip_address(str(of[4][0]).partition("%")[0])) for of in found}
    return set()


def plain(address: IpAddress) -> IpAddress:
    """An address of version 4 in the clothes of version 6 is that of version 4."""
    if isinstance(address, ipaddress.IPv6Address) and address.ipv4_mapped is not None:
        return address.ipv4_mapped
    return address
