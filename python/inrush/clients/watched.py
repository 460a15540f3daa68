"""What was watched of several client processes: each as a part of the role `client`, and their sum as the role. Pure."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from inrush.results.schema import SCHEMAS

FloatArray = NDArray[np.float64]
CLIENT = "client"
#: Said once at the end of each repetition, not looked at again and again: how those of all processes become one.
#: A process that stood still did so with the machine: they did at the same time.
AT_ENDS: Mapping[str, Callable[[Sequence[float]], float]] = {
    "repetition_cpu_s": sum,
    "stall_longest_s": max,
    "stall_total_s": max,
}

#: (metric, device) -> (t_ns, value) in time order.
Looks = dict[tuple[str, str], tuple[FloatArray, FloatArray]]


def resources(each: Sequence[pa.Table]) -> pa.Table:
    """each: the table of every process on one clock, the first one's with the server and the machine."""
    own = [table.filter(pc.equal(table["role"], CLIENT)) for table in each]
    others = each[0].filter(pc.not_equal(each[0]["role"], CLIENT))
    looks = [looks_of(table) for table in own]
    parts = [rows_of(f"{CLIENT}/{n}", of_process(mine)) for n, mine in enumerate(looks, start=1)]
    return pa.concat_tables([rows_of(CLIENT, summed(looks)), *parts, others])


def looks_of(table: pa.Table) -> Looks:
    """Of one process."""
    names = [table[column].to_pylist() for column in ("metric", "device")]
    t_ns = table["t_ns"].to_numpy().astype(np.float64)
    value = table["value"].to_numpy()
    places: dict[tuple[str, str], list[int]] = {}
    for at, key in enumerate(zip(*names, strict=True)):
        places.setdefault(key, []).append(at)
    found = {}
    for key, of in places.items():
        order = np.array(of)[np.argsort(t_ns[of], kind="stable")]
        found[key] = (t_ns[order], value[order])
    return found


def of_process(looks: Looks) -> Looks:
    """Without its threads: they are counted by their names, which are the same in all processes."""
    return {(metric, device): of for (metric, device), of in looks.items() if not device}


def summed(each: Sequence[Looks]) -> Looks:
    """At the times at which the first process was looked at; of the others what lies between their looks."""
    found: Looks = {}
    for key in dict.fromkeys(key for looks in each for key in looks):
        mine = [looks[key] for looks in each if key in looks]
        if (join := AT_ENDS.get(key[0])) is not None:
            rounds = min(len(value) for _, value in mine)
            values = [join([float(value[n]) for _, value in mine]) for n in range(rounds)]
            found[key] = (mine[0][0][:rounds], np.array(values, np.float64))
            continue
        t_ns = mine[0][0]
        total = np.zeros(len(t_ns))
        for of in mine:
            total += at_times(t_ns, *of, begins_at_0=bool(key[1]))
        found[key] = (t_ns, total)
    return found


def at_times(t_ns: FloatArray, of_ns: FloatArray, value: FloatArray, begins_at_0: bool) -> FloatArray:
    """A thread has used nothing before it is there; of a process only what it uses from its first look on is known."""
    found: FloatArray = np.interp(t_ns, of_ns, value, left=0.0 if begins_at_0 else None)
    return found


def rows_of(role: str, looks: Looks) -> pa.Table:
    rows = [
        (t, metric, device, value)
        for (metric, device), (times, values) in looks.items()
        for t, value in zip(times.tolist(), values.tolist(), strict=True)
    ]
    rows.sort(key=lambda row: row[0])
    return pa.table(
        {
            "role": pa.array([role] * len(rows), pa.string()),
            "t_ns": pa.array([int(row[0]) for row in rows], pa.uint64()),
            "metric": pa.array([row[1] for row in rows], pa.string()),
            "device": pa.array([row[2] for row in rows], pa.string()),
            "value": pa.array([row[3] for row in rows], pa.float64()),
        },
        schema=SCHEMAS["resources"],
    )
