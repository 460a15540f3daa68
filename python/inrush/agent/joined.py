"""The tables of several processes of one run as the tables of one: counts added up, histograms merged, one clock.

The processes start at one instant, so the intervals of a role are the same ones in all of them. What the first one
alone has done, created, asked and proven, stays as it left it. Tables that grow with time are looked at one process at a
time, so that memory is that of the sums (decision 263).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa

from inrush.agent.edges import shared_windows, with_edges
from inrush.agent.hists import NEVER, Behind, hist
from inrush.agent.spans import Axes, Where
from inrush.agent.sums import intervals, sends
from inrush.agent.tables import Tables
from inrush.agent.watched import resources
from inrush.results.parts import Shift, read, stream
from inrush.results.schema import SCHEMAS

Rows = list[dict[str, Any]]
#: Why a segment ended, the one that is said where processes differ the first.
ENDINGS = ("error", "stop", "limit", "queue", "time", "work")


def write(
    parts: Path,
    folders: Sequence[Path],
    shifts: Sequence[Shift],
    watchers: Sequence[int] = (0,),
    cut: bool = False,
) -> int:
    """parts: where the tables of all go, and the first process's are. By process: its folder, and from its run time to that
    of the first one. watchers: the first process on each host. cut: of a run that failed, whose tables may end anywhere. The furthest that an interval of a process began from the row that it stands in, ns."""
    tables = Tables(folders, shifts)
    axes = Axes([by.rate for by in shifts])
    for process, table in enumerate(tables.each("intervals")):
        axes.add(process, table)
    spans = axes.spans()

    def replace(name: str, joined: Iterator[pa.Table]) -> None:
        stream(parts / f"{name}.arrows", joined, name)

    try:
        replace("hist", hist(tables.readers("hist"), spans, axes.behind_ns, cut))
    except Behind:
        # Nothing was replaced. Each window is looked for to the end of each table.
        replace("hist", hist(tables.readers("hist"), spans, NEVER, cut))
    replace("sends", sends(tables.each("sends"), spans, cut))
    replace("intervals", intervals(tables.each("intervals"), spans))
    for name, join in JOINED.items():
        replace(name, iter([join(tables.each(name))]))
    windows = shared_windows(tables.each("segments"))
    looks = (with_edges(table, windows) for table in tables.each("resources"))
    replace("resources", resources(looks, edges_ns(parts), len(folders), watchers))
    return max((of.apart_ns for of in spans.values()), default=0)


def edges_ns(parts: Path) -> set[int]:
    """Begins and ends of segments and repetitions, of the joined tables."""
    return {
        time_ns
        for name in ("segments", "repetitions")
        for table in read(name, parts)
        for column in ("start_ns", "end_ns")
        for time_ns in table[column].to_pylist()
    }


def as_table(name: str, rows: Iterator[Mapping[str, Any]] | Sequence[Mapping[str, Any]]) -> pa.Table:
    return pa.Table.from_pylist(list(rows), SCHEMAS[name])


def grouped(each: Iterable[pa.Table], key: Callable[[Mapping[str, Any]], Any]) -> dict[Any, Rows]:
    """Rows of all processes by what they have in common, the first process's first."""
    found: dict[Any, Rows] = defaultdict(list)
    for table in each:
        for row in table.to_pylist():
            found[key(row)].append(row)
    return found


def total(rows: Rows, *columns: str) -> dict[str, int | None]:
    """None of what one of them does not know."""
    each = {column: [row[column] for row in rows] for column in columns}
    return {column: None if None in values else sum(values) for column, values in each.items()}


def where(row: Mapping[str, Any]) -> Where:
    return (row["segment"], row["repetition"], row["role"])


# --- table by table


def segments(each: Iterable[pa.Table]) -> pa.Table:
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


def repetitions(each: Iterable[pa.Table]) -> pa.Table:
    counts = (
        "rows", "bytes", "ops", "ok", "errors", "wrong", "late", "unsent", "sessions", "cpu_ns", "unseen", "queued_ns",
    )  # fmt: skip

    def joined(rows: Rows) -> dict[str, Any]:
        # One without a call has neither begun nor ended anything.
        worked = [row for row in rows if row["ops"]] or rows
        begin, end = min(row["start_ns"] for row in worked), max(row["end_ns"] for row in worked)
        return {**rows[0], "start_ns": begin, "end_ns": end, **total(rows, *counts)}

    return as_table("repetitions", [joined(rows) for rows in grouped(each, where).values()])


def failures(each: Iterable[pa.Table]) -> pa.Table:
    """Of each kind the earliest is shown."""
    found = grouped(each, lambda row: (where(row), row["op"], row["outcome"]))
    return as_table("failures", [
        {**min(rows, key=lambda row: row["first_ns"]), **total(rows, "count")} for rows in found.values()
    ])  # fmt: skip


def sessions(each: Iterable[pa.Table]) -> pa.Table:
    """Numbered over all processes: those of the first one, then those of the second one, …"""
    out: Rows = []
    before: dict[Where, int] = defaultdict(int)
    for table in each:
        rows = table.to_pylist()
        out += [{**row, "session": row["session"] + before[where(row)]} for row in rows]
        for row in rows:
            before[where(row)] += 1
    return as_table("sessions", sorted(out, key=lambda row: (*where(row), row["session"])))


def files(each: Iterable[pa.Table]) -> pa.Table:
    """Of a load of whole files: each was loaded by one process. Pipelines are numbered over all, as sessions are."""
    out: Rows = []
    before: dict[Any, int] = defaultdict(int)
    for table in each:
        own: dict[Any, int] = defaultdict(int)
        for row in table.to_pylist():
            own[where(row)] = max(own[where(row)], row["pipeline"] + 1)
            out.append({**row, "pipeline": row["pipeline"] + before[where(row)]})
        for of, pipelines in own.items():
            before[of] += pipelines
    return as_table("files", sorted(out, key=lambda row: (*where(row), row["sent_ns"], row["file"])))


#: Table with a few rows of each process -> how those of all become one. Of every table that is not joined the first
#: process's is that of the run.
JOINED: Mapping[str, Callable[[Iterable[pa.Table]], pa.Table]] = {
    "segments": segments,
    "repetitions": repetitions,
    "failures": failures,
    "sessions": sessions,
    "files": files,
}
