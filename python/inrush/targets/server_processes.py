"""A server that inrush has not started, on the machine that looks: its processes by the port of its address, the folder of its
data, the cores that it may use."""

from __future__ import annotations

import contextlib
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from inrush.border import address
from inrush.engines.base.twin import Twin
from inrush.machine.addresses import is_own, own_addresses, resolved
from inrush.machine.held import cores_of_process
from inrush.machine.listeners import holders, listeners, opened_by, sockets_at
from inrush.machine.processes import first_of, processes


@dataclass(frozen=True)
class FoundServer:
    """As the process that looks for it sees it."""

    #: Those that are no child of one of them; empty: not found, and `why` says it.
    pids: tuple[int, ...] = ()
    why: str = ""
    #: Of its data; empty: not known.
    folder: str = ""
    #: Processors that it may use, and that the machine has.
    cores: float | None = None
    of_machine: int | None = None

    def document(self) -> dict[str, Any]:
        known = {"cores": self.cores, "of_machine": self.of_machine}
        return {
            "pids": [*self.pids],
            **({"why": self.why} if self.why else {}),
            **{key: value for key, value in known.items() if value is not None},
        }


def found_here(twin: Twin, url: str) -> FoundServer | None:
    """The server at an address of this machine; None of one elsewhere, and of an engine that is none."""
    if twin.embedded or twin.protocol is None or not url:
        return None
    place = address.read(url)
    if place.socket is not None:
        return FoundServer(why=BY_SOCKET)
    # Of several addresses in one, the server is not known by it.
    return found_at(twin, *place.hosts[0]) if len(place.hosts) == 1 else None


def found_at(twin: Twin, host: str, port: int) -> FoundServer | None:
    """None of one on another host."""
    return found_server(twin, host, port, INRUSH) if is_here(host) else None


def is_here(host: str) -> bool:
    """A name with an address of another host besides may mean that one."""
    found = resolved(host)
    # A machine that knows itself by all its addresses has those of its links among them.
    meant = {of for of in found if not of.is_link_local} or found
    mine = own_addresses()
    return bool(meant) and all(is_own({of}, mine) for of in meant)


def found_server(twin: Twin, host: str, port: int, seer: str) -> FoundServer:
    """seer: the process that looks, for sentences."""
    title = twin.title or twin.name
    if not twin.programs:
        return FoundServer(
            why=f"the processes of a server of {title} are known only where inrush has started it"
        )
    sockets = sockets_at(listeners(), resolved(host), port)
    if not sockets:
        return FoundServer(why=f"nothing listens at port {port} in the network of {seer}")
    held, running = holders(sockets), processes()
    programs = {pid: Path(running[pid].program).name for pid in held.pids if pid in running}
    mine = {pid: running[pid] for pid, program in programs.items() if program in twin.programs}
    if not mine:
        others = ", ".join(sorted({*programs.values()} - twin.programs))
        why = f"at port {port} listens {others}, which is no {title}" if others else hidden_from(seer)
        return FoundServer(why=why)
    pids = tuple(sorted({first_of(pid, mine) for pid in mine}))
    folder = folder_of(twin, pids[0])
    cores = None
    with contextlib.suppress(OSError):
        cores = cores_of_process(pids[0])
    return FoundServer(pids, "", folder, cores, os.cpu_count())


def folder_of(twin: Twin, pid: int) -> str:
    """Of its data, by a path that leads there from here: the server may have files of its own, as in a container. Empty: not known."""
    process = Path("/proc") / str(pid)
    if twin.works_in_data:
        return str(process / "cwd")
    with contextlib.suppress(OSError):
        said = twin.folder_of_data(opened_by(process))
        if said and (found := process / "root" / said.lstrip("/")).is_dir():
            return str(found)
    return ""


#: What looks for a server of the run's own target, for sentences.
INRUSH = "inrush"
BY_SOCKET = "its URL names a Unix socket, and a server is looked for by its port; name host and port to have it watched"


def hidden_from(seer: str) -> str:
    """The port is taken, and the process that has it is another user's."""
    return f"its process is not shown to {seer}; start {seer} as root or as the server's user, in the same space of processes"
