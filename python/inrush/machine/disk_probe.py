"""Ceilings of the disk below a folder, which the guard against impossible figures compares with: long writes and fsyncs a second."""

from __future__ import annotations

import os
import time
from pathlib import Path

from inrush.machine.host import free_bytes

#: A disk that is busy with something else does a fraction of what it can: of several looks the best counts.
PROBES = 3


def disk_probe(folder: Path, limit_s: float = 0.6, block_bytes: int = 1 << 20) -> dict[str, object]:
    """Sequential write to the device and fsync rate, each the best of PROBES; small files that are removed again.

    Never more than a tenth of the free space. Returns disk_write_bytes_per_s (written and fsynced), disk_fsync_per_s
    (4 KiB appended, each fsynced), every single one as disk_write_probes and disk_fsync_probes, disk_probe_s. Takes
    about `limit_s`; raises OSError when the folder cannot be written.
    """
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f".probe-{os.getpid()}"
    began = time.perf_counter()
    writes, syncs = [], []
    each_s = limit_s / (2 * PROBES)
    try:
        for _ in range(PROBES):
            limit_bytes = min(256 * block_bytes, free_bytes(folder) // 10)
            writes.append(_sequential(path, each_s, min(block_bytes, limit_bytes), limit_bytes))
            syncs.append(_fsyncs(path, each_s, max(1, min(5000, limit_bytes // 4096))))
    finally:
        path.unlink(missing_ok=True)
    return {
        "disk_write_bytes_per_s": max(writes),
        "disk_fsync_per_s": max(syncs),
        "disk_write_probes": writes,
        "disk_fsync_probes": syncs,
        "disk_probe_s": time.perf_counter() - began,
    }


def _sequential(path: Path, limit_s: float, block_bytes: int, limit_bytes: int) -> float:
    """Bytes per second, the last fsync included. Random bytes: some devices compress."""
    block = os.urandom(block_bytes)
    written = 0
    began = time.perf_counter()
    with path.open("wb", buffering=0) as f:
        while time.perf_counter() - began < limit_s and written < limit_bytes:
            written += f.write(block)
            if written % (16 * block_bytes) == 0:
                os.fdatasync(f.fileno())
        os.fsync(f.fileno())
    return written / (time.perf_counter() - began)


def _fsyncs(path: Path, limit_s: float, most: int) -> float:
    page = os.urandom(4096)
    count = 0
    with path.open("ab", buffering=0) as f:
        began = time.perf_counter()
        while time.perf_counter() - began < limit_s and count < most:
            f.write(page)
            os.fdatasync(f.fileno())
            count += 1
        return count / (time.perf_counter() - began)
