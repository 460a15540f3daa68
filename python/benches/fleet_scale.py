"""What it costs to make the tables of many workers those of one, and to read them as a report does.

`python -m benches.fleet_scale --workers 10 100 1000 --hours 24`: each worker drives two roles of one operation, in intervals as
long as a run of so many hours has them, with a batch for each flush, as a client process writes them. Tables are made of a few
workers with a seed each, a piece at a time; the rest are links to them, each with a clock of its own that drifts. Joining,
sealing and the figures are fresh processes: memory is the peak of each, seconds are of processor time.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from inrush.plan.intervals import interval_s, watch_s
from inrush.results.schema import SCHEMAS

SECOND = 10**9
ROLES, KINDS = {"readers": "read", "writers": "write"}, ("latency", "service", "wait")
#: Of a client process and of its threads.
LOOKS = [
    (metric, "")
    for metric in ("cpu_s", "cpu_system_s", "rss_bytes", "major_faults", "read_bytes", "write_bytes")
]
LOOKS += [("cpu_s", "readers"), ("cpu_s", "writers")]
#: Calls of a role in a second; intervals of different calls, which are repeated.
CALLS, AT_ONCE = 100, 100
POWER = 7
#: Workers with tables of their own.
DISTINCT = 8
#: Clocks are known to so much, as of two hosts with 0.1 ms between them, and differ by so much in their rate.
ERROR_NS, DRIFT = 100_000, 20e-6
STEPS = ("join", "seal", "figures")


def make(folder: Path, seed: int, seconds: int) -> None:
    """Tables of one worker, with its run time 0 as it likes."""
    folder.mkdir(parents=True)
    draw = np.random.default_rng(seed)
    start_ns = int(draw.integers(5, 50)) * SECOND
    (folder / "start_ns").write_text(str(start_ns))
    length_ns, watch_ns = (round(of(None, seconds) * SECOND) for of in (interval_s, watch_s))
    count = seconds * SECOND // length_ns
    outs = {
        name: pa.ipc.new_stream(folder / f"{name}.arrows", SCHEMAS[name])
        for name in ("intervals", "sends", "hist", "resources")
    }
    # A batch for each flush, of at least 2 s.
    batch = max(1, 2 * SECOND // length_ns)
    done = np.zeros(len(ROLES), np.int64)
    ops = draw.poisson(CALLS * length_ns / SECOND, (AT_ONCE, len(ROLES))) + 1
    hist = latencies(draw, ops.ravel())
    for first in range(0, count, AT_ONCE):
        n = min(AT_ONCE, count - first)
        t_ns = start_ns + np.arange(first, first + AT_ONCE, dtype=np.int64) * length_ns
        for name, table in counted(ops, hist, t_ns, length_ns, done).items():
            rows = table.num_rows // AT_ONCE
            outs[name].write_table(table.slice(0, n * rows), max_chunksize=rows * batch)
        done += ops[:n].sum(axis=0)
    t_ns = start_ns + np.arange(0, seconds * SECOND, watch_ns, dtype=np.int64)
    outs["resources"].write_table(
        used(t_ns), max_chunksize=len(LOOKS) * max(1, batch * length_ns // watch_ns)
    )
    for name, rows in totals(start_ns, start_ns + seconds * SECOND, done).items():
        outs[name] = pa.ipc.new_stream(folder / f"{name}.arrows", SCHEMAS[name])
        outs[name].write_table(pa.Table.from_pylist(rows, SCHEMAS[name]))
    for out in outs.values():
        out.close()


def totals(start_ns: int, end_ns: int, done: Any) -> dict[str, list[dict[str, Any]]]:
    where = {"segment": 1, "repetition": 0}
    repetitions = [
        {**where, "role": role, "start_ns": start_ns, "end_ns": end_ns, "rows": ops, "bytes": 100 * ops, "ops": ops,
         "ok": ops, "errors": 0, "wrong": 0, "late": 0, "unsent": 0, "unseen": 0, "sessions": 2, "cpu_ns": 10_000 * ops}
        for role, ops in zip(ROLES, done.tolist(), strict=True)
    ]  # fmt: skip
    segments = [{
        "segment": 1, "kind": "drive", "label": "measure", "phase": "measure", "start_ns": start_ns, "end_ns": end_ns,
        "ended_by": "time", "client_cpu_ns": 7, "step": "",
    }]  # fmt: skip
    sessions = [
        {**where, "role": role, "session": n, "cpu_ns": 1, "busy_ns": 1, "ops": 1, "rows": 1}
        for role in ROLES
        for n in range(2)
    ]
    return {"repetitions": repetitions, "segments": segments, "sessions": sessions}


def counted(ops: Any, hist: dict[str, Any], t_ns: Any, length_ns: int, done: Any) -> dict[str, pa.Table]:
    """ops: calls of each interval and role; hist: their latencies. done: calls of each role before."""
    n, roles = ops.shape
    zero, flat = np.zeros(n * roles, np.int64), ops.ravel()
    of = {
        "segment": zero + 1, "repetition": zero, "role": np.tile([*ROLES], n), "t_ns": np.repeat(t_ns, roles),
        "dt_ns": zero + length_ns, "op": np.tile([*ROLES.values()], n),
    }  # fmt: skip
    intervals = {
        **of, "rows": flat, "bytes": 100 * flat, "ops": flat, "errors": zero, "late": zero, "in_flight": zero + 2,
        "backlog": zero, "cum_rows": (done + np.cumsum(ops, axis=0)).ravel(),
    }  # fmt: skip
    found = {
        "intervals": intervals,
        "sends": {**of, "ops": flat, "sends": flat // 2, "bytes": 50 * flat},
        "hist": {**{column: np.repeat(values, len(KINDS)) for column, values in of.items()}, **hist},
    }
    return {name: as_table(name, columns) for name, columns in found.items()}


def latencies(draw: np.random.Generator, calls: Any) -> dict[str, Any]:
    """Of each kind all calls of an interval; no call of closed sessions waits."""
    lines = len(calls) * len(KINDS)
    owner = np.repeat(np.arange(lines), np.repeat(calls, len(KINDS)))
    latency = draw.lognormal(13 + owner // len(KINDS) % len(ROLES), 0.5).astype(np.int64)
    latency[owner % len(KINDS) == len(KINDS) - 1] = 0
    firsts = np.searchsorted(owner, np.arange(lines))
    key, count = np.unique(owner << 32 | buckets(latency), return_counts=True)
    ends = np.searchsorted(key >> 32, np.arange(lines + 1)).astype(np.int32)
    return {
        "kind": np.tile(KINDS, len(calls)), "grouping_power": np.full(lines, POWER),
        "bucket": pa.ListArray.from_arrays(pa.array(ends), pa.array((key & 0xFFFFFFFF).astype(np.uint32))),
        "count": pa.ListArray.from_arrays(pa.array(ends), pa.array(count.astype(np.uint64))),
        "n": np.repeat(calls, len(KINDS)), "min_ns": np.minimum.reduceat(latency, firsts),
        "max_ns": np.maximum.reduceat(latency, firsts), "sum_ns": np.add.reduceat(latency, firsts),
    }  # fmt: skip


def buckets(value: Any) -> Any:
    """As `histogram.bucket_of`, of many values."""
    power = np.frexp(np.maximum(value, 1).astype(np.float64))[1].astype(np.int64) - 1
    shift = np.maximum(power - POWER, 0)
    large = (1 << (POWER + 1)) + ((power - (POWER + 1)) << POWER) + ((value - (1 << power)) >> shift)
    return np.where(value < 1 << (POWER + 1), value, large)


def used(t_ns: Any) -> pa.Table:
    n = len(t_ns)
    return as_table("resources", {
        "role": ["client"] * (n * len(LOOKS)), "t_ns": np.repeat(t_ns, len(LOOKS)),
        "metric": [metric for metric, _ in LOOKS] * n, "device": [device for _, device in LOOKS] * n,
        "value": np.repeat(t_ns / 1e10, len(LOOKS)),
    })  # fmt: skip


def as_table(name: str, columns: dict[str, Any]) -> pa.Table:
    schema = SCHEMAS[name]
    arrays = [of if isinstance(of, pa.Array) else pa.array(of) for of in (columns[f.name] for f in schema)]
    return pa.table([of.cast(f.type) for of, f in zip(arrays, schema, strict=True)], schema=schema)


def linked(parts: Path, made: Path, workers: int) -> None:
    """Folders as of a shared run: `parts` is the first one's own, and the joined tables go there."""
    for n in range(workers):
        folder = folder_of(parts, n)
        folder.mkdir(parents=True, exist_ok=True)
        for path in (made / str(n % DISTINCT)).iterdir():
            (folder / path.name).symlink_to(path)


def folder_of(parts: Path, process: int) -> Path:
    return parts / f"process-{process + 1}" if process else parts


def join(run: Path, workers: int) -> None:
    from inrush.clients.clocks import Shift
    from inrush.clients.joined import write

    parts = run / "parts"
    folders = [folder_of(parts, n) for n in range(workers)]
    starts = [int((folder / "start_ns").read_text()) for folder in folders]
    draw = np.random.default_rng(0)
    shifts = [Shift()]
    for start_ns in starts[1:]:
        # To the first one's start, as well as it is known.
        rate = draw.uniform(-DRIFT, DRIFT)
        off_ns = int(draw.integers(-ERROR_NS, ERROR_NS))
        shifts.append(Shift(starts[0] - start_ns - round(rate * start_ns) + off_ns, rate))
    write(parts, folders, shifts)


def seal(run: Path, workers: int) -> None:
    from inrush.results.store import OpenRun

    roles = [
        {"name": role, "operations": [{"operation": op, "weight": 1}], "sessions": 2, "depth": 1,
         "schedule": {"kind": "closed", "think_ns": 0}, "until": {"kind": "work"}}
        for role, op in ROLES.items()
    ]  # fmt: skip
    plan = {
        "run_id": "r", "target": {"engine": "null"}, "labels": {},
        "operations": [{"name": op, "kind": "query"} for op in ROLES.values()],
        "segments": [{"kind": "control", "label": "create"},
                     {"kind": "drive", "label": "measure", "phase": "measure", "roles": roles}],
    }  # fmt: skip
    (run / "plan.json").write_text(json.dumps(plan))
    (run / "env.json").write_text("{}")
    OpenRun(run).seal({"status": "done", "labels": {}})


def figures(run: Path, workers: int) -> None:
    """As the report reads a run."""
    from inrush.results.store import SealedRun
    from inrush.stats.measures import figures_of_run
    from inrush.stats.record import RunRecord
    from inrush.stats.role_series import role_series

    sealed = SealedRun(run)
    record = RunRecord(run.name, sealed.plan, sealed.env, sealed.doc, sealed.tables)
    found = figures_of_run(record)
    ops = sum(row["ops"] for row in record.rows("repetitions") if row["role"] == "readers")
    if (
        not found["readers.latency_n"]
        == found["readers.ops"]
        == ops
        == role_series(record)["readers"].ops.sum()
    ):
        raise SystemExit("calls are missing in the figures")
    if f"client/{workers}.busy_cores" not in found:
        raise SystemExit("the last worker has no figure")


def costs() -> str:
    spent = resource.getrusage(resource.RUSAGE_SELF)
    # ru_maxrss would be at least that of the process that started this one.
    status = dict(line.split(":", 1) for line in Path("/proc/self/status").read_text().splitlines())
    return f"{int(status['VmHWM'].split()[0]) / 1024:.0f} MB, {spent.ru_utime + spent.ru_stime:.1f} CPU-s"


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--workers", type=int, nargs="+", default=[10, 100, 1000])
    parser.add_argument("--hours", type=float, default=24.0)
    parser.add_argument(
        "--folder", type=Path, help="for the tables; default: the system's for what is temporary"
    )
    parser.add_argument("--only", nargs=3, metavar=("STEP", "FOLDER", "WORKERS"), help=argparse.SUPPRESS)
    wanted = parser.parse_args()
    if wanted.only:
        step, run, workers = wanted.only
        {"join": join, "seal": seal, "figures": figures}[step](Path(run), int(workers))
        print(costs())
        return
    with tempfile.TemporaryDirectory(dir=wanted.folder) as name:
        made = Path(name) / "made"
        for n in range(min(max(wanted.workers), DISTINCT)):
            make(made / str(n), n, round(wanted.hours * 3600))
        for workers in wanted.workers:
            run = Path(name) / f"run-{workers}"
            linked(run / "parts", made, workers)
            for step in STEPS:
                command = [
                    sys.executable,
                    "-m",
                    "benches.fleet_scale",
                    "--only",
                    step,
                    os.fspath(run),
                    str(workers),
                ]
                said = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout.strip()
                print(f"{workers:,} workers, {wanted.hours:g} h: {step} {said}", flush=True)


if __name__ == "__main__":
    main()
