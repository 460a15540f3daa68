"""A client that comes before all else on a machine it shares with the server: `inrush run --realtime`.

Sessions that are due at one instant wait for the cores that the server keeps busy, and that wait is the client's, not the
server's. With the scheduler's first-in-first-out class the client runs the moment it is due. It needs a privilege of Linux.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from pathlib import Path

from inrush.border.pipeline import AnyPlan
from inrush.engines import server
from inrush.errors import Problem
from inrush.machine import probed

OPTION = "--realtime"
#: The lowest of the class: before every ordinary process, behind what the kernel itself runs there.
PRIORITY = 1


def come_first() -> None:
    """This thread and those it starts from now on. Raises PermissionError without the privilege."""
    os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(PRIORITY))


def client_problems(engines: Iterable[str], plans: Iterable[AnyPlan]) -> Iterator[Problem]:
    """What is measured would have that priority too. engines: their names."""
    each = list(plans)
    if any("loads" in plan for plan in each):
        yield Problem.sentence(f"{OPTION}: the processes of a pipeline are what is measured; run it without")
    # They would hold from each other the cores that they need at one instant.
    if any("share" in plan for plan in each):
        yield Problem.sentence(
            f"{OPTION}: several client processes cannot all come first; run it without, or with one"
        )
    if inside := [engine for engine in engines if server(engine).embedded]:
        yield Problem.sentence(
            f"{OPTION}: {', '.join(inside)} runs inside of the client, which would come before itself; name servers, "
            "or run without it"
        )


def kernel_problems() -> Iterator[Problem]:
    if reason := unable():
        yield Problem.sentence(
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
