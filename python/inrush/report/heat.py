"""Time × latency: how many calls took how long, when. From the interval histograms, merged where the run is long. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import isfinite

import altair as alt
import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from inrush.analysis.answer import Answer
from inrush.analysis.points import Analysis, Point
from inrush.report.charts import Chart, Figure, Row, finished, in_time_units, inline, label, ticks
from inrush.report.timeline import FEW_PER_S, typical_runs
from inrush.results.histogram import Histogram, bucket_upper, merge
from inrush.stats.measures import counts_in, measured_windows, scheduled_operations, whole
from inrush.stats.paced import paced_roles
from inrush.stats.record import RunRecord

#: Columns and rows of a map at most; maps of a report at most: the page stays small whatever a run's length.
MOST_STEPS, MOST_MAPS = 90, 3
#: Rows of a decade of latency.
PER_DECADE = 8
#: A closed run shows its map from so many intervals on; fewer than these are no map at all.
LONG_STEPS, LEAST_STEPS = 30, 6


@dataclass(frozen=True)
class ColourStep:
    """One column: the calls that were recorded in it."""

    from_s: float
    to_s: float
    latency: Histogram


def heat_maps(analysis: Analysis, answer: Answer, points: Sequence[Point]) -> list[Figure]:
    """Of typical runs that were paced, or went on for long."""
    figures: list[Figure] = []
    for m in typical_runs(analysis, answer.figure, points):
        paced = {whole(role) for role in paced_roles(m.run)}
        for role in dict.fromkeys(whole(r) for r in scheduled_operations(m.run.plan)):
            steps = steps_of(m.run, role)
            if len(steps) < (LEAST_STEPS if role in paced else LONG_STEPS) or is_sparse(steps):
                continue
            figures.append(Figure(
                f"heat-{len(figures)}", f"When calls of {role} took how long: {label(m.point, analysis)}",
                f"Run {m.run.run_id}, the one nearest the median. Colour: calls of a step that succeeded with such a latency; red line: "
                "p99 of each step, from merged histograms, and nothing where it failed." + ("" if role in paced else " Closed schedule: latency contains no queueing."),
                finished(chart(steps)),
                ((f"{role}.latency_p99_s", m.point),),
            ))  # fmt: skip
    return figures[:MOST_MAPS]


def is_sparse(steps: Sequence[ColourStep]) -> bool:
    """Two calls a second and fewer are dots on an empty page."""
    return sum(s.latency.calls for s in steps) <= FEW_PER_S * sum(s.to_s - s.from_s for s in steps)


def steps_of(run: RunRecord, role: str) -> list[ColourStep]:
    """The measured intervals of a role in time order, neighbours merged until at most MOST_STEPS are left."""
    table = run.tables.get("hist")
    windows = measured_windows(run)
    if table is None or not windows:
        return []
    scheduled = scheduled_operations(run.plan)
    own = set(table.column("role").to_pylist())
    wanted = [
        kind == "latency"
        and segment in windows
        and counts_in(name, own)[-1] == role
        and op in scheduled.get(name, {op})
        for kind, segment, name, op in zip(
            *(table.column(c).to_pylist() for c in ("kind", "segment", "role", "op")), strict=True
        )
    ]
    mine = table.filter(pa.array(wanted, pa.bool_()))
    if mine.num_rows == 0:
        return []
    start_ns = min(start for start, _ in windows.values())
    t_ns = mine.column("t_ns").to_numpy().astype(np.int64)
    end_ns = t_ns + mine.column("dt_ns").to_numpy().astype(np.int64)
    times = np.unique(t_ns)
    width = -(-len(times) // MOST_STEPS)
    step = np.searchsorted(times, t_ns) // width
    held: dict[int, list[Histogram]] = {}
    for i in np.flatnonzero(mine.column("n").to_numpy() > 0).tolist():
        held.setdefault(int(step[i]), []).append(histogram_of(mine, i))
    failed: dict[int, int] = {}
    for row in run.rows("intervals"):
        mine_too = counts_in(row["role"], own)[-1] == role and row["op"] in scheduled.get(
            row["role"], {row["op"]}
        )
        if row["errors"] and row["segment"] in windows and mine_too:
            k = max(0, int(np.searchsorted(times, row["t_ns"], side="right")) - 1) // width
            failed[k] = failed.get(k, 0) + row["errors"]
    return [
        ColourStep(
            float(t_ns[step == k].min() - start_ns) / 1e9,
            float(end_ns[step == k].max() - start_ns) / 1e9,
            merge(parts).with_failed(failed.get(k, 0)),
        )
        for k, parts in sorted(held.items())
    ]


def histogram_of(table: pa.Table, row: int) -> Histogram:
    def of(name: str) -> int:
        return int(table.column(name)[row].as_py())

    bucket, count = (np.array(table.column(c)[row].as_py(), np.int64) for c in ("bucket", "count"))
    return Histogram(of("grouping_power"), bucket, count, of("min_ns"), of("max_ns"), of("sum_ns"))


def cells(steps: Sequence[ColourStep]) -> list[Row]:
    """A row for every cell with calls; latency from `low` to `high` ms on a log axis."""
    rows: list[Row] = []
    for s in steps:
        levels = levels_of(s.latency)
        for level in np.unique(levels).tolist():
            low, high = (float(f"{10 ** (k / PER_DECADE):.4g}") for k in (level, level + 1))
            n = int(s.latency.count[levels == level].sum())
            rows.append({"t": round(s.from_s, 3), "u": round(s.to_s, 3), "low": low, "high": high, "n": n})
    return rows


def levels_of(h: Histogram) -> NDArray[np.int64]:
    """Bucket by bucket, the row of the map: eighths of a decade of ms; a call below 1 µs counts as 1 µs."""
    upper_ms = np.array([bucket_upper(int(b), h.grouping_power) for b in h.bucket]) / 1e6
    levels: NDArray[np.int64] = np.floor(np.log10(np.maximum(upper_ms, 1e-3)) * PER_DECADE).astype(np.int64)
    return levels


def chart(steps: Sequence[ColourStep]) -> Chart:
    rows = cells(steps)
    tops = [
        {"t": round(t, 3), "p99": ns / 1e6 if isfinite(ns) else None}
        for s in steps
        for ns in [s.latency.quantile_ns(0.99)]
        for t in (s.from_s, s.to_s)
    ]
    scale = alt.Scale(
        type="log", nice=False, domain=[min(r["low"] for r in rows), max(r["high"] for r in rows)]
    )
    x = alt.X("t:Q", title="time in the run, s", scale=alt.Scale(nice=False, zero=False))
    colour = alt.Color(
        "n:Q",
        title="calls",
        scale=alt.Scale(type="log" if max(r["n"] for r in rows) > 10 else "linear"),
        legend=alt.Legend(format="~s", gradientLength=140),
    )
    tip = [alt.Tooltip("t:Q", title="from, s"), alt.Tooltip("u:Q", title="to, s"),
           *(alt.Tooltip(f"{k}:Q", format=".3g", title=f"{word}, ms") for k, word in (("low", "from"), ("high", "to"))),
           alt.Tooltip("n:Q", format=",", title="calls")]  # fmt: skip
    return alt.layer(
        alt.Chart(inline(rows))
        .mark_rect()
        .encode(x=x, x2="u:Q", y=alt.Y("low:Q", scale=scale, title="latency", axis=in_time_units(ticks([r["low"] for r in rows] + [r["high"] for r in rows], log=True), 1e-3)), y2="high:Q",
                color=colour, tooltip=tip),
        alt.Chart(inline(tops)).mark_line(style="medians", interpolate="step-after").encode(x="t:Q", y=alt.Y("p99:Q", scale=scale)),
    )  # fmt: skip
