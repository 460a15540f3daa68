"""The tables of several processes of one run as the tables of one: counts added up, histograms merged, one clock.

The processes start at one instant, so the intervals of a role are the same ones in all of them. What the first one
alone has done, created, asked and proven, stays as it left it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa

from inrush.clients.clocks import Shift
from inrush.clients.spans import Span, Spans, Where, merged_spans
from inrush.clients.watched import resources
from inrush.results.histogram import of_table
from inrush.results.parts import read, shifted, stream
from inrush.results.schema import SCHEMAS

Rows = list[dict[str, Any]]
#: Why a segment ended, the one that is said where processes differ the first.
ENDINGS = ("error", "stop", "limit", "queue", "time", "work")
WHERE = ("segment", "repetition", "role")


def write(parts: Path, folders: Sequence[Path], shifts: Sequence[Shift]) -> int:
    """parts: where the tables of all go, and the first process's are. By process: its folder, and from its run time to that
    of the first one. The furthest that an interval of a process began from the row that it stands in, ns."""
    tables = {
        name: [table_of(name, folder, by) for folder, by in zip(folders, shifts, strict=True)]
        for name in JOINED
    }
    spans = merged_spans(tables["intervals"], [by.rate for by in shifts])
    for name, join in JOINED.items():
        stream(parts / f"{name}.arrows", iter([join(tables[name], spans)]), name)
    return max((of.apart_ns for of in spans.values()), default=0)


def table_of(name: str, folder: Path, by: Shift) -> pa.Table:
    batches = list(read(name, folder))
    table = pa.concat_tables(batches) if batches else SCHEMAS[name].empty_table()
    return shifted(name, table.select(SCHEMAS[name].names), by.offset_ns, by.rate)


def as_table(name: str, rows: Iterator[Mapping[str, Any]] | Sequence[Mapping[str, Any]]) -> pa.Table:
    return pa.Table.from_pylist(list(rows), SCHEMAS[name])


def grouped(each: Sequence[pa.Table], key: Callable[[Mapping[str, Any]], Any]) -> dict[Any, Rows]:
    """Rows of all processes by what they have in common, the first process's first."""
    found: dict[Any, Rows] = defaultdict(list)
    for table in each:
        for row in table.to_pylist():
            found[key(row)].append(row)
    return found


def total(rows: Rows, *columns: str) -> dict[str, int]:
    return {column: sum(row[column] for row in rows) for column in columns}


def where(row: Mapping[str, Any]) -> Where:
    return (row["segment"], row["repetition"], row["role"])


# --- table by table


def segments(each: Sequence[pa.Table], spans: Mapping[Where, Spans]) -> pa.Table:
    """From the first begin to the last end, of those that several have."""

    def joined(rows: Rows) -> dict[str, Any]:
        if len(rows) == 1:
            return rows[0]
        return {
            **rows[0],
            "start_ns": min(row["start_ns"] for row in rows),
            "end_ns": max(row["end_ns"] for row in rows),
            "ended_by": min((row["ended_by"] for row in rows), key=ENDINGS.index),
            **total(rows, "client_cpu_ns"),
        }

    return as_table("segments", [joined(rows) for rows in grouped(each, lambda r: r["segment"]).values()])


def repetitions(each: Sequence[pa.Table], spans: Mapping[Where, Spans]) -> pa.Table:
    counts = (
        "rows", "bytes", "ops", "ok", "errors", "wrong", "late", "unsent", "sessions", "cpu_ns",
    )  # fmt: skip

    def joined(rows: Rows) -> dict[str, Any]:
        # One without a call has neither begun nor ended anything.
        worked = [row for row in rows if row["ops"]] or rows
        begin, end = min(row["start_ns"] for row in worked), max(row["end_ns"] for row in worked)
        return {**rows[0], "start_ns": begin, "end_ns": end, **total(rows, *counts)}

    return as_table("repetitions", [joined(rows) for rows in grouped(each, where).values()])


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


def failures(each: Sequence[pa.Table], spans: Mapping[Where, Spans]) -> pa.Table:
    """Of each kind the earliest is shown."""
    found = grouped(each, lambda row: (where(row), row["op"], row["outcome"]))
    return as_table("failures", [
        {**min(rows, key=lambda row: row["first_ns"]), **total(rows, "count")} for rows in found.values()
    ])  # fmt: skip


def sessions(each: Sequence[pa.Table], spans: Mapping[Where, Spans]) -> pa.Table:
    """Numbered over all processes: those of the first one, then those of the second one, …"""
    out: Rows = []
    before: dict[Where, int] = defaultdict(int)
    for table in each:
        rows = table.to_pylist()
        out += [{**row, "session": row["session"] + before[where(row)]} for row in rows]
        for row in rows:
            before[where(row)] += 1
    return as_table("sessions", sorted(out, key=lambda row: (*where(row), row["session"])))


def files(each: Iterable[pa.Table], *_: object) -> pa.Table:
    """Of a load of whole files: each was loaded by one process. Pipelines are numbered over all, as sessions are."""
    out: Rows = []
    before = 0
    for table in each:
        rows = table.to_pylist()
        out += [{**row, "pipeline": row["pipeline"] + before} for row in rows]
        before += max((row["pipeline"] + 1 for row in rows), default=0)
    return as_table("files", sorted(out, key=lambda row: (*where(row), row["sent_ns"], row["file"])))


def watched(each: Sequence[pa.Table], spans: Mapping[Where, Spans]) -> pa.Table:
    return resources(each)


#: Table -> how those of all processes become one. Of every other table the first process's is that of the run.
JOINED: Mapping[str, Callable[[Sequence[pa.Table], Mapping[Where, Spans]], pa.Table]] = {
    "segments": segments,
    "repetitions": repetitions,
    "intervals": intervals,
    "sends": sends,
    "hist": hist,
    "failures": failures,
    "sessions": sessions,
    "files": files,
    "resources": watched,
}
