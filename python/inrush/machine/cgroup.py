"""One control group of ours: what a set of processes may use together, of either version of cgroups.

Version 1 has a folder for each controller, version 2 one for all of them.
"""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

#: Where controllers are mounted.
CGROUPS = Path("/sys/fs/cgroup")
#: How often a quota of CPU is renewed, µs: short against the time of a chunk. The kernel gives no less than LEAST_US of it.
PERIOD_US, LEAST_US = 10_000, 1_000
#: Name of a limit -> the controller of version 1 and that of version 2.
CONTROLLERS = {
    "memory": ("memory", "memory"),
    "cpu": ("cpu", "cpu"),
    "read_bytes_per_s": ("blkio", "io"),
    "write_bytes_per_s": ("blkio", "io"),
    "reads_per_s": ("blkio", "io"),
    "writes_per_s": ("blkio", "io"),
}
#: Limit of a device -> the file of version 1 and the key in `io.max` of version 2.
DEVICE_FILES = {
    "read_bytes_per_s": ("blkio.throttle.read_bps_device", "rbps"),
    "write_bytes_per_s": ("blkio.throttle.write_bps_device", "wbps"),
    "reads_per_s": ("blkio.throttle.read_iops_device", "riops"),
    "writes_per_s": ("blkio.throttle.write_iops_device", "wiops"),
}
#: Version -> the file of the memory controller that counts processes which it ended.
MEMORY_EVENTS = {1: "memory.oom_control", 2: "memory.events"}


def version_of(root: Path = CGROUPS) -> int:
    return 1 if (root / "cpu").is_dir() or (root / "memory").is_dir() else 2


@dataclass(frozen=True)
class Group:
    version: int
    #: Controller -> its folder; of version 2 the same for each.
    folders: Mapping[str, Path] = field(default_factory=dict)

    def join(self, pid: int) -> None:
        """A process and what it starts from now on. Raises OSError."""
        for procs in self.procs:
            procs.write_text(str(pid))

    @property
    def procs(self) -> list[Path]:
        return [folder / "cgroup.procs" for folder in dict.fromkeys(self.folders.values())]

    def members(self) -> set[int]:
        """Processes that every one of its folders holds."""
        held = [{int(pid) for pid in procs.read_text().split()} for procs in self.procs]
        return set.intersection(*held) if held else set()

    def memory_kills(self) -> int:
        """Processes that the kernel ended because the group had no memory left, since it was made; 0 without that limit."""
        folder = self.folders.get("memory")
        if folder is None:
            return 0
        with contextlib.suppress(OSError):  # it has been removed
            lines = (folder / MEMORY_EVENTS[self.version]).read_text().splitlines()
            return sum(int(line.split()[1]) for line in lines if line.startswith("oom_kill "))
        return 0

    def remove(self) -> None:
        """Busy as long as one of its processes lives; then the next of its name removes it."""
        for folder in dict.fromkeys(self.folders.values()):
            with contextlib.suppress(OSError):
                folder.rmdir()


def made(name: str, limits: Mapping[str, float], device: str = "", root: Path = CGROUPS) -> Group:
    """A group with these limits, read back. Raises OSError where that is not permitted, or the kernel took another value.

    limits: bytes, cores, bytes/s and operations/s by their names in CONTROLLERS. device: `major:minor` of a whole disk.
    """
    version = version_of(root)
    group = Group(version, folders_of(name, limits, version, root))
    if version == 2:
        for controller in group.folders:
            (root / "cgroup.subtree_control").write_text(f"+{controller}")
    group.remove()  # one that a killed inrush left may have other limits
    try:
        for folder in dict.fromkeys(group.folders.values()):
            folder.mkdir(exist_ok=True)
        for path, value in entries(group, limits, device):
            path.write_text(value)
            check(path, value)
    except OSError:
        group.remove()
        raise
    return group


def folders_of(name: str, limits: Mapping[str, float], version: int, root: Path) -> dict[str, Path]:
    controllers = dict.fromkeys(CONTROLLERS[limit][version - 1] for limit in limits)
    return {c: (root / c if version == 1 else root) / name for c in controllers}


def entries(group: Group, limits: Mapping[str, float], device: str) -> list[tuple[Path, str]]:
    """Files and what is written into them, in order."""
    groups: list[tuple[Path, str]] = []
    for limit, value in limits.items():
        folder = group.folders[CONTROLLERS[limit][group.version - 1]]
        if limit in DEVICE_FILES:
            old, new = DEVICE_FILES[limit]
            groups.append(
                (folder / old, f"{device} {int(value)}")
                if group.version == 1
                else (folder / "io.max", f"{device} {new}={int(value)}")
            )
        elif limit == "memory":
            groups += memory_entries(folder, group.version, int(value))
        else:
            quota_us, period_us = quota(value)
            if group.version == 1:
                groups += [
                    (folder / "cpu.cfs_period_us", str(period_us)),
                    (folder / "cpu.cfs_quota_us", str(quota_us)),
                ]
            else:
                groups.append((folder / "cpu.max", f"{quota_us} {period_us}"))
    return groups


def memory_entries(folder: Path, version: int, bytes_: int) -> list[tuple[Path, str]]:
    """Memory with the page cache of what its processes read and write; none of it may go to swap instead."""
    if version == 2:
        return [(folder / "memory.max", str(bytes_)), (folder / "memory.swap.max", "0")]
    with_swap = folder / "memory.memsw.limit_in_bytes"
    return [
        (folder / "memory.limit_in_bytes", str(bytes_)),
        *([(with_swap, str(bytes_))] if with_swap.exists() else []),
    ]


def check(path: Path, value: str) -> None:
    """Raises OSError where a file does not hold what was written; memory is counted in whole pages."""
    read = path.read_text()
    if path.name.startswith("memory."):
        held = read.strip().isdigit() and abs(int(read) - int(value)) < 1 << 16
    else:
        held = any(set(value.split()) <= set(line.split()) for line in read.splitlines())
    if not held:
        raise OSError(0, f"the kernel holds {read.strip()!r} in place of {value!r}", str(path))


def quota(cores: float) -> tuple[int, int]:
    """CPU time and the time in which it may be used, µs."""
    period_us = max(PERIOD_US, round(LEAST_US / cores))
    return round(cores * period_us), period_us
