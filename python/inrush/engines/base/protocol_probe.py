"""Which protocol a server speaks, by what a port answers within a second.

MySQL greets, the others wait for a first word: a client of the wrong one would wait until its time limit.
"""

from __future__ import annotations

import socket
import struct
import time
from dataclasses import dataclass
from enum import Enum

from inrush.border import address


class Protocol(Enum):
    POSTGRESQL = "PostgreSQL"
    MYSQL = "MySQL"
    HTTP = "HTTP"
    RESP = "RESP"
    NDB_MANAGEMENT = "NDB's management server"


#: Longest time to connect, s.
CONNECT_S = 2.0
#: Longest wait for an answer in the protocol that is expected, and in each of the others, s.
EXPECTED_S, OTHER_S = 1.0, 0.3
#: PostgreSQL's request for TLS (`SSLRequest`), which a server answers with one letter before any log-in.
SSL_REQUEST = struct.pack("!ii", 8, 80877103)
#: What a client says first.
FIRST_WORDS = {
    Protocol.POSTGRESQL: SSL_REQUEST,
    Protocol.MYSQL: b"",
    Protocol.HTTP: b"GET /ping HTTP/1.0\r\n\r\n",
    Protocol.RESP: b"PING\r\n",
    Protocol.NDB_MANAGEMENT: b"get version\n\n",
}
#: So long a silent port is listened to.
SILENT_S = EXPECTED_S + (len(Protocol) - 1) * OTHER_S
#: Enough of an answer to know its protocol.
ENOUGH_BYTES = 8
#: How Valkey and Redis answer `PING`, and what they take for a command that they do not know.
RESP_ANSWERS = (b"+PONG\r\n", b"-NOAUTH ", b"-DENIED ", b"-LOADING ", b"-ERR ")
#: First line of what a management server answers to `get version`.
NDB_ANSWERS = b"version\n"
#: Fifth byte of MySQL's first packet: version of the protocol, or the mark of an error.
MYSQL_GREETS = (10, 0xFF)


class NoGreeting(Exception):
    """A port takes connections, and nothing answers on them."""


@dataclass(frozen=True)
class Port:
    """A port of the network."""

    host: str
    number: int


def port_of(url: str) -> Port | None:
    """Where a URL leads; None for a Unix socket, for several hosts, for HTTP or RESP inside of TLS, and for a URL that is none:
    the core says so. Pure.
    """
    place = address.read(url)
    return None if place.secure or len(place.hosts) != 1 else Port(*place.hosts[0])


def heard(port: Port, expected: Protocol) -> Protocol | None:
    """What listens on a port; None where it speaks another protocol than these, or closes connections at once.

    Raises OSError where no connection can be made, TimeoutError among them; NoGreeting where no protocol has an answer within
    its time.
    """
    silent = True
    for protocol in (expected, *(p for p in Protocol if p is not expected)):
        wait_s = EXPECTED_S if protocol is expected else OTHER_S
        data = answer(port, FIRST_WORDS[protocol], wait_s)
        if data is not None and (found := protocol_of(data)) is not None:
            return found
        silent = silent and data is None
    if silent:
        raise NoGreeting
    return None


def answer(port: Port, first_word: bytes, wait_s: float) -> bytes | None:
    """The first bytes that come back within so long; None where none do and the connection stays open."""
    data = b""
    with socket.create_connection((port.host, port.number), CONNECT_S) as connection:
        until_s = time.monotonic() + wait_s
        try:
            connection.settimeout(wait_s)
            connection.sendall(first_word)
            while len(data) < ENOUGH_BYTES and protocol_of(data) is None:
                connection.settimeout(max(0.001, until_s - time.monotonic()))
                more = connection.recv(64)
                if not more:
                    break
                data += more
        except TimeoutError:
            return data or None
        except OSError:
            pass  # reset: what came before counts
    return data


def protocol_of(data: bytes) -> Protocol | None:
    """The protocol of a server's first bytes. Pure."""
    if data in (b"S", b"N"):
        return Protocol.POSTGRESQL
    if data.startswith(b"HTTP/"):
        return Protocol.HTTP
    if data.startswith(RESP_ANSWERS):
        return Protocol.RESP
    if data.startswith(NDB_ANSWERS):
        return Protocol.NDB_MANAGEMENT
    if len(data) < ENOUGH_BYTES:
        return None
    # A letter, four bytes of length, and the first field: an error before log-in.
    if data[:1] == b"E" and data[1:3] == b"\0\0" and data[5:6] == b"S":
        return Protocol.POSTGRESQL
    # Three bytes of length, the number of the packet, then its first byte.
    return Protocol.MYSQL if data[3] == 0 and data[4] in MYSQL_GREETS else None
