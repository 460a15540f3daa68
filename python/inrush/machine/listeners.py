"""Which processes of this host listen at an address and port: /proc/net/tcp, /proc/net/tcp6, and the files of each process."""

from __future__ import annotations

import contextlib
import ipaddress
import sys
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from inrush.machine.addresses import IpAddress, plain

#: State of a socket that listens.
LISTENS = "0A"
#: Fields of a line: the local address, the state, the number that file descriptors show.
LOCAL, STATE, INODE = 1, 3, 9
TABLES = ("tcp", "tcp6")


@dataclass(frozen=True)
class ListeningSocket:
    address: IpAddress
    port: int
    inode: int


@dataclass(frozen=True)
class Holders:
    """Processes that have one of some sockets open."""

    pids: frozenset[int]
    #: There are processes whose files are not ours to look at: one of them may be it.
    hidden: bool


def listeners() -> list[ListeningSocket]:
    """In the network of this process."""
    found: list[ListeningSocket] = []
    for table in TABLES:
        with contextlib.suppress(OSError):  # a kernel without version 6
            found += parsed((Path("/proc/net") / table).read_text().splitlines()[1:])
    return found


def parsed(lines: Iterable[str]) -> Iterator[ListeningSocket]:
    for line in lines:
        fields = line.split()
        if len(fields) > INODE and fields[STATE] == LISTENS:
            address, _, port = fields[LOCAL].partition(":")
            yield ListeningSocket(unpacked(address), int(port, 16), int(fields[INODE]))


def unpacked(digits: str) -> IpAddress:
    """The kernel prints each word of 32 bits as its processor holds it."""
    words = (bytes.fromhex(digits[at : at + 8]) for at in range(0, len(digits), 8))
    whole = b"".join(word[::-1] if sys.byteorder == "little" else word for word in words)
    return plain(ipaddress.ip_address(whole))


def sockets_at(found: Collection[ListeningSocket], wanted: Collection[IpAddress], port: int) -> set[int]:
    """Numbers of those that take connections to one of these addresses: what listens at the address itself comes before what
    listens at all of them. Pure."""
    at_port = [of for of in found if of.port == port]
    versions = {of.version for of in wanted}
    mine = {of.inode for of in at_port if of.address in wanted}
    of_all = [of for of in at_port if of.address.is_unspecified]
    mine = mine or {of.inode for of in of_all if of.address.version in versions}
    return mine or {of.inode for of in of_all if of.address.version == 6}


def opened_by(process: Path) -> Iterator[str]:
    """Paths of its open files, as it sees them, and words for what is none. Raises OSError of one that has ended, or is not ours.

    process: its folder in /proc."""
    for descriptor in (process / "fd").iterdir():
        with contextlib.suppress(FileNotFoundError):  # closed meanwhile
            yield str(descriptor.readlink())


def holders(inodes: Collection[int]) -> Holders:
    wanted, pids, hidden = {f"socket:[{inode}]" for inode in inodes}, set[int](), False
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            if not wanted.isdisjoint(opened_by(entry)):
                pids.add(int(entry.name))
        except PermissionError:
            hidden = True
        except OSError:
            continue  # it has ended
    return Holders(frozenset(pids), hidden)
