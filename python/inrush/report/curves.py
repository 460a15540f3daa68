"""Boxes, curves and scaling: what each point was measured to be. Pure."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any

import altair as alt
import numpy as np

from inrush.analysis.answer import Answer, groups
from inrush.analysis.overview import rate_figure
from inrush.analysis.parts import work_grows
from inrush.analysis.points import Analysis, Point, is_number, say
from inrush.analysis.settled import Values
from inrush.analysis.wording import centre, name, ordered, own_interval, plain, ratio_of
from inrush.metrics import lower_is_better
from inrush.report.charts import (
    LEAST_RUNS,
    RING,
    Figure,
    Row,
    along,
    axis_title,
    finished,
    held_by,
    inline,
    is_log,
    lines,
    shared_scale,
    ticks,
    unit_of,
    x_scale,
)
from inrush.report.drawn import by_panel, failed_said, series_of, short_points, short_said, without_failed

MOST_BOXES = 12
#: What a caption says of points without a band or a box.
FEW = f" Fewer than {LEAST_RUNS} runs of a point: each run is a dot."


def rates(analysis: Analysis, answer: Answer) -> list[Figure]:
    """Rows or calls a second, the same for every study: curves, or boxes where what varies is no number.

    Nothing where the answer is such a rate itself: its own curves are the first.
    """
    figure = rate_figure(analysis, answer.figure)
    if figure == answer.figure:
        return []
    rated = replace(answer, figure=figure)
    found = curves(analysis, rated) or ([] if by_rate(analysis, answer) else boxes(analysis, rated))
    return [replace(f, name=f"rate-{n}") for n, f in enumerate(found)]


def by_rate(analysis: Analysis, answer: Answer) -> Answer | None:
    """The answer by the rate of a fixed job, of which its makespan is the other side; None of other figures."""
    figure = rate_figure(analysis, answer.figure)
    if figure == answer.figure or not answer.figure.endswith(".makespan_s"):
        return None
    return replace(answer, figure=figure)


def boxes(analysis: Analysis, answer: Answer) -> list[Figure]:
    """Per group and engine: quartiles, whiskers to the last run within 1.5 IQR, a red line through the medians.

    Fewer than LEAST_RUNS runs of a point have no quartiles: they are dots alone.
    """
    found = []
    # One unit and one scale for all of them: panels that differ in either cannot be compared.
    values = without_failed(analysis.values(answer.figure))
    factor, unit = unit_of(values, answer.figure)
    y_scale = shared_scale([v / factor for of in values.values() for v in of.values()])
    numeric = all(is_number(v) for v in analysis.factors.get(along(answer), ("",)))
    for n, (group, of) in enumerate(
        list(groups(analysis, answer.figure, along(answer), ()).items())[:MOST_BOXES]
    ):
        failed, of = failed_said(analysis, answer.figure, of), without_failed(of)
        enough = {p: values for p, values in of.items() if len(values) >= LEAST_RUNS}
        order = [plain(v) for v in ordered({dict(p)[along(answer)] for p in of})]
        if sum(len(values) for values in of.values()) < 2 or (not enough and numeric and len(order) > 1):
            continue  # one dot is no chart; a curve draws single runs already
        if not failed and len({v for values in of.values() for v in values.values()}) == 1:
            continue  # nothing is spread: every run has the same figure
        short = short_points(analysis, answer.figure, of)
        rows = [box_row(p, values, along(answer), factor) for p, values in enough.items()]
        dots = [
            {"x": plain(dict(p)[along(answer)]), "y": v / factor, "block": b}
            for p, values in of.items()
            for b, v in values.items()
        ]
        rings = [
            {"x": plain(dict(p)[along(answer)]), "y": centre(values) / factor}
            for p, values in of.items()
            if p in short
        ]
        chart = alt.layer(
            *box_layers(rows, dots, rings, order, along(answer), axis_title(answer.figure, unit), y_scale)
        )
        found.append(Figure(
            f"box-{n}", f"Spread over runs{': ' + say(group) if group else ''}",
            "Box: quartiles; whiskers: last run within 1.5 box lengths; red line: medians; dots: single runs."
            + ("" if len(enough) == len(of) else FEW) + short_said(short) + failed,
            finished(chart),
            tuple((answer.figure, p) for p in of),
        ))  # fmt: skip
    return found


def box_row(point: Point, values: Mapping[int, float], factor_name: str, factor: float) -> Row:
    y = np.array(list(values.values())) / factor
    return {"x": plain(dict(point)[factor_name]), "n": len(y), **five_numbers(y)}


def box_layers(
    rows: Sequence[Row],
    dots: Sequence[Row],
    rings: Sequence[Row],
    order: Sequence[str],
    x_title: str,
    y_title: str,
    y_scale: alt.Scale,
) -> list[alt.Chart]:
    """rows: boxes, of points with enough runs; dots: every run; rings: points measured too short."""
    x = alt.X("x:O", sort=list(order), title=x_title, axis=alt.Axis(labelAngle=-30 if len(order) > 6 else 0))
    base = alt.Chart(inline(rows)).encode(x=x)
    drawn = [r[k] for r in rows for k in ("low", "high")] or [r["y"] for r in dots]
    y_axis = ticks(held_by(y_scale, drawn), is_log(y_scale))
    tip = [alt.Tooltip("x:N", title=x_title), alt.Tooltip("n:Q", title="runs"),
           *(alt.Tooltip(f"{k}:Q", format=".4g") for k in ("low", "q1", "median", "q3", "high"))]  # fmt: skip

    def y(field: str) -> alt.Y:
        return alt.Y(f"{field}:Q", scale=y_scale, title=y_title, axis=y_axis)

    single = (
        alt.Chart(inline(dots))
        .mark_point(style="dot", size=14, filled=True)
        .encode(x=x, y=y("y"), tooltip=["block:Q", alt.Tooltip("y:Q", format=".4g")])
    )
    ringed = (
        [alt.Chart(inline(rings)).mark_point(filled=False, size=RING).encode(x=x, y=y("y"))] if rings else []
    )
    if not rows:
        return [single, *ringed]
    return [
        base.mark_rule(style="whisker").encode(y=y("low"), y2="high:Q"),
        base.mark_bar(style="box", size=16).encode(y=y("q1"), y2="q3:Q", tooltip=tip),
        single,
        base.mark_line(style="medians").encode(y=y("median")),
        base.mark_point(style="median", filled=True, size=22).encode(y=y("median"), tooltip=tip),
        *ringed,
    ]


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


def curves(analysis: Analysis, answer: Answer) -> list[Figure]:
    """Geometric means with 95 % intervals along the swept factor; stopped points as stopped."""
    if not all(is_number(v) for v in analysis.factors.get(along(answer), ("",))):
        return []
    # One unit and one scale for all panels; bounds count too, so that a wide interval does not flatten the rest.
    values = without_failed(analysis.values(answer.figure))
    factor, unit = unit_of(values, answer.figure)
    every = [(own_interval(answer.figure, of), list(of.values())) for of in values.values()]
    y_scale = shared_scale([
        v / factor
        for i, of in every
        for v in ((i.low, i.value, i.high) if i and len(of) >= LEAST_RUNS else of)
    ])  # fmt: skip
    found = []
    for n, (group, of) in enumerate(by_panel(groups(analysis, answer.figure, along(answer), ())).items()):
        drawn = [(engine, without_failed(points)) for engine, points in of]
        short = short_points(analysis, answer.figure, [p for _, points in drawn for p in points])
        failed = "".join(failed_said(analysis, answer.figure, points) for _, points in of)
        rows = [
            r
            for engine, points in drawn
            for r in curve_rows(
                points,
                along(answer),
                answer.figure,
                series_of(analysis, answer.figure, engine, points),
                factor,
                short,
            )
        ]
        stopped = absent_rows(analysis, along(answer), group)
        if not rows or len({r["x"] for r in [*rows, *stopped]}) < 2:
            continue
        x_values = sorted({r["x"] for r in [*rows, *stopped]})
        chart = lines(rows, x_values, along(answer), axis_title(answer.figure, unit), y_scale)
        if stopped:
            chart = alt.layer(chart, *stopped_marks(stopped, x_values, sorted({r["series"] for r in rows})))
        found.append(Figure(
            f"curve-{n}", f"{name(answer.figure).capitalize()} along {along(answer)}{': ' + say(group) if group else ''}",
            "Points: geometric means over runs; bars and bands: their 95 % intervals (where a run's figure is 0: median and range). "
            + ("Crosses at the top: points that were stopped or are not supported, with the reason." if stopped else "")
            + (FEW if any(r["n"] < LEAST_RUNS for r in rows) else "") + short_said(short) + failed,
            finished(chart),
            tuple((answer.figure, p) for _, points in drawn for p in points),
        ))  # fmt: skip
    return found


def curve_rows(
    of: Values, factor_name: str, figure: str, engine: str, factor: float, short: Collection[Point] = ()
) -> list[Row]:
    rows = []
    for point, values in sorted(of.items(), key=lambda item: dict(item[0])[factor_name]):
        interval = own_interval(figure, values)
        value = centre(values)
        low, high = (
            (interval.low, interval.high) if interval else (min(values.values()), max(values.values()))
        )
        rows.append({"x": dict(point)[factor_name], "y": value / factor, "low": low / factor, "high": high / factor,
                     "series": engine, "n": len(values), "runs": [v / factor for v in values.values()],
                     "short": point in short})  # fmt: skip
    return rows


def absent_rows(analysis: Analysis, factor_name: str, group: Point) -> list[Row]:
    rows = []
    for absent in analysis.record.absent:
        point = dict(absent.point)
        if absent.searched:
            continue  # a lower load than one that was held is no stop
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
