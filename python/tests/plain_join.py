"""The join of the tables of several processes row by row, all in memory at once: what the join by folding is held against.

Slow and plain. Nothing of `inrush.agent` is used here but how a table is moved to another clock.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from inrush.results.histogram import of_table
from inrush.results.parts import Shift, read, shifted
from inrush.results.schema import SCHEMAS

Rows = list[dict[str, Any]]
FloatArray = NDArray[np.float64]
WHERE = ("segment", "repetition", "role")
Where = tuple[int, int, str]
Span = tuple[int, int]
ROUNDING_NS = 4


def plain(folders: Sequence[Path], shifts: Sequence[Shift]) -> tuple[Mapping[str, pa.Table], int]:
    """Table -> as it is joined; the furthest that an interval of a process began from its row, ns."""
    each = {
        name: [table_of(name, folder, by) for folder, by in zip(folders, shifts, strict=True)]
        for name in ("intervals", "sends", "hist", "resources")
    }
    spans = merged_spans(each["intervals"], [by.rate for by in shifts])
    joined = {
        "intervals": intervals(each["intervals"], spans),
        "sends": sends(each["sends"], spans),
        "hist": hist(each["hist"], spans),
        "resources": resources(each["resources"]),
    }
    return joined, max((of.apart_ns for of in spans.values()), default=0)


def table_of(name: str, folder: Path, by: Shift) -> pa.Table:
    batches = list(read(name, folder))
    table = pa.concat_tables(batches) if batches else SCHEMAS[name].empty_table()
    return shifted(name, table.select(SCHEMAS[name].names), by)


def as_table(name: str, rows: Iterator[Mapping[str, Any]] | Sequence[Mapping[str, Any]]) -> pa.Table:
    return pa.Table.from_pylist(list(rows), SCHEMAS[name])


def total(rows: Rows, *columns: str) -> dict[str, int]:
    return {column: sum(row[column] for row in rows) for column in columns}


def where(row: Mapping[str, Any]) -> Where:
    return (row["segment"], row["repetition"], row["role"])


@dataclass(frozen=True)
class Own:
    """A process's clock since it began: its first interval on the common axis, and what that clock loses there each ns."""

    begin_ns: int
    rate: float = 0.0

    def since_ns(self, t_ns: int) -> int:
        return round((t_ns - self.begin_ns) / (1.0 + self.rate))


@dataclass(frozen=True)
class Spans:
    """Of one role in one repetition, one after the other, since its start."""

    since: Sequence[Span]
    #: By process, those that have an interval.
    own: Mapping[int, Own]
    #: The furthest that an interval of a process began from its row.
    apart_ns: int = 0

    @property
    def begin_ns(self) -> int:
        """By the first process that has one."""
        return self.own[min(self.own)].begin_ns

    @property
    def spans(self) -> list[Span]:
        return [(self.begin_ns + begin, self.begin_ns + end) for begin, end in self.since]

    def at(self, process: int, t_ns: int) -> Span:
        """The one that holds an interval of a process that begins at `t_ns`."""
        since_ns = self.own[process].since_ns(t_ns) + ROUNDING_NS
        begin, end = self.since[bisect_right(self.since, since_ns, key=lambda span: span[0]) - 1]
        return self.begin_ns + begin, self.begin_ns + end


def merged_spans(each: Sequence[pa.Table], rates: Sequence[float] = ()) -> Mapping[Where, Spans]:
    """each: the table `intervals` of every process, on one clock. rates: what each one's own clock loses there each ns."""
    found: dict[Where, dict[int, list[Span]]] = {}
    for process, table in enumerate(each):
        columns = (
            table.column(name).to_pylist() for name in ("segment", "repetition", "role", "t_ns", "dt_ns")
        )
        for segment, repetition, role, t_ns, dt_ns in zip(*columns, strict=True):
            of = found.setdefault((segment, repetition, role), {})
            of.setdefault(process, []).append((t_ns, dt_ns))
    return {where: one_axis(of, rates) for where, of in found.items()}


def one_axis(of: Mapping[int, Sequence[Span]], rates: Sequence[float]) -> Spans:
    """of: process -> begin and length of its intervals; a length is by its own clock."""
    own = {
        process: Own(min(t_ns for t_ns, _ in mine), rates[process] if rates else 0.0)
        for process, mine in of.items()
    }
    axis_ns = own[min(own)].begin_ns
    since: set[Span] = set()
    apart_ns = 0
    for process, mine in of.items():
        for t_ns, dt_ns in mine:
            begin = own[process].since_ns(t_ns)
            since.add((begin, begin + dt_ns))
            apart_ns = max(apart_ns, abs(t_ns - (axis_ns + begin)))
    return Spans(united(sorted(since)), own, apart_ns)


def united(spans: Sequence[Span]) -> list[Span]:
    """spans: by their begin."""
    out: list[Span] = []
    for begin, end in spans:
        if out and (begin < out[-1][1] - ROUNDING_NS or begin <= out[-1][0] + ROUNDING_NS):
            out[-1] = (out[-1][0], max(out[-1][1], end))
        else:
            out.append((begin, end))
    return out


def intervals(each: Sequence[pa.Table], spans: Mapping[Where, Spans]) -> pa.Table:
    """What a process has reached so far goes on counting where another one works longer."""
    found: dict[tuple[Where, str], dict[Span, list[Rows]]] = {}
    for process, table in enumerate(each):
        for row in table.to_pylist():
            cells = found.setdefault((where(row), row["op"]), {})
            of_each = cells.setdefault(spans[where(row)].at(process, row["t_ns"]), [[] for _ in each])
            of_each[process].append(row)
    out: Rows = []
    for cells in found.values():
        last: list[dict[str, Any] | None] = [None] * len(each)
        for (begin, end), by_process in sorted(cells.items()):
            rows = [row for mine in by_process for row in mine]
            last = [mine[-1] if mine else before for mine, before in zip(by_process, last, strict=True)]
            reached = [row for row in last if row is not None]
            out.append({
                **rows[0], "t_ns": begin, "dt_ns": end - begin,
                **total(rows, "rows", "bytes", "ops", "errors", "late"),
                "in_flight": sum(mine[-1]["in_flight"] for mine in by_process if mine),
                **total(reached, "backlog", "cum_rows"),
            })  # fmt: skip
    return as_table("intervals", out)


def sends(each: Sequence[pa.Table], spans: Mapping[Where, Spans]) -> pa.Table:
    found: dict[tuple[Where, Span], Rows] = defaultdict(list)
    for process, table in enumerate(each):
        for row in table.to_pylist():
            found[where(row), spans[where(row)].at(process, row["t_ns"])].append(row)
    return as_table("sends", [
        {**rows[0], "t_ns": begin, "dt_ns": end - begin, **total(rows, "ops", "sends", "bytes")}
        for (_, (begin, end)), rows in found.items()
    ])  # fmt: skip


def hist(each: Sequence[pa.Table], spans: Mapping[Where, Spans]) -> pa.Table:
    table = pa.concat_tables(each)
    begins = [
        spans[where(row)].at(process, row["t_ns"])[0]
        for process, mine in enumerate(each)
        for row in mine.select([*WHERE, "t_ns"]).to_pylist()
    ]
    at = table.set_column(table.schema.get_field_index("t_ns"), "t_ns", pa.array(begins, pa.uint64()))
    ends = {(of, begin): end for of, mine in spans.items() for begin, end in mine.spans}
    out = []
    for key, held in of_table(at, (*WHERE, "op", "kind", "t_ns")).items():
        segment, repetition, role, op, kind, t_ns = key
        out.append({
            "segment": segment, "repetition": repetition, "role": role, "op": op, "kind": kind, "t_ns": t_ns,
            "dt_ns": ends[(segment, repetition, role), t_ns] - t_ns,
            "grouping_power": held.grouping_power, "bucket": held.bucket.tolist(), "count": held.count.tolist(),
            "n": held.n, "min_ns": held.min_ns, "max_ns": held.max_ns, "sum_ns": held.sum_ns,
        })  # fmt: skip
    return as_table("hist", out)


CLIENT = "client"
#: Said once at the end of each repetition, not looked at again and again: how those of all processes become one.
#: A process that stood still did so with the machine: they did at the same time.
AT_ENDS: Mapping[str, Callable[[Sequence[float]], float]] = {
    "repetition_cpu_s": sum,
    "stalls": max,
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
            values = [join([float(value[n - rounds]) for _, value in mine]) for n in range(rounds)]
            found[key] = (mine[0][0][len(mine[0][0]) - rounds :], np.array(values, np.float64))
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
