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

#: Where controllers are mounted: version 1 has a folder for each, version 2 one for all.
CGROUPS = Path("/sys/fs/cgroup")
NAME = "inrush-load-server"
#: How often a quota is renewed, µs: short against the time of a chunk. The kernel gives no less than LEAST_US of it.
PERIOD_US, LEAST_US = 10_000, 1_000

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
            (group / "cgroup.procs").write_text(str(pid))
        yield QUOTA
    finally:
        # Busy as long as one of them lives; then the next run removes it.
        with contextlib.suppress(OSError):
            group.rmdir()


def made(root: Path, cores: float) -> Path:
    """A group of ours with its quota. Raises OSError where that is not permitted."""
    parent, versions = (root / "cpu", 1) if (root / "cpu").is_dir() else (root, 2)
    for left in parent.glob(f"{NAME}-*"):
        with contextlib.suppress(OSError):
            left.rmdir()
    if versions == 2:
        (parent / "cgroup.subtree_control").write_text("+cpu")
    group = parent / f"{NAME}-{os.getpid()}"
    group.mkdir(exist_ok=True)
    quota_us, period_us = quota(cores)
    if versions == 2:
        (group / "cpu.max").write_text(f"{quota_us} {period_us}")
    else:
        (group / "cpu.cfs_period_us").write_text(str(period_us))
        (group / "cpu.cfs_quota_us").write_text(str(quota_us))
    return group


def quota(cores: float) -> tuple[int, int]:
    """CPU time and the time in which it may be used, µs."""
    period_us = max(PERIOD_US, round(LEAST_US / cores))
    return round(cores * period_us), period_us


def chosen_cores(allowed: set[int], count: int) -> set[int]:
    """The last of those we may use: interrupts mostly come to the first."""
    return set(sorted(allowed)[-count:])


def threads_of(pid: int) -> list[int]:
    return [int(path.name) for path in Path(f"/proc/{pid}/task").iterdir()]
