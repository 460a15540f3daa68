"""Processes of this machine as the kernel shows them: program, parent, CPU time, and where they work."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

#: Of a process: the fields of /proc/PID/stat behind its name.
PARENT, USER, SYSTEM, ENDED_USER, ENDED_SYSTEM = 1, 11, 12, 13, 14


@dataclass(frozen=True)
class RunningProcess:
    pid: int
    parent: int
    #: Path of its program.
    program: str
    #: Its own CPU time and that of its children that have ended, s.
    cpu_s: float


def processes() -> dict[int, RunningProcess]:
    """Those whose program we may look at: ours, and all of them as root."""
    found = {}
    tick_s = 1 / os.sysconf("SC_CLK_TCK")
    for entry in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError, ValueError):  # it has ended, or is not ours to look at
            fields = (entry / "stat").read_text().rsplit(")", 1)[1].split()
            ticks = sum(int(fields[k]) for k in (USER, SYSTEM, ENDED_USER, ENDED_SYSTEM))
            program = str((entry / "exe").readlink()).removesuffix(" (deleted)")
            found[int(entry.name)] = RunningProcess(
                int(entry.name), int(fields[PARENT]), program, ticks * tick_s
            )
    return found


def first_of(pid: int, alike: Mapping[int, RunningProcess]) -> int:
    """The process of a server that is no child of one of its kind. Pure."""
    while alike[pid].parent in alike:
        pid = alike[pid].parent
    return pid


def working_folder(pid: int) -> str | None:
    with contextlib.suppress(OSError):
        return str(Path(f"/proc/{pid}/cwd").readlink())
    return None
