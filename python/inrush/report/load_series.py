"""Loads of files as series: rows, bytes and files a second, never one of them alone, with the table that grows. Pure."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from inrush.analysis.points import Analysis, Point
from inrush.report.charts import Figure, Row, finished, labels
from inrush.report.load_parts import TypicalLoad, typical_loads
from inrush.report.panel_lines import MOST_LINES
from inrush.report.time_lines import panel_charts, stacked
from inrush.report.timeline import Panel
from inrush.stats.load_series import Intervals, costs_by_interval, intervals, table_bytes
from inrush.stats.record import FloatArray

MB = 1e6
#: Fewer files have no course.
LEAST_FILES = 8
OVER = {"time": "time in the load, s", "files": "files so far"}


def load_series(analysis: Analysis) -> list[Figure]:
    """For each role, over time and over files: points of one study over one another; of many points a figure for each engine."""
    every = [loaded for loaded in typical_loads(analysis) if len(loaded.of.rows) >= LEAST_FILES]
    found = []
    for role in dict.fromkeys(loaded.of.role for loaded in every):
        mine = [loaded for loaded in every if loaded.of.role == role]
        engines = dict.fromkeys(loaded.measured.run.engine for loaded in mine)
        sets = (
            [mine]
            if len(mine) <= MOST_LINES
            else [[m for m in mine if m.measured.run.engine == e] for e in engines]
        )
        for n, of in enumerate(sets):
            drawn = spread_out(of)
            found += [figure(analysis, drawn, over, f"{role}-{n}", len(of)) for over in OVER]
    return found


def spread_out(of: Sequence[TypicalLoad]) -> Sequence[TypicalLoad]:
    """At most MOST_LINES, the first and the last among them."""
    if len(of) <= MOST_LINES:
        return of
    return [of[round(k)] for k in np.linspace(0, len(of) - 1, MOST_LINES)]


def figure(analysis: Analysis, of: Sequence[TypicalLoad], over: str, name: str, whole: int) -> Figure:
    called = labels([loaded.point for loaded in of], analysis)
    panels = series_panels(of, called, over)
    left_out = f" {len(of)} of {whole} points." if len(of) < whole else ""
    role = of[0].of.role
    return Figure(
        f"load-{over}-{name}".replace("/", "-"),
        f"Rows, bytes and files a second of {role}, over {'time' if over == 'time' else 'its files'}",
        "Of each point the run whose load took the median time, in intervals of one length; a file's rows and bytes are taken to "
        "come evenly from its begin to its end. Read the rates together: files a second alone fall where files are larger. CPU is that "
        f"of the role in which rows are stored; read and written is what all devices of the machine did.{left_out}",
        finished(stacked(panel_charts(panels, OVER[over]))),
        tuple((f"{role}.rows_per_s", loaded.point) for loaded in of),
    )


def series_panels(of: Sequence[TypicalLoad], called: dict[Point, str], over: str) -> list[Panel]:
    """Panel -> a line for each point; panels that no point has are left out."""
    rows: dict[str, list[Row]] = {}
    for loaded in of:
        load = loaded.of
        by = intervals(load)
        x = by.edges_s if over == "time" else so_far(by.files)
        rates = {"rows/s": by.rows, "MB/s": by.bytes / MB, "files/s": by.files}
        series = called[loaded.point]
        for title, amount in rates.items():
            rows.setdefault(title, []).extend(stairs(x, amount / by.length_s, series))
        rows.setdefault("rows in the table", []).extend(line(x, so_far(by.rows), series))
        t, size = table_bytes(loaded.measured.run, load)
        if len(t) > 1:
            at = t if over == "time" else np.interp(t, by.edges_s, so_far(by.files))
            rows.setdefault("table, MB", []).extend(line(at, size / MB, series))
        for title, cost in costs_by_interval(loaded.measured.run, load, wide(by)).items():
            rows.setdefault(title, []).extend(stairs(x_of(wide(by), over), cost, series))
    return [Panel(title, held) for title, held in rows.items()]


#: Intervals of what is watched: few looks lie in a short one.
WATCHED = 30


def wide(by: Intervals) -> Intervals:
    """Neighbours taken together."""
    starts = np.arange(0, len(by.rows), max(1, -(-len(by.rows) // WATCHED)))
    edges = np.append(by.edges_s[starts], by.edges_s[-1])
    return Intervals(edges, *(np.add.reduceat(v, starts) for v in (by.rows, by.bytes, by.files)))


def x_of(by: Intervals, over: str) -> FloatArray:
    return by.edges_s if over == "time" else so_far(by.files)


def so_far(amount: FloatArray) -> FloatArray:
    return np.concatenate([[0.0], np.cumsum(amount)])


def stairs(x: FloatArray, y: FloatArray, series: str) -> list[Row]:
    """A value holds until the next; the last one until the end."""
    return [
        {"t": round(float(a), 4), "y": float(b), "series": series}
        for a, b in zip(x, [*y, y[-1]], strict=True)
        if np.isfinite(b)
    ]


def line(x: FloatArray, y: FloatArray, series: str) -> list[Row]:
    return [{"t": round(float(a), 4), "y": float(b), "series": series} for a, b in zip(x, y, strict=True)]
