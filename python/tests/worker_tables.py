"""Tables of one worker as a client process writes them: two roles of one operation, and a batch for each flush.

Their intervals are as long as those of a run of so many seconds.
"""

from __future__ import annotations

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
