"""The report's figures as Vega-Lite specs, from aggregates alone. Pure.

No spec holds operations: its size grows with points, runs and intervals. The same spec is drawn in
the page (colours from the page's theme) and written as PNG, SVG or PDF (`render`).
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from statistics import median
from typing import Any

import altair as alt
import numpy as np

from inrush.analysis.answer import (
    Answer,
    groups,
    interval_of,
    name,
    ordered,
    plain,
    ratio_of,
    work_grows,
)
from inrush.analysis.points import Analysis, Point, is_number, lower_is_better, say
from inrush.analysis.settled import Values
from inrush.analysis.study_guards import roles
from inrush.report.charts import (
    HEIGHT,
    WIDTH,
    Figure,
    Row,
    along,
    finished,
    inline,
    is_log,
    judged,
    label,
    lines,
    scale_of,
    ticks,
    unit_of,
    x_scale,
)
from inrush.report.footprint import capacity_figures, footprint_figures
from inrush.report.heat import heat_maps
from inrush.report.pipeline import pipeline_figures
from inrush.report.published import beside_published
from inrush.report.sampled import sample_panels
from inrush.report.size_curves import size_curves
from inrush.report.timeline import Panel, panels, typical_runs
from inrush.results.histogram import Histogram

MOST_BOXES, MOST_LINES = 12, 8


def figures(analysis: Analysis, answer: Answer | None) -> list[Figure]:
    """All figures that the study's tables can carry, the answer's first."""
    if answer is None:
        return []
    found = [
        *capacity_figures(analysis, answer),
        *pipeline_figures(analysis, answer),
        *footprint_figures(analysis, answer),
        *scaling(analysis, answer),
        *curves(analysis, answer),
        *boxes(analysis, answer),
        *percentiles(analysis, answer),
        *sample_lines(analysis, answer),
        *time_lines(analysis, answer),
        *heat_maps(analysis, answer, shown_points(analysis, answer)),
        *size_curves(analysis, answer, shown_points(analysis, answer)),
        *beside_published(analysis, answer),
    ]
    return [judged(f, analysis) for f in found]


def series_of(analysis: Analysis, figure: str, engine: str, of: Values) -> str:
    """The name of a line in its legend: with a mark where one of its points is invalid."""
    return f"{engine} (INVALID)" if analysis.broken_points(figure, of) else engine


def without_failed(of: Values) -> Values:
    """Points whose figure has a value in every run: a percentile that failed has no place on an axis."""
    return {p: v for p, v in of.items() if all(np.isfinite(list(v.values())))}


def failed_points(of: Values) -> list[Point]:
    return [p for p in of if p not in without_failed(of)]


def failed_said(analysis: Analysis, of: Values) -> str:
    """What a caption says of points that are not drawn."""
    named = "; ".join(label(p, analysis) for p in failed_points(of))
    return f" Not drawn, since too many of their calls failed: {named}." if named else ""


# Box and whisker: what each point was measured to be.


def boxes(analysis: Analysis, answer: Answer) -> list[Figure]:
    """Per group and engine: quartiles, whiskers to the last run within 1.5 IQR, a red line through the medians."""
    found = []
    # One kind of axis for all of them: a linear panel beside a log one cannot be compared.
    y_scale = scale_of([v for of in analysis.values(answer.figure).values() for v in of.values()])
    for n, (group, of) in enumerate(
        list(groups(analysis, answer.figure, along(answer), ()).items())[:MOST_BOXES]
    ):
        failed, of = failed_said(analysis, of), without_failed(of)
        if not of:
            continue
        factor, unit = unit_of(of, answer.figure)
        order = [plain(v) for v in ordered({dict(p)[along(answer)] for p in of})]
        rows: list[Row] = []
        dots: list[Row] = []
        for point, values in of.items():
            x, y = plain(dict(point)[along(answer)]), np.array(list(values.values())) / factor
            rows.append({"x": x, "n": len(y), **five_numbers(y)})
            dots += [{"x": x, "y": float(v), "block": b} for b, v in zip(values, y, strict=True)]
        base = alt.Chart(inline(rows)).encode(
            x=alt.X(
                "x:O", sort=order, title=along(answer), axis=alt.Axis(labelAngle=-30 if len(order) > 6 else 0)
            )
        )
        y_axis = ticks([r[k] for r in rows for k in ("low", "high")], is_log(y_scale))
        title = f"{name(answer.figure)}, {unit}" if unit else name(answer.figure)
        tip = [alt.Tooltip("x:N", title=along(answer)), alt.Tooltip("n:Q", title="runs"),
               *(alt.Tooltip(f"{k}:Q", format=".4g") for k in ("low", "q1", "median", "q3", "high"))]  # fmt: skip
        chart = alt.layer(
            base.mark_rule(style="whisker").encode(
                y=alt.Y("low:Q", scale=y_scale, title=title, axis=y_axis), y2="high:Q"
            ),
            base.mark_bar(style="box", size=16).encode(
                y=alt.Y("q1:Q", scale=y_scale), y2="q3:Q", tooltip=tip
            ),
            alt.Chart(inline(dots))
            .mark_point(style="dot", size=14, filled=True)
            .encode(
                x=alt.X("x:O", sort=order),
                y=alt.Y("y:Q", scale=y_scale),
                tooltip=["block:Q", alt.Tooltip("y:Q", format=".4g")],
            ),
            base.mark_line(style="medians").encode(y=alt.Y("median:Q", scale=y_scale)),
            base.mark_point(style="median", filled=True, size=22).encode(
                y=alt.Y("median:Q", scale=y_scale), tooltip=tip
            ),
        )
        found.append(Figure(
            f"box-{n}", f"Spread over runs{': ' + say(group) if group else ''}",
            "Box: quartiles; whiskers: last run within 1.5 box lengths; red line: medians; dots: single runs." + failed,
            finished(chart),
            tuple((answer.figure, p) for p in of),
        ))  # fmt: skip
    return found


def five_numbers(y: Any) -> dict[str, float]:
    q1, median, q3 = (float(v) for v in np.percentile(y, [25, 50, 75]))
    reach = 1.5 * (q3 - q1)
    inside = y[(y >= q1 - reach) & (y <= q3 + reach)]
    return {
        "low": float(min(inside.min(), q1)),
        "q1": q1,
        "median": median,
        "q3": q3,
        "high": float(max(inside.max(), q3)),
    }


# Curves with intervals, one line per engine.


def curves(analysis: Analysis, answer: Answer) -> list[Figure]:
    """Geometric means with 95 % intervals along the swept factor; stopped points as stopped."""
    if not all(is_number(v) for v in analysis.factors.get(along(answer), ("",))):
        return []
    # One kind of axis for all panels; bounds count too, so that a wide interval does not flatten the rest.
    every = [(interval_of(of), list(of.values())) for of in analysis.values(answer.figure).values()]
    y_scale = scale_of([v for i, of in every for v in ((i.low, i.value, i.high) if i else of)])
    found = []
    for n, (group, of) in enumerate(by_panel(groups(analysis, answer.figure, along(answer), ())).items()):
        factor, unit = unit_of({p: v for _, points in of for p, v in points.items()}, answer.figure)
        drawn = [(engine, without_failed(points)) for engine, points in of]
        failed = "".join(failed_said(analysis, points) for _, points in of)
        rows = [
            r
            for engine, points in drawn
            for r in curve_rows(
                points, along(answer), series_of(analysis, answer.figure, engine, points), factor
            )
        ]
        stopped = absent_rows(analysis, along(answer), group)
        if not rows or len({r["x"] for r in [*rows, *stopped]}) < 2:
            continue
        x_values = sorted({r["x"] for r in [*rows, *stopped]})
        title = f"{name(answer.figure)}, {unit}" if unit else name(answer.figure)
        chart = lines(rows, x_values, along(answer), title, y_scale)
        if stopped:
            chart = alt.layer(chart, *stopped_marks(stopped, x_values, sorted({r["series"] for r in rows})))
        found.append(Figure(
            f"curve-{n}", f"{name(answer.figure).capitalize()} along {along(answer)}{': ' + say(group) if group else ''}",
            "Points: geometric means over runs; bars and bands: their 95 % intervals (where a run's figure is 0: median and range). "
            + ("Crosses at the top: points that were stopped or are not supported, with the reason." if stopped else "") + failed,
            finished(chart),
            tuple((answer.figure, p) for _, points in drawn for p in points),
        ))  # fmt: skip
    return found


def by_panel(held: Mapping[Point, Values]) -> dict[Point, list[tuple[str, Values]]]:
    """Group without its engine -> (engine, points): engines share a panel."""
    found: dict[Point, list[tuple[str, Values]]] = {}
    for group, of in held.items():
        rest = tuple((k, v) for k, v in group if k != "engine")
        found.setdefault(rest, []).append((str(dict(group).get("engine", "all")), of))
    return found


def curve_rows(of: Values, factor_name: str, engine: str, factor: float) -> list[Row]:
    rows = []
    for point, values in sorted(of.items(), key=lambda item: dict(item[0])[factor_name]):
        interval = interval_of(values)
        value = interval.value if interval else median(values.values())
        low, high = (
            (interval.low, interval.high) if interval else (min(values.values()), max(values.values()))
        )
        rows.append({"x": dict(point)[factor_name], "y": value / factor, "low": low / factor, "high": high / factor,
                     "series": engine, "n": len(values)})  # fmt: skip
    return rows


def absent_rows(analysis: Analysis, factor_name: str, group: Point) -> list[Row]:
    rows = []
    for absent in analysis.record.absent:
        point = dict(absent.point)
        if is_number(point.get(factor_name)) and all(point.get(k, v) == v for k, v in group):
            rows.append(
                {
                    "x": point[factor_name],
                    "series": str(point.get("engine", "")),
                    "why": absent.why,
                    "reason": absent.reason,
                }
            )
    return rows


def stopped_marks(rows: Sequence[Row], x_values: Sequence[float], engines: Sequence[str]) -> list[alt.Chart]:
    base = alt.Chart(inline(list(rows))).encode(x=alt.X("x:Q", scale=x_scale(x_values)), y=alt.value(6))
    tip = [alt.Tooltip(f"{k}:N") for k in ("series", "why", "reason")]
    return [
        base.mark_point(shape="cross", angle=45, size=70, filled=True).encode(
            color=alt.Color("series:N", title=None, sort=list(engines)), tooltip=tip
        ),
        base.mark_text(style="absent", dx=8).encode(text="why:N"),
    ]


def scaling(analysis: Analysis, answer: Answer) -> list[Figure]:
    """Share of ideal scaling kept, where the study asks for scaling."""
    if answer.kind != "scaling":
        return []
    found = []
    for n, (group, of) in enumerate(by_panel(groups(analysis, answer.figure, along(answer), ())).items()):
        rows = [
            r
            for engine, points in of
            for r in efficiency_rows(
                analysis,
                answer.figure,
                along(answer),
                series_of(analysis, answer.figure, engine, points),
                points,
            )
        ]
        if len({r["x"] for r in rows}) < 2:
            continue
        x_values = sorted({r["x"] for r in rows})
        chart = lines(rows, x_values, along(answer), "efficiency", alt.Scale(domainMin=0))
        ideal = alt.Chart(inline([{"y": 1}])).mark_rule(style="ideal").encode(y="y:Q")
        found.append(Figure(
            f"efficiency-{n}", f"Scaling efficiency{': ' + say(group) if group else ''}",
            "1 is ideal: n sessions do n times the work in the same time, or the same work in 1/n of it. Bars and bands: 95 % intervals.",
            finished(alt.layer(ideal, chart)),
            tuple((answer.figure, p) for _, points in of for p in points),
        ))  # fmt: skip
    return found


def efficiency_rows(analysis: Analysis, figure: str, factor_name: str, engine: str, of: Values) -> list[Row]:
    by_value = {dict(p)[factor_name]: v for p, v in of.items()}
    first = min(by_value)
    weak = lower_is_better(figure) and work_grows(analysis, figure, factor_name, of)
    rows = [{"x": first, "y": 1.0, "low": 1.0, "high": 1.0, "series": engine, "n": len(by_value[first])}]
    for value in sorted(by_value)[1:]:
        pair = (by_value[first], by_value[value])
        ratio = ratio_of(*(pair if lower_is_better(figure) else pair[::-1]))
        if ratio is not None and first:
            kept = ratio if weak else ratio.scaled(first / value)
            rows.append(
                {
                    "x": value,
                    "y": kept.value,
                    "low": kept.low,
                    "high": kept.high,
                    "series": engine,
                    "n": kept.n,
                }
            )
    return rows


# Latency: quantile curves from merged histograms.


def percentiles(analysis: Analysis, answer: Answer) -> list[Figure]:
    """x = -log10(1 - q), so that every nine is as wide as the last; one figure per role."""
    wanted = shown_points(analysis, answer)
    found = []
    for role in roles(analysis):
        held = {p: h for (p, r), h in analysis.latencies.items() if r == role and p in wanted}
        if not held:
            continue
        rows = [
            row
            for p, h in held.items()
            for row in quantile_rows(
                h, series_of(analysis, f"{role}.latency_p99_s", label(p, analysis), {p: {}})
            )
        ]
        if not rows:
            continue
        failing = [f"{h.failed / h.calls:.2%} of {label(p, analysis)}" for p, h in held.items() if h.failed]
        failed = f" Calls failed and are slower than all others: {', '.join(failing)}." if failing else ""
        marks = {
            0.0: "0 %",
            **{float(k): f"{100 - 10 ** (2 - k):.10g} %" for k in range(1, 9)},
        }
        last = max(r["x"] for r in rows)
        shown = {k: v for k, v in marks.items() if k <= last + 0.05}
        texts = " : ".join(f"abs(datum.value - {k}) < 0.001 ? '{v}'" for k, v in shown.items()) + " : ''"
        x = alt.X(
            "x:Q",
            title="share of calls that were at most so slow",
            axis=alt.Axis(values=list(shown), labelExpr=texts),
        )
        values = [r["ms"] for r in rows]
        y_scale = scale_of(values)
        chart = (
            alt.Chart(inline(rows))
            .mark_line(interpolate="step-before")
            .encode(
                x=x,
                y=alt.Y("ms:Q", scale=y_scale, axis=ticks(values, is_log(y_scale)), title="latency, ms"),
                color=alt.Color("series:N", title=None, legend=alt.Legend(orient="top", columns=1, labelLimit=420)),
                tooltip=["series:N", alt.Tooltip("q:N", title="quantile"), alt.Tooltip("ms:Q", format=".4g"), alt.Tooltip("n:Q", format=",", title="calls")],
            )
        )  # fmt: skip
        closed = (
            " Closed schedule: a call was due when the one before had ended, so waiting in line is not in it."
        )
        found.append(Figure(
            f"latency-{role}", f"Latency of {role}",
            "From merged histograms of all runs; a curve ends at 1 − 1/n, or where calls failed." + failed
            + (closed if is_closed(analysis, role) else ""),
            finished(chart),
            tuple((f"{role}.latency_p99_s", p) for p in held),
        ))  # fmt: skip
    return found


def quantile_rows(histogram: Histogram, series: str) -> list[Row]:
    last = np.log10(histogram.calls) if histogram.calls > 1 else 0.0
    nines = np.unique(np.round(np.append(np.arange(0, last, 0.05), last), 4))
    return [
        {
            "x": float(x),
            "q": f"{100 * (1 - 10**-x):.6g} %",
            "ms": ns / 1e6,
            "series": series,
            "n": histogram.calls,
        }
        for x in nines
        if np.isfinite(ns := histogram.quantile_ns(1 - 10 ** -float(x)))
    ]


def shown_points(analysis: Analysis, answer: Answer) -> list[Point]:
    """The best point of each group, so that a figure has few lines."""
    sign = 1 if lower_is_better(answer.figure) else -1
    best = [
        min(of, key=lambda p: sign * float(np.median(list(of[p].values()))))
        for of in groups(analysis, answer.figure, along(answer), ()).values()
    ]
    return best[:MOST_LINES]


def is_closed(analysis: Analysis, role: str) -> bool:
    return all(
        r["schedule"]["kind"] == "closed"
        for m in analysis.runs
        for s in m.run.plan.get("segments", ())
        for r in s.get("roles", ())
        if r["name"].split("/")[0] == role
    )


# Time lines: throughput above the resources that it used.


def time_lines(analysis: Analysis, answer: Answer) -> list[Figure]:
    """One typical run per engine: panels over one time axis, never two y-axes."""
    found = []
    for n, m in enumerate(typical_runs(analysis, answer.figure, shown_points(analysis, answer))):
        held = panels(m.run)
        if not held:
            continue
        drawn = [panel_chart(p, last=p is held[-1]) for p in held]
        found.append(Figure(
            f"time-{n}", f"A typical run over time: {label(m.point, analysis)}",
            f"Run {m.run.run_id}, the one nearest the median. Drag to move, scroll to zoom: all panels follow.",
            finished(stacked(drawn)),
            ((answer.figure, m.point),),
        ))  # fmt: skip
    return found


def sample_lines(analysis: Analysis, answer: Answer) -> list[Figure]:
    """Per engine, each sample of one typical run: its stretches, when it was seen, and the deletes behind."""
    found = []
    for n, m in enumerate(
        typical_runs(analysis, answer.figure, [*shown_points(analysis, answer), *analysis.points])
    ):
        held = sample_panels(m.run)
        if held:
            drawn = [panel_chart(p, last=p is held[-1]) for p in held]
            found.append(Figure(
                f"samples-{n}", f"Sample after sample: {label(m.point, analysis)}",
                f"Run {m.run.run_id}. Collect: a simulated collector's time; queue: until the first part went out; insert: until the "
                "last was stored. Where there are many, the slowest of equal numbers.",
                finished(stacked(drawn)),
                (("", m.point),),
            ))  # fmt: skip
    return found


def stacked(drawn: Sequence[alt.Chart]) -> alt.VConcatChart:
    """Panels over one time axis; one zoom moves them all."""
    zoom = alt.selection_interval(bind="scales", encodings=["x"], name="zoom")
    with (
        warnings.catch_warnings()
    ):  # altair says that it makes one parameter of all panels': that is the intent
        warnings.filterwarnings("ignore", message="Automatically deduplicated")
        chart: alt.VConcatChart = alt.vconcat(*drawn, spacing=8).add_params(zoom)
        chart.resolve = alt.Resolve(scale=alt.ScaleResolveMap(x="shared", color="independent"))
        return chart


def panel_chart(panel: Panel, last: bool) -> alt.Chart:
    """Width and height are set per panel: stacked charts have none of their own."""
    axis = alt.Axis(title="time in the run, s" if last else None, labels=last, ticks=last)
    chart: alt.Chart = (
        alt.Chart(inline(panel.rows))
        .mark_line(interpolate="step-after")
        .encode(
            x=alt.X("t:Q", axis=axis),
            y=alt.Y(
                "y:Q",
                title=panel.title,
                scale=alt.Scale(domain=[0, 1.08 * (max(r["y"] for r in panel.rows) or 1.0)], nice=False),
                axis=alt.Axis(
                    tickCount=4,
                    format="~s" if panel.large else ".3~r",
                    labelExpr="datum.value === 0 ? '0' : datum.label",  # else zero is said in the unit of the largest
                ),
            ),
            color=alt.Color("series:N", title=None, legend=alt.Legend(orient="right")),
            tooltip=["series:N", alt.Tooltip("t:Q", format=".3g"), alt.Tooltip("y:Q", format=".4g")],
        )
        .properties(width=WIDTH, height=HEIGHT // 3)
    )
    return chart
