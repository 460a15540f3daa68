"""What was watched of several client processes: each as a part of the role `client`, and their sum as the role. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from inrush.clients.spans import series
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


def resources(each: Callable[[], Iterable[pa.Table]]) -> Iterator[pa.Table]:
    """each: the table of every process on one clock, the first one's with the server and the machine; as often as asked."""
    yield rows_of(CLIENT, summed(looks_of(own(table)) for table in each()))
    for n, table in enumerate(each(), start=1):
        yield rows_of(f"{CLIENT}/{n}", of_process(looks_of(own(table))))
    first = next(iter(each()))
    yield first.filter(pc.not_equal(first["role"], CLIENT))


def own(table: pa.Table) -> pa.Table:
    return table.filter(pc.equal(table["role"], CLIENT))


def looks_of(table: pa.Table) -> Looks:
    """Of one process."""
    t_ns = table["t_ns"].to_numpy().astype(np.float64)
    value = table["value"].to_numpy()
    found = {}
    for key, rows in series(table, ("metric", "device")):
        order = rows[np.argsort(t_ns[rows], kind="stable")]
        found[key] = (t_ns[order], value[order])
    return found


def of_process(looks: Looks) -> Looks:
    """Without its threads: they are counted by their names, which are the same in all processes."""
    return {(metric, device): of for (metric, device), of in looks.items() if not device}


def summed(each: Iterable[Looks]) -> Looks:
    """At the times at which the first process was looked at; of the others what lies between their looks."""
    found: Looks = {}
    at_ends: dict[tuple[str, str], list[FloatArray]] = {}
    for looks in each:
        for key, (of_ns, value) in looks.items():
            t_ns, total = found.setdefault(key, (of_ns, np.zeros(len(of_ns))))
            if key[0] in AT_ENDS:
                at_ends.setdefault(key, []).append(value)
            else:
                total += at_times(t_ns, of_ns, value, begins_at_0=bool(key[1]))
    for key, values in at_ends.items():
        rounds = min(map(len, values))
        joined = [AT_ENDS[key[0]]([float(of[n]) for of in values]) for n in range(rounds)]
        found[key] = (found[key][0][:rounds], np.array(joined, np.float64))
    return found


def at_times(t_ns: FloatArray, of_ns: FloatArray, value: FloatArray, begins_at_0: bool) -> FloatArray:
    """A thread has used nothing before it is there; of a process only what it uses from its first look on is known."""
    found: FloatArray = np.interp(t_ns, of_ns, value, left=0.0 if begins_at_0 else None)
    return found


def rows_of(role: str, looks: Looks) -> pa.Table:
    if not looks:
        return SCHEMAS["resources"].empty_table()
    lengths = [len(times) for times, _ in looks.values()]
    t_ns = np.concatenate([times for times, _ in looks.values()])
    order = np.argsort(t_ns, kind="stable")
    names = (pa.array([key[n] for key in looks], pa.string()) for n in range(2))
    key = pa.array(np.repeat(np.arange(len(looks)), lengths)[order])
    metric, device = (name.take(key) for name in names)
    value = np.concatenate([values for _, values in looks.values()])
    return pa.table(
        {
            "role": pa.repeat(role, len(order)),
            "t_ns": pa.array(t_ns[order].astype(np.uint64)),
            "metric": metric,
            "device": device,
            "value": pa.array(value[order], pa.float64()),
        },
        schema=SCHEMAS["resources"],
    )
