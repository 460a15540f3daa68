"""A load server that may use so many cores and no more, so that it is what is full first on any machine.

A cgroup's quota, where making one is permitted (root, mostly): any number of cores, also a part of one, and none of them
shared out of what it is promised. Elsewhere whole cores by affinity, which others may use too: then its capacity is at
most that.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator, Sequence
from pathlib import Path

from inrush.errors import UsageError
from inrush.machine import cgroup
from inrush.machine.cgroup import CGROUPS, Group, version_of

NAME = "inrush-load-server"

QUOTA, AFFINITY = "a cgroup's quota", "affinity"


@contextlib.contextmanager
def limited(pids: Sequence[int], cores: float, root: Path = CGROUPS) -> Iterator[str]:
    """Processes that are held to `cores` together, and those that they start; by what they are held.

    The processes have ended when this ends. Raises UsageError where a part of a core cannot be had.
    """
    try:
        group = made(root, cores)
    except OSError as e:
        if cores != round(cores):
            raise UsageError(
                f"pipeline.load_server_cores = {cores:g}: part of a core takes a cgroup's quota, which is not permitted here "
                f"({e.strerror or e}: {e.filename}); run as root, or take whole cores"
            ) from e
        kept = chosen_cores(os.sched_getaffinity(0), int(cores))
        for thread in (t for pid in pids for t in threads_of(pid)):
            os.sched_setaffinity(thread, kept)
        yield AFFINITY
        return
    try:
        for pid in pids:
            group.join(pid)
        yield QUOTA
    finally:
        group.remove()


def made(root: Path, cores: float) -> Group:
    """A group of ours with its quota. Raises OSError where that is not permitted."""
    parent = root / "cpu" if version_of(root) == 1 else root
    for left in parent.glob(f"{NAME}-*"):
        with contextlib.suppress(OSError):
            left.rmdir()
    return cgroup.made(f"{NAME}-{os.getpid()}", {"cpu": cores}, root=root)


def chosen_cores(allowed: set[int], count: int) -> set[int]:
    """The last of those we may use: interrupts mostly come to the first."""
    return set(sorted(allowed)[-count:])


def threads_of(pid: int) -> list[int]:
    return [int(path.name) for path in Path(f"/proc/{pid}/task").iterdir()]
