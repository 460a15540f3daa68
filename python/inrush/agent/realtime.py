"""A client that comes before all else on a machine it shares with the server: `inrush run --realtime`.

Sessions that are due at one instant wait for the cores that the server keeps busy, and that wait is the client's, not the
server's. With the scheduler's first-in-first-out class the client runs the moment it is due. It needs a privilege of Linux.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

from inrush.engines import server
from inrush.errors import UsageError
from inrush.machine import probed

OPTION = "--realtime"
#: The lowest of the class: before every ordinary process, behind what the kernel itself runs there.
PRIORITY = 1


def come_first() -> None:
    """This thread and those it starts from now on. Raises PermissionError without the privilege."""
    os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(PRIORITY))


def refuse_unable(engines: Iterable[str], loads: bool = False, shared: bool = False) -> None:
    """Raises UsageError where what is measured would have that priority too, or where the kernel does not let us.

    engines: their names. loads: by client and load server, not by sessions of the core alone. shared: by several client
    processes, which would hold from each other the cores that they need at one instant.
    """
    if loads:
        raise UsageError(f"{OPTION}: the processes of a pipeline are what is measured; run it without")
    if shared:
        raise UsageError(
            f"{OPTION}: several client processes cannot all come first; run it without, or with one"
        )
    if inside := [engine for engine in engines if server(engine).embedded]:
        raise UsageError(
            f"{OPTION}: {', '.join(inside)} runs inside of the client, which would come before itself; name servers, "
            "or run without it"
        )
    if reason := unable():
        raise UsageError(
            f"{OPTION}: {reason}; run as root or with the capability CAP_SYS_NICE (a limit `ulimit -r 1` does too), "
            "or without it"
        )


def realtime_environment(data: Path) -> dict[str, object]:
    """What `env.json` holds of the machine, and how the client was scheduled."""
    return {
        **probed.environment(data),
        "client_scheduling": f"first in, first out (SCHED_FIFO, priority {PRIORITY})",
    }


def unable() -> str | None:
    """Tried on this very thread, and undone: neither a uid nor a limit shows what a container's kernel allows."""
    policy, held = os.sched_getscheduler(0), os.sched_getparam(0)
    try:
        come_first()
    except OSError as e:
        return f"the kernel does not allow it ({e.strerror})"
    os.sched_setscheduler(0, policy, held)
    return None
