"""Records of a file on the disk: inrush against fio, by the same calls (pread and pwrite, direct, one in flight a session).

Both read one file, which neither writes, and both write another one: two files of one size may lie on parts of a disk that
differ. Each is laid out whole before. The rates of the peer are its own (its JSON). It writes the same bytes again and
again, as it does without `scramble_buffers`, which would cost it more than our stamps.
"""

from __future__ import annotations

import atexit
import json
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from functools import cache, partial
from math import inf
from pathlib import Path
from typing import Any, NamedTuple

from benches import ingest
from benches.floors import Parts
from benches.places import call
from benches.rounds import Rounds

#: In rounds of half a second fio is 5 to 9 % behind at small records, in these by at most 2 %: it is slow when it begins.
MILLISECONDS = 3_000
FILE_BYTES = 1 << 30
RECORDS = {
    "4 KiB": 1 << 12,
    "16 KiB": 1 << 14,
    "64 KiB": 1 << 16,
    "256 KiB": 1 << 18,
    "1 MiB": 1 << 20,
    "4 MiB": 1 << 22,
}
#: At random places: sessions, and the records that they are of.
SESSIONS, RANDOM = 256, ("4 KiB", "16 KiB")
DIRECTIONS = ("write", "read")
#: On a busy machine a short round of the peer may be between two ticks of its CPU.
TRIES = 3


class Work(NamedTuple):
    does: str
    order: str
    record_bytes: int
    sessions: int = 1


def works() -> Iterator[tuple[str, Work]]:
    for size, record_bytes in RECORDS.items():
        for does in DIRECTIONS:
            yield f"device {does} of {size} in order", Work(does, "sequential", record_bytes)
    for size in RANDOM:
        for does in DIRECTIONS:
            yield (
                f"device {does} of {size}, {SESSIONS} sessions",
                Work(does, "random", RECORDS[size], SESSIONS),
            )


@cache
def rounds(work: Work) -> tuple[Rounds, Rounds]:
    """Rates, and records for each second of CPU, of the same rounds."""
    return Rounds(partial(ours, work)), Rounds(partial(theirs, work))


def agreements() -> Iterator[Parts]:
    if shutil.which("fio") is None:
        return
    for name, work in works():
        us, them = rounds(work)
        yield name, "fio", "bytes/s", 0.95, us.figure(0), them.figure(0)


def comparisons() -> Iterator[Parts]:
    """What a record costs in the client; of large ones the kernel's share is all of it."""
    if shutil.which("fio") is None:
        return
    for name, work in works():
        us, them = rounds(work)
        yield f"{name}, client", "fio", "records/CPU-s", 0.95, us.figure(1), them.figure(1)


def ours(work: Work) -> tuple[float, float]:
    """Bytes per second, and records per second of CPU of the sessions' own threads."""
    io = {"does": work.does, "order": work.order, "record_bytes": work.record_bytes, "file_bytes": FILE_BYTES}
    operation = {"name": "record", "kind": "execute", "directives": {"io": io}}
    until = {"kind": "time", "ns": MILLISECONDS * 10**6}
    role = ingest.role("sessions", "record", {"kind": "endless"}, work.sessions, until=until)
    plan = ingest.document_of_run("device", [ingest.drive([role], limit_s=60)], [operation], [])
    with ingest.executed("device", plan, data=laid_out(work.does).parent) as tables:
        totals = tables["repetitions"][0]
    if totals["errors"] or totals["bytes"] != totals["ok"] * work.record_bytes:
        raise RuntimeError(
            f"device: {totals['errors']} of {totals['ops']} failed, {totals['bytes']} bytes moved"
        )
    seconds = (totals["end_ns"] - totals["start_ns"]) / 1e9
    return totals["bytes"] / seconds, totals["ok"] / (totals["cpu_ns"] / 1e9)


def theirs(work: Work) -> tuple[float, float]:
    """The same by fio, which has threads as we have. Raises RuntimeError."""
    for _ in range(TRIES):
        rate, per_cpu_s = by_fio(work)
        if per_cpu_s < inf:
            return rate, per_cpu_s
    raise RuntimeError(f"fio: it counted no CPU time, {TRIES} times")


def by_fio(work: Work) -> tuple[float, float]:
    kind = ("rand" if work.order == "random" else "") + work.does
    return reported(
        call([
            "fio", "--name=record", f"--filename={laid_out(work.does)}", f"--rw={kind}", f"--bs={work.record_bytes}",
            f"--size={FILE_BYTES}", "--ioengine=psync", "--direct=1", "--thread", f"--numjobs={work.sessions}",
            "--group_reporting", "--time_based", f"--runtime={MILLISECONDS}ms", "--output-format=json", "--overwrite=1",
            "--fallocate=none", "--norandommap", "--randseed=1", "--scramble_buffers=0",
        ]),
        work.does,
    )  # fmt: skip


def reported(shown: str, does: str) -> tuple[float, float]:
    """Bytes per second and records per second of CPU, of the one job that fio's JSON has: infinite where it counted none.

    Raises RuntimeError.
    """
    try:
        # Notes of fio stand in front of it.
        (job,) = json.loads(shown[shown.index("{") :])["jobs"]
    except ValueError as error:
        raise RuntimeError(f"no job in what fio printed: {shown[-400:]}") from error
    side: Mapping[str, Any] = job[does]
    if job["error"] or not side["io_bytes"] or not side["runtime"]:
        raise RuntimeError(f"fio: error {job['error']}, {side['io_bytes']} bytes moved")
    # Shares of the time of all its threads together.
    cpu_s = (job["usr_cpu"] + job["sys_cpu"]) / 100 * job["job_runtime"] / 1e3
    return side["io_bytes"] / (side["runtime"] / 1e3), side["total_ios"] / cpu_s if cpu_s > 0 else inf


@cache
def laid_out(does: str) -> Path:
    """The file of all writes, or of all reads, in a folder of its own on a disk."""
    path = Path(tempfile.mkdtemp(prefix=f"inrush-bench-device-{does}-", dir="/var/tmp"))
    atexit.register(shutil.rmtree, path)
    statement = {"text": "", "directives": {"file": {"kind": "lay_out", "bytes": FILE_BYTES}}}
    segment = {"kind": "control", "label": "create", "statements": [statement], "limit_ns": 600 * 10**9}
    plan = ingest.document_of_run("device", [segment], [], [])
    with ingest.executed("device", plan, data=path):
        (made,) = path.iterdir()
    return made
