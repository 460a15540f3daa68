"""The instrument alone: no-ops, rows, encoders, memory. Rates are per second of client CPU."""

from __future__ import annotations

import json
import os
import resource
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

from inrush import _core

SECONDS = 0.5
Parts = tuple[str, str, str, float, Callable[[], float], Callable[[], float]]

#: Bars: rows or operations per second of client CPU.
NULL_OPS, ROWS, TEXT, BINARY = 10e6, 10e6, 5e6, 20e6
MEMORY_MB = 40.0


def comparisons() -> Iterator[Parts]:
    yield "null operations", "bar of 10 M", "ops/CPU-s", 1.0, null_ops, lambda: NULL_OPS
    yield "rows generated", "bar of 10 M", "rows/CPU-s", 1.0, lambda: rate("rows"), lambda: ROWS
    yield "rows as TSV", "bar of 5 M", "rows/CPU-s", 1.0, lambda: rate("encode_text"), lambda: TEXT
    yield (
        "rows as binary COPY",
        "bar of 20 M",
        "rows/CPU-s",
        1.0,
        lambda: rate("encode_binary"),
        lambda: BINARY,
    )
    yield "rows, late against early", "first 1 M rows", "rows/CPU-s", 0.9, late_rows, early_rows
    yield (
        "memory of a null run",
        "bar of 40 MB",
        "MB",
        1.0,
        null_memory_mb,
        lambda: MEMORY_MB,
    )
    if (pgbench := shutil.which("pgbench")) and (url := os.environ.get("INRUSH_POSTGRESQL_URL")):
        subprocess.run([pgbench, "-i", "-q", "-s", "1", url], capture_output=True, check=True)
        yield (
            "null operations",
            "pgbench no-op",
            "ops/CPU-s",
            0.6,
            null_ops,
            lambda: pgbench_ops(pgbench, url),
        )


def rate(what: str) -> float:
    return float(json.loads(_core.calibrate(what, SECONDS))["rows_per_cpu_s"])


def null_ops() -> float:
    return float(json.loads(_core.calibrate("null", SECONDS))["ops_per_cpu_s"])


def early_rows() -> float:
    return float(json.loads(_core.calibrate("rows", SECONDS))["rows_per_cpu_s"])


def late_rows() -> float:
    """Rows behind the first hundred million."""
    return float(json.loads(_core.calibrate("rows_late", SECONDS))["rows_per_cpu_s"])


def null_memory_mb() -> float:
    """Peak RSS of a null run with two sessions, above the same interpreter with inrush imported."""
    idle = peak_mb("import inrush._core")
    busy = peak_mb("import inrush._core as c; c.calibrate('null', 0.5)")
    return max(busy - idle, 0.1)


def peak_mb(program: str) -> float:
    """Of a process of its own. Its `ru_maxrss` would be this one's: a new program inherits its parent's peak."""
    shown = f"{program}\nprint(*(line.split()[1] for line in open('/proc/self/status') if line.startswith('VmHWM')))"
    found = subprocess.run([sys.executable, "-c", shown], capture_output=True, text=True, check=True)
    return int(found.stdout) / 1024


def pgbench_ops(pgbench: str, url: str) -> float:
    with tempfile.TemporaryDirectory() as folder:
        script = Path(folder) / "noop.sql"
        script.write_text("\\set x random(1, 1000)\n")
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        shown = subprocess.run(
            [pgbench, "-n", "-f", str(script), "-T", "1", "-c", "2", "-j", "2", url],
            capture_output=True, text=True, check=True,
        ).stdout  # fmt: skip
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = next(line for line in shown.splitlines() if "transactions actually processed" in line)
    cpu_s = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return int(done.split(":")[1].split("/")[0]) / cpu_s
