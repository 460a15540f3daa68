"""Whose port it is. Between the choice of a free port and a server that listens there, another process may take it."""

from __future__ import annotations

from pathlib import Path

from inrush.engines.servers import life

#: As the logs of servers word EADDRINUSE; the second is QuestDB's.
TAKEN = ("address already in use", "could not bind socket")
#: State of a socket that listens, in the kernel's tables.
LISTENS = "0A"


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
