"""A free port, and whose a port is. Between the choice of one and a server that listens there, another process may take it."""

from __future__ import annotations

import random
import socket
from pathlib import Path

from inrush.engines.servers import life

PORT_RANGE = Path("/proc/sys/net/ipv4/ip_local_port_range")
#: Above those that services are known by.
LOWEST_PORT = 15_000
#: As the logs of servers word EADDRINUSE; the second is QuestDB's.
TAKEN = ("address already in use", "could not bind socket")
#: State of a socket that listens, in the kernel's tables.
LISTENS = "0A"


def free_port() -> int:
    """A loopback port that no process listens on now.

    Below those that the kernel gives to outgoing connections: else one of them may have it when the server comes back.
    """
    low = int(PORT_RANGE.read_text().split()[0])
    for port in random.sample(
        range(LOWEST_PORT, max(low, LOWEST_PORT + 1)), k=min(100, max(low - LOWEST_PORT, 1))
    ):
        if is_free(port):
            return port
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def is_free(port: int) -> bool:
    with socket.socket() as probe:
        # As servers do: connections of the last instance that linger are no obstacle.
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
    return True


def serves(port: int, folder: Path) -> bool:
    """Whether a process that works in `folder` listens on the port: an answer may be that of another server."""
    wanted = {f"socket:[{inode}]" for inode in listening(port)}
    return bool(wanted) and any(wanted & open_files(pid) for pid in life.working_in(folder))


def listening(port: int) -> set[str]:
    """Inodes of the sockets that listen there."""
    found = set[str]()
    for table in (Path("/proc/net/tcp"), Path("/proc/net/tcp6")):
        if table.is_file():
            for line in table.read_text().splitlines()[1:]:
                _, local, _, state, *rest = line.split()
                if state == LISTENS and int(local.rsplit(":", 1)[1], 16) == port:
                    found.add(rest[5])
    return found


def open_files(pid: int) -> set[str]:
    """What the open files of a process are; none of one that has ended."""
    try:
        return {str(fd.readlink()) for fd in Path(f"/proc/{pid}/fd").iterdir()}
    except OSError:
        return set()


def was_taken(log: Path, begun_at: int) -> bool:
    """Whether the server said so since its log had so many bytes."""
    if not log.is_file():
        return False
    with log.open("rb") as file:
        file.seek(begun_at)
        said = file.read(life.LOG_BYTES).decode(errors="replace").lower()
    return any(words in said for words in TAKEN)
