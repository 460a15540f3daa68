"""What a page costs at the device below a folder: random reads of 16 and 8 KiB, and long reads and writes, past the kernel's cache.

A filesystem without direct I/O (some network mounts) is asked to forget the file instead, which it may not do: then
`disk_direct` is False, and the times may be those of memory. tmpfs takes the flag and has no device: its times are those
of memory. Of a virtual disk they are those of its host, with the host's cache.
"""

from __future__ import annotations

import mmap
import os
import random
import statistics
import time
from pathlib import Path

from inrush.machine.host import free_bytes

BLOCK = 1 << 20
#: Of the file that pages are read from: larger than a disk's own cache would be slower to write than a run is long.
LARGEST_BYTES = 64 * BLOCK
PAGES = {"disk_read_16k_s": 16_384, "disk_read_8k_s": 8_192}


def device_probe(folder: Path, limit_s: float = 0.6) -> dict[str, float | bool]:
    """Seconds of a page (median of random reads), bytes a second of 1-MiB reads and writes, whether all were direct.

    One file of at most 64 MiB and a tenth of the free space, removed again. Takes about `limit_s`. Raises OSError where the
    folder cannot be written; empty where the disk has less than 16 MiB to spare.
    """
    folder.mkdir(parents=True, exist_ok=True)
    most = min(LARGEST_BYTES, free_bytes(folder) // 10) // BLOCK
    if most < 16:
        return {}
    path = folder / f".device-{os.getpid()}"
    try:
        direct = opens_direct(path)
        each_s = limit_s / 4
        blocks, write_s = written(path, most, each_s, direct)
        size = blocks * BLOCK
        found: dict[str, float | bool] = {
            name: statistics.median(read_times(path, size, page, each_s, direct))
            for name, page in PAGES.items()
        }
        long_s = read_times(path, size, BLOCK, each_s, direct, in_order=True)
    finally:
        path.unlink(missing_ok=True)
    return {
        **found,
        "disk_direct_read_bytes_per_s": len(long_s) * BLOCK / sum(long_s),
        "disk_direct_write_bytes_per_s": size / write_s,
        "disk_direct": direct,
    }


def opens_direct(path: Path) -> bool:
    """Whether the filesystem has direct I/O: some refuse the flag when a file is opened, some at the first write."""
    try:
        fd = os.open(path, os.O_CREAT | os.O_WRONLY | os.O_DIRECT, 0o600)
    except OSError:
        path.touch()
        return False
    try:
        with aligned(4096) as block:
            os.write(fd, block)
    except OSError:
        return False
    finally:
        os.close(fd)
    return True


def aligned(size: int) -> mmap.mmap:
    """Memory that direct I/O takes: it begins at a page."""
    return mmap.mmap(-1, size)


def written(path: Path, most: int, limit_s: float, direct: bool) -> tuple[int, float]:
    """Blocks of random bytes written, at least 16, and the seconds that they took until the device had them."""
    fd = os.open(path, os.O_WRONLY | (os.O_DIRECT if direct else 0))
    blocks = 0
    try:
        with aligned(BLOCK) as block:
            block.write(os.urandom(BLOCK))
            began = time.perf_counter()
            while blocks < most and (blocks < 16 or time.perf_counter() - began < limit_s):
                os.write(fd, block)
                blocks += 1
            os.fsync(fd)
            return blocks, time.perf_counter() - began
    finally:
        os.close(fd)


def read_times(
    path: Path, size: int, page: int, limit_s: float, direct: bool, in_order: bool = False
) -> list[float]:
    """Seconds of each read: at random places for so long, or once through the file."""
    fd = os.open(path, os.O_RDONLY | (os.O_DIRECT if direct else 0))
    places = [k * page for k in range(size // page)]
    if not in_order:
        random.Random(1).shuffle(places)
    try:
        if not direct:
            os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
        found: list[float] = []
        with aligned(page) as block:
            until = time.perf_counter() + limit_s
            for place in places:
                began = time.perf_counter()
                os.preadv(fd, [block], place)
                ended = time.perf_counter()
                found.append(ended - began)
                if ended > until:
                    break
        return found
    finally:
        os.close(fd)
