"""What the kernel says of the TCP connections from here to an address: what their senders wait for. Linux's sock_diag."""

from __future__ import annotations

import contextlib
import socket
import struct
from collections.abc import Iterator
from dataclasses import dataclass

#: linux/netlink.h, linux/sock_diag.h, linux/inet_diag.h
NETLINK_SOCK_DIAG, SOCK_DIAG_BY_FAMILY, REQUEST_DUMP = 4, 20, 0x301
DONE, ERROR = 3, 2
INET_DIAG_INFO = 2
ESTABLISHED = 1 << 1
HEADER, ATTRIBUTE = struct.Struct("=IHHII"), struct.Struct("=HH")
#: Of an answer, before its attributes.
SOCKET_BYTES = 72
#: Places in `tcp_info` (linux/tcp.h); kernels since 4.10 have all of them.
RTT, BYTES_ACKED, NOTSENT, BUSY = 68, 120, 144, 168
INFO_BYTES = 192
#: An answer is that large at most.
ANSWER_BYTES = 1 << 17
ANSWER_S = 0.2


@dataclass(frozen=True)
class Connection:
    """Its counts so far. Times are those of the sender's kernel."""

    local_port: int
    bytes_acked: int
    #: With something to send, or to be acknowledged; of it, while the receiver had no room, and while our own buffer was short.
    busy_us: int
    receiver_us: int
    buffer_us: int
    #: Given to the kernel, and not sent yet.
    unsent_bytes: int
    rtt_us: int


def connections(host: str, port: int) -> list[Connection] | None:
    """Those that are established to an address; None where the kernel does not say."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with contextlib.suppress(OSError, struct.error):
        wanted = socket.inet_pton(family, host)
        with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, NETLINK_SOCK_DIAG) as link:
            link.settimeout(ANSWER_S)
            link.send(request(family))
            return [of for answer in answers(link) for of in parsed(answer, wanted, port)]
    return None


def request(family: int) -> bytes:
    asked = struct.pack("=BBBxI", family, socket.IPPROTO_TCP, 1 << (INET_DIAG_INFO - 1), ESTABLISHED)
    any_socket = bytes(40) + b"\xff" * 8
    body = asked + any_socket
    return HEADER.pack(HEADER.size + len(body), SOCK_DIAG_BY_FAMILY, REQUEST_DUMP, 1, 0) + body


def answers(link: socket.socket) -> Iterator[bytes]:
    """Raises OSError where the kernel refuses."""
    while True:
        data, at = link.recv(ANSWER_BYTES), 0
        while at < len(data):
            size, kind, *_ = HEADER.unpack_from(data, at)
            if kind == DONE:
                return
            if kind == ERROR:
                raise OSError("sock_diag refuses")
            yield data[at + HEADER.size : at + size]
            at += (size + 3) & ~3


def parsed(answer: bytes, wanted: bytes, port: int) -> Iterator[Connection]:
    """One, if it goes to the address and port."""
    local_port, remote_port = struct.unpack_from("!HH", answer, 4)
    # Behind the ports stand both addresses, 16 bytes each.
    if remote_port != port or answer[24 : 24 + len(wanted)] != wanted:
        return
    at = SOCKET_BYTES
    while at + ATTRIBUTE.size <= len(answer):
        size, kind = ATTRIBUTE.unpack_from(answer, at)
        info = answer[at + ATTRIBUTE.size : at + size]
        if kind == INET_DIAG_INFO and len(info) >= INFO_BYTES:
            (acked,) = struct.unpack_from("=Q", info, BYTES_ACKED)
            (unsent,) = struct.unpack_from("=I", info, NOTSENT)
            (rtt_us,) = struct.unpack_from("=I", info, RTT)
            busy_us, receiver_us, buffer_us = struct.unpack_from("=QQQ", info, BUSY)
            yield Connection(local_port, acked, busy_us, receiver_us, buffer_us, unsent, rtt_us)
        at += max(4, (size + 3) & ~3)
