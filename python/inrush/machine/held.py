"""To how many processors a process is held: by its affinity, and by quotas of its control groups and of those above them."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterator
from pathlib import Path

from inrush.machine.cgroup import CGROUPS


def cores_of_process(pid: int, root: Path = CGROUPS, proc: Path = Path("/proc")) -> float:
    """Raises OSError of a process that is gone."""
    allowed = float(len(os.sched_getaffinity(pid)))
    return min([allowed, *quotas((proc / str(pid) / "cgroup").read_text(), root)])


def quotas(groups: str, root: Path = CGROUPS) -> Iterator[float]:
    """Cores that each group allows. groups: as /proc/PID/cgroup has them, of either version."""
    for line in groups.splitlines():
        _, controllers, path = line.split(":", 2)
        if not controllers:
            yield from up(root, path, quota_of_version_2)
        elif "cpu" in controllers.split(","):
            yield from up(root / "cpu", path, quota_of_version_1)


def up(mount: Path, path: str, quota: Callable[[Path], float | None]) -> Iterator[float]:
    """From a group to the one above all, which has none. A group that is not seen from here says nothing."""
    group = Path(path.strip("/"))
    for each in (group, *group.parents):
        with contextlib.suppress(OSError, ValueError):
            if (cores := quota(mount / each)) is not None:
                yield cores


def quota_of_version_1(folder: Path) -> float | None:
    quota_us = int((folder / "cpu.cfs_quota_us").read_text())
    return None if quota_us < 0 else quota_us / int((folder / "cpu.cfs_period_us").read_text())


def quota_of_version_2(folder: Path) -> float | None:
    quota_us, period_us = (folder / "cpu.max").read_text().split()
    return None if quota_us == "max" else int(quota_us) / int(period_us)
