"""What listens of all that a test has started, from /proc: sockets of every kind that another program could connect to."""

from __future__ import annotations

import contextlib
import ipaddress
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from inrush.engines.servers import life
from inrush.machine.listeners import INODE, LOCAL, STATE, opened_by, unpacked
from tests import stranger

#: Table of the kernel -> the state of its sockets that take what comes: of UDP it is that of each that has no peer.
INTERNET = {"tcp": "0A", "tcp6": "0A", "udp": "07", "udp6": "07"}
#: Of /proc/net/unix: the fields of a line, and the flag of one that listens.
UNIX_FLAGS, UNIX_INODE, UNIX_PATH, UNIX_LISTENS = 3, 6, 7, 0x10000


@dataclass(frozen=True, order=True)
class Socket:
    pid: int
    program: str
    #: A table of the kernel, or `unix`.
    kind: str
    #: An IP address, or the path of a `unix` one, with `@` in front where it is in no folder.
    address: str
    port: int = 0

    @property
    def is_beyond_loopback(self) -> bool:
        """Whether another host reaches it, as far as the address says."""
        return self.kind != "unix" and not ipaddress.ip_address(self.address).is_loopback


def of_processes(pids: Collection[int]) -> list[Socket]:
    return sorted({socket for pid in pids for socket in of_process(pid)})


def of_process(pid: int) -> Iterator[Socket]:
    """Nothing of one that has ended."""
    with contextlib.suppress(FileNotFoundError, ProcessLookupError):
        process = Path(f"/proc/{pid}")
        program = process.joinpath("comm").read_text().strip()
        inodes = {opened[8:-1] for opened in opened_by(process) if opened.startswith("socket:[")}
        for table, state in INTERNET.items():
            for fields in lines(process / "net" / table):
                if fields[STATE] == state and fields[INODE] in inodes:
                    address, _, port = fields[LOCAL].partition(":")
                    yield Socket(pid, program, table, str(unpacked(address)), int(port, 16))
        for fields in lines(process / "net" / "unix"):
            if int(fields[UNIX_FLAGS], 16) & UNIX_LISTENS and fields[UNIX_INODE] in inodes:
                yield Socket(pid, program, "unix", " ".join(fields[UNIX_PATH:]))


def lines(table: Path) -> Iterator[list[str]]:
    """A kernel without version 6 of the protocol has none."""
    if table.exists():
        for line in table.read_text().splitlines()[1:]:
            yield line.split()


def family(pid: int) -> set[int]:
    """The process and all below it."""
    parents: dict[int, int] = {}
    for entry in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):  # it has ended meanwhile
            parents[int(entry.name)] = int((entry / "stat").read_text().rsplit(")", 1)[1].split()[1])
    found, more = set[int](), {pid}
    while more:
        found |= more
        more = {child for child, parent in parents.items() if parent in more} - found
    return found


def at_work(pid: int, *folders: Path) -> set[int]:
    """The process, what works in the folders, and all below them: a server that is left behind has another parent."""
    roots = {pid, *(one for folder in folders for one in life.working_in(folder))}
    return {one for root in roots for one in family(root)}


def beyond_loopback(sockets: list[Socket]) -> list[Socket]:
    return [one for one in sockets if one.is_beyond_loopback]


def assert_nothing_secret_is_read(
    pids: Collection[int], secrets: Sequence[str], files: Sequence[Path] = ()
) -> None:
    """Command lines can be read by everyone, and environments and files of ours by nobody else."""
    lines = stranger.ask("read", paths=[f"/proc/{pid}/cmdline" for pid in pids])
    assert lines and not any(secret in line for secret in secrets for line in lines.values())
    environments = [Path(f"/proc/{pid}/environ") for pid in pids]
    if stranger.IS_ANOTHER:
        assert stranger.can_read([*environments, *files]) == set()
