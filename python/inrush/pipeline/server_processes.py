"""A shard's server on this host: its processes by the port of its address, the folder of its data, the cores that it may use."""

from __future__ import annotations

import contextlib
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from inrush.border.pipeline import ShardServer
from inrush.engines import server
from inrush.engines.twin import Twin
from inrush.machine.addresses import resolved
from inrush.machine.held import cores_of_process
from inrush.machine.listeners import holders, listeners, opened_by, sockets_at
from inrush.targets.standing import first_of, processes


@dataclass(frozen=True)
class FoundServer:
    """A server of shards, as the process on its host sees it."""

    server: ShardServer
    #: Those that are no child of one of them; empty: not found, and `why` says it.
    pids: tuple[int, ...] = ()
    why: str = ""
    #: Of its data; empty: not known.
    folder: str = ""
    #: Processors that it may use, and that the machine has.
    cores: float | None = None
    of_machine: int | None = None

    def document(self) -> dict[str, Any]:
        of, known = self.server, {"cores": self.cores, "of_machine": self.of_machine}
        return {
            **{key: of[key] for key in ("role", "host", "port", "shards")},
            "pids": [*self.pids],
            **({"why": self.why} if self.why else {}),
            **{key: value for key, value in known.items() if value is not None},
        }


def found_server(of: ShardServer) -> FoundServer:
    twin, port = server(of["engine"]), of["port"]
    sockets = sockets_at(listeners(), resolved(of["host"]), port)
    if not sockets:
        return FoundServer(of, why=f"nothing listens at port {port} in the network of the worker")
    held, running = holders(sockets), processes()
    programs = {pid: Path(running[pid].program).name for pid in held.pids if pid in running}
    mine = {pid: running[pid] for pid, program in programs.items() if program in twin.programs}
    if not mine:
        others = ", ".join(sorted({*programs.values()} - twin.programs))
        why = f"at port {port} listens {others}, which is no {twin.title or twin.name}" if others else HIDDEN
        return FoundServer(of, why=why)
    pids = tuple(sorted({first_of(pid, mine) for pid in mine}))
    folder = folder_of(twin, pids[0])
    cores = None
    with contextlib.suppress(OSError):
        cores = cores_of_process(pids[0])
    return FoundServer(of, pids, "", folder, cores, os.cpu_count())


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


#: The port is taken, and the process that has it is another user's.
HIDDEN = "its process is not shown to the worker; start the worker as root or as the server's user, in the same space of processes"
