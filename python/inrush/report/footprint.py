"""Figures of what a pipeline's parts spend, and of the load that they promise against the load that came. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median
from typing import TYPE_CHECKING

import altair as alt
import numpy as np

from inrush.analysis.answer import Answer
from inrush.analysis.points import Analysis, say
from inrush.model.pipeline import SERIAL
from inrush.predict.resources import SERIAL_FOUND, ResourceForecast, curve, resource_forecasts
from inrush.report.charts import (
    HEIGHT,
    WIDTH,
    Chart,
    Figure,
    Row,
    along,
    finished,
    inline,
    number_format,
    x_scale,
)
from inrush.report.pipeline import LEVEL, Loaded, loads, stacked, words
from inrush.stats import stats
from inrush.stats.files import is_pipeline
from inrush.stats.footprint import embedded_shard_threads, footprint
from inrush.text import number as plain_number
from inrush.text import percent

if TYPE_CHECKING:
    from inrush.model.pipeline import Pipeline

MB = 1e6
PANELS = (
    "active threads",
    "in the kernel",
    "disk busy, %",
    "disk read, MB/s",
    "disk written, MB/s",
    "received, MB/s",
    "memory, MB",
)


def footprint_figures(analysis: Analysis, answer: Answer) -> list[Figure]:
    """A figure for each group: lines along the swept factor, a colour a part."""
    found = []
    for n, (group, of) in enumerate(loads(analysis, answer)):
        if len(of) < 2:
            continue
        rows = spent(of)
        drawn = [
            lines_panel(mine, figure, list(of), words(answer), figure == PANELS[-1])
            for figure in PANELS
            if (mine := [r for r in rows if r["figure"] == figure])
        ]
        if drawn:
            forecast = f": {say(group)}" if group else ""
            found.append(Figure(
                f"footprint-{n}", f"What each part spends, by {words(answer)}{forecast}",
                "Means of the measured time over runs; for memory the maximum. Active threads are busy cores; in the kernel, those of them that the kernel was busy on. Disk busy: of the disk below a part's files, one line for parts on the same disk. Received: bytes that the "
                "load server received from its clients. Shard threads: sessions of an embedded engine, a part of the load server.",
                stacked(drawn),
            ))  # fmt: skip
    return found


def spent(of: Loaded) -> list[Row]:
    rows: list[Row] = []
    for value, runs in of.items():
        held: dict[tuple[str, str], list[float]] = {}
        for m, _ in runs:
            for figure, by_role in footprint(m.run).items():
                for role, spent_there in by_role.items():
                    held.setdefault((figure, role.replace("_", " ")), []).append(spent_there)
            if (threads := embedded_shard_threads(m.run)) is not None:
                held.setdefault(("active threads", "shard threads"), []).append(threads)
        rows += [
            {"figure": figure, "x": value, "series": role, "y": float(np.mean(v)), "low": min(v), "high": max(v)}
            for (figure, role), v in held.items()
        ]  # fmt: skip
    return rows


def lines_panel(
    rows: Sequence[Row], title: str, x_values: Sequence[float], x_title: str, last: bool
) -> Chart:
    axis = alt.Axis(
        values=list(x_values), format=number_format(x_values), labelOverlap=True, labels=last, ticks=last,
        title=x_title if last else None,
    )  # fmt: skip
    base = alt.Chart(inline(rows)).encode(
        x=alt.X("x:Q", scale=x_scale(x_values), axis=axis),
        color=alt.Color(
            "series:N", title=None, legend=alt.Legend(orient="top", symbolOpacity=1, labelLimit=260, offset=4)
        ),
    )
    tip = ["series:N", *(alt.Tooltip(f"{k}:Q", format=".4g") for k in ("y", "low", "high"))]
    chart: Chart = alt.layer(
        base.mark_rule(opacity=0.5).encode(y="low:Q", y2="high:Q"),
        base.mark_line().encode(y=alt.Y("y:Q", title=title, axis=alt.Axis(tickCount=4, format=".3~g"))),
        base.mark_point(filled=True, size=30).encode(y="y:Q", tooltip=tip),
    ).properties(width=WIDTH, height=HEIGHT // 3)
    return chart


# Predicted against measured.

#: Times the largest load measured, to which a prediction is drawn.
MOST_AHEAD = 4


def capacity_figures(analysis: Analysis, answer: Answer) -> list[Figure]:
    """The curve predicted from the small loads, the bound where the first resource is full, and what was measured."""
    if not any(is_pipeline(m.run) for m in analysis.runs):
        return []
    found = []
    for n, forecast in enumerate(resource_forecasts(analysis)):
        unit, title = (
            (MB, "MB/s")
            if forecast.training.figure.endswith("bytes_per_s")
            else (1.0, forecast.training.figure.partition(".")[2])
        )
        by_n = measured(forecast)
        largest = drawn_to(max(by_n), finite(forecast.model))
        names = {"model": "predicted", "bound": "hard bound", "proportion": "proportion"}
        high = 1.15 * max(
            *(v / unit for of in by_n.values() for v in of),
            *(row["bound"] / unit for row in curve(forecast.model, largest)),
        )
        line_rows = [
            {"x": row["n"], "y": min(row[k] / unit, high), "series": name}
            for row in curve(forecast.model, largest)
            for k, name in names.items()
            if row[k] / unit <= high
        ]
        dots = [dot(n_, of, unit, n_ in forecast.small) for n_, of in sorted(by_n.items())]
        y_scale = alt.Scale(domain=[0, high], nice=False)
        chart = alt.layer(
            alt.Chart(inline(line_rows)).mark_line().encode(
                x=alt.X("x:Q", title=along(answer), scale=alt.Scale(zero=True)),
                y=alt.Y("y:Q", title=title, scale=y_scale),
                color=alt.Color("series:N", title=None, legend=alt.Legend(orient="top", symbolOpacity=1)),
                strokeDash=alt.StrokeDash("series:N", title=None, legend=None),
            ),
            alt.Chart(inline(dots)).mark_rule(clip=True).encode(x="x:Q", y="low:Q", y2="high:Q"),
            alt.Chart(inline(dots)).mark_point(size=60, strokeWidth=2, clip=True).encode(
                x="x:Q", y=alt.Y("y:Q", scale=y_scale), fill=alt.Fill("of:N", title=None, legend=alt.Legend(orient="bottom")),
                tooltip=["of:N", alt.Tooltip("x:Q", title=along(answer)), *(alt.Tooltip(f"{k}:Q", format=".4g") for k in ("y", "low", "high"))],
            ),
        )  # fmt: skip
        group = f": {say(forecast.group)}" if forecast.group else ""
        found.append(Figure(
            f"capacity-{n}", f"Predicted against measured{group}",
            f"Lines: from the loads of {', '.join(plain_number(x) for x in forecast.small)} alone, fitted after all runs were made; claims that "
            "were frozen before stand on the scoreboard. Points: geometric means with 95 % intervals.",
            finished(chart),
        ))  # fmt: skip
    return found


def drawn_to(largest: float, full_at: Sequence[float]) -> float:
    """Beyond the first knee, but never so far that what was measured is a dot in a corner."""
    knee = 1.5 * min(full_at, default=largest)
    return max(largest, min(knee, MOST_AHEAD * largest))


def finite(model: Pipeline) -> list[float]:
    return [n for n in model.saturations().values() if np.isfinite(n) and n < 1e3]


def measured(forecast: ResourceForecast) -> dict[float, list[float]]:
    found: dict[float, list[float]] = {}
    for run in forecast.training.runs:
        found.setdefault(run.x, []).append(run.value)
    return found


def dot(n: float, values: Sequence[float], unit: float, small: bool) -> Row:
    interval = stats.log_t(values, LEVEL) if len(values) > 1 and min(values) > 0 else None
    low, high = (interval.low, interval.high) if interval else (min(values), max(values))
    mean = interval.value if interval else median(values)
    return {
        "x": n,
        "y": mean / unit,
        "low": low / unit,
        "high": high / unit,
        "of": "small" if small else "held against it",
    }


# The verdict for each resource, as a table.

HEADER = (
    "group",
    "resource",
    "capacity",
    "one load uses",
    "full at",
    "largest load",
    "busy there",
    "verdict",
)


def resource_rows(analysis: Analysis) -> list[list[str]]:
    """Cells as text: where each resource is full, and what the larger loads say of that."""
    rows = []
    for forecast in resource_forecasts(analysis):
        group = say(forecast.group)
        for r in forecast.resources:
            full = number_of(r.full_at)
            rows.append([
                group, r.name, f"{r.capacity:.3g}", percent(r.used / r.capacity, 1), full, plain_number(r.largest), percent(r.share), r.verdict,
            ])  # fmt: skip
        if forecast.model.serial_s > 0:
            rows.append([group, SERIAL, "1", "", number_of(forecast.serial_full_at), "", "", SERIAL_FOUND])
    return rows


def number_of(loads: float) -> str:
    """Three digits, and no powers of ten in place of a count."""
    return plain_number(loads, 3) if np.isfinite(loads) else "never"
