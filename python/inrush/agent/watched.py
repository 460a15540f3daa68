"""What was watched of several client processes: each as a part of the role `client`, and their sum as the role. Pure.

On several hosts the first process on each watched the machine: those are `host/1`, `host/3`, …, by its number, and nothing is
`host`, which would be one of them (decision 289).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from inrush.agent.spans import series
from inrush.results.schema import SCHEMAS

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]
#: The processes of the first role each sample themselves; the first one on each host samples that.
CLIENT, HOST = "client", "host"
#: Said once at the end of each repetition, not looked at again and again: how those of all processes become one.
#: A process that stood still did so with the machine: they did at the same time.
AT_ENDS: Mapping[str, Callable[[Sequence[float]], float]] = {
    "repetition_cpu_s": sum,
    "stalls": max,
    "stall_longest_s": max,
    "stall_total_s": max,
}

#: What is as much as there is now; all else only rises.
LEVELS = ("rss_bytes",)
#: The same of a machine; two of them are read at one look and added up, and one is wanted where it is least.
MACHINE_LEVELS = ("mem_available_bytes", "page_cache_bytes", "dirty_bytes", "writeback_bytes")
ADDED, LEAST = ("dirty_bytes", "writeback_bytes"), ("mem_available_bytes",)
#: Of one metric of all processes together, as parts: up to five have all looks of a long run, 1,000 have 200 each.
PART_LOOKS = 200_000

#: (metric, device) -> (t_ns, value) in time order.
Looks = dict[tuple[str, str], tuple[FloatArray, FloatArray]]


def resources(
    each: Iterable[pa.Table], edges_ns: Iterable[int], processes: int, watchers: Sequence[int] = (0,)
) -> Iterator[pa.Table]:
    """each: the table of every process on one clock, the first one's with the server. edges_ns: begins and ends of segments
    and repetitions. watchers: the first process on each host, whose table has the machine."""
    edges, most = np.unique(np.array([*edges_ns], np.float64)), max(2, PART_LOOKS // processes)
    parts, others = list[Looks](), list[pa.Table]()
    several = len(watchers) > 1

    def looked_at() -> Iterator[Looks]:
        for process, table in enumerate(each):
            mine = looks_of(own(table))
            parts.append(of_process(mine, most, edges))
            if process == 0:
                others.append(
                    table.filter(
                        pc.invert(pc.is_in(table["role"], value_set=pa.array([CLIENT, *[HOST] * several])))
                    )
                )
            if several and process in watchers:
                machine = looks_of(table.filter(pc.equal(table["role"], HOST)))
                others.append(
                    rows_of(f"{HOST}/{process + 1}", of_machine(machine, PART_LOOKS // len(watchers), edges))
                )
            yield mine

    yield rows_of(CLIENT, summed(looked_at()))
    for n, looks in enumerate(parts, start=1):
        yield rows_of(f"{CLIENT}/{n}", looks)
    yield from others


def fewer(
    t_ns: FloatArray, value: FloatArray, most: int, edges_ns: FloatArray, level: bool
) -> tuple[FloatArray, FloatArray]:
    """Looks at one process where those of all would be more than a report can read: evenly thinned to about `most`.

    Those on both sides of each edge stay, so that what was used between two edges is that of all looks. Of a level the
    largest of each stretch stays, else the first.
    """
    places = kept(t_ns, most, edges_ns, [value] if level else [])
    return t_ns[places], value[places]


def kept(t_ns: FloatArray, most: int, edges_ns: FloatArray, levels: Sequence[FloatArray]) -> IntArray:
    """Places of the looks that stay; levels: of each the largest of a stretch is among them."""
    if len(t_ns) <= most:
        return np.arange(len(t_ns))
    firsts = np.arange(most) * len(t_ns) // most
    found = [firsts, np.array([len(t_ns) - 1])]
    for side in ("left", "right"):
        at = np.searchsorted(t_ns, edges_ns, side=side)
        found += [at - 1, at]
    ends = np.append(firsts[1:], len(t_ns))
    for value in levels:
        found.append(np.array([a + int(np.argmax(value[a:b])) for a, b in zip(firsts, ends, strict=True)]))
    return np.unique(np.clip(np.concatenate(found), 0, len(t_ns) - 1).astype(np.int64))


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


def of_process(looks: Looks, most: int, edges_ns: FloatArray) -> Looks:
    """Without its threads: they are counted by their names, which are the same in all processes."""
    return {
        (metric, device): of if metric in AT_ENDS else fewer(*of, most, edges_ns, metric in LEVELS)
        for (metric, device), of in looks.items()
        if not device
    }


def of_machine(looks: Looks, most: int, edges_ns: FloatArray) -> Looks:
    """What is as much as there is now keeps the same looks in all its metrics: some are added up."""
    most = max(2, most)
    of = {metric: looks[metric, ""] for metric in MACHINE_LEVELS if (metric, "") in looks}
    together = len({len(t_ns) for t_ns, _ in of.values()}) == 1
    extremes = [-value if metric in LEAST else value for metric, (_, value) in of.items()]
    if together and all(metric in of for metric in ADDED):
        extremes.append(np.sum([of[metric][1] for metric in ADDED], axis=0))
    found = {}
    for (metric, device), (t_ns, value) in looks.items():
        if metric in of and together:
            places = kept(t_ns, most, edges_ns, extremes)
            found[metric, device] = t_ns[places], value[places]
        else:
            found[metric, device] = fewer(t_ns, value, most, edges_ns, metric in of)
    return found


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
        # The first process has worked alone before: what all have done is at the end.
        mine = [of[len(of) - rounds :] for of in values]
        joined = [AT_ENDS[key[0]]([float(of[n]) for of in mine]) for n in range(rounds)]
        found[key] = (found[key][0][len(found[key][0]) - rounds :], np.array(joined, np.float64))
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
