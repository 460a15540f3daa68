"""A process that a limit must slow, started by `server_limits`: KIND N FILE [cgroup.procs…]; prints what it came to.

It uses nothing but the standard library, because it starts without site packages.
"""

from __future__ import annotations

import mmap
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path

BLOCK, PAGE = 1 << 20, 4096


def main(kind: str, n: int, file: str, groups: list[str]) -> float:
    if kind.startswith("read"):
        write(
            file, n if kind == "read_bytes_per_s" else n * PAGE, BLOCK
        )  # what is read; outside of the group
    for group in groups:
        Path(group).write_text(str(os.getpid()))
    return PROBES[kind](n, file)


def write(file: str, size: int, block: int) -> float:
    """1 / s that it took; each block is on the disk before the next."""
    descriptor = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    data, left, began = os.urandom(block), size, time.monotonic()
    while left > 0:
        left -= os.write(descriptor, data[:left])
        os.fdatasync(descriptor)
    os.close(descriptor)
    return 1 / (time.monotonic() - began)


def read(file: str, size: int, block: int) -> float:
    """1 / s that it took, past the page cache."""
    descriptor = os.open(file, os.O_RDONLY | os.O_DIRECT)
    into, at, began = mmap.mmap(-1, block), 0, time.monotonic()
    while at < size:
        if os.preadv(descriptor, [into], at) <= 0:
            break
        at += block
    os.close(descriptor)
    return 1 / (time.monotonic() - began)


def cpu(processes: int, _: str) -> float:
    """Cores that so many processes, which do nothing but count, got together."""
    began = time.monotonic()
    children = []
    for _each in range(processes):
        child = os.fork()
        if child == 0:
            while time.monotonic() - began < 1.0:
                pass
            os._exit(0)
        children.append(child)
    for child in children:
        os.waitpid(child, 0)
    used = os.times()
    return (used.children_user + used.children_system) / (time.monotonic() - began)


def memory(size: int, _: str) -> float:
    """Touches every page; it is the one to be ended."""
    Path("/proc/self/oom_score_adj").write_text("1000")
    held = mmap.mmap(-1, size)
    for at in range(0, size, PAGE):
        held[at] = 1
    return float(size)


PROBES: dict[str, Callable[[int, str], float]] = {
    "memory": memory,
    "cpu": cpu,
    "read_bytes_per_s": lambda n, f: read(f, n, BLOCK) * n,
    "write_bytes_per_s": lambda n, f: write(f, n, BLOCK) * n,
    "reads_per_s": lambda n, f: read(f, n * PAGE, PAGE) * n,
    "writes_per_s": lambda n, f: write(f, n * PAGE, PAGE) * n,
}

if __name__ == "__main__":
    print(main(sys.argv[1], int(sys.argv[2]), sys.argv[3], sys.argv[4:]))
