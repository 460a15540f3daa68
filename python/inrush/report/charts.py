"""What all charts share: data, scales, lines with intervals, and the finished spec. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import altair as alt
import numpy as np

from inrush.analysis.answer import Answer
from inrush.analysis.points import Analysis, Point, say
from inrush.analysis.settled import Values
from inrush.analysis.wording import name
from inrush.metrics import lower_is_better
from inrush.stats import quantity

WIDTH, HEIGHT = 640, 260
#: Fewer runs of a point have no spread worth drawing: they are dots, without a box, a bar or a band.
LEAST_RUNS = quantity.LEAST_RUNS
#: Wider ratios than this are shown on a log axis.
LOG_FROM = 10.0

#: An axis of shares, as `inrush.text.percent` writes them.
PERCENT = "format(100 * datum.value, '~g') + ' %'"

Row = dict[str, Any]
Spec = dict[str, Any]
Chart = alt.LayerChart | alt.FacetChart | alt.Chart


@dataclass(frozen=True)
class Figure:
    """One chart: `name` for files, `caption` says how to read it."""

    name: str
    title: str
    caption: str
    spec: Spec = field(repr=False)
    #: (figure, point) of what is drawn: where one of them is invalid, the chart says so.
    shows: tuple[tuple[str, Point], ...] = ()


def inline(rows: Sequence[Row]) -> alt.InlineData:
    return alt.InlineData(values=list(rows))


def along(answer: Answer) -> str:
    return answer.along


def unit_of(of: Values, figure: str) -> tuple[float, str]:
    """One unit for a whole chart: that of its median."""
    finite = [v for values in of.values() for v in values.values() if np.isfinite(v)]
    return quantity.scale(float(np.median(finite)) if finite else 1.0, figure)


def label(point: Point, analysis: Analysis) -> str:
    return say([(k, v) for k, v in point if k in analysis.factors or k == "engine"])  # type: ignore[arg-type]


def labels(points: Sequence[Point], analysis: Analysis) -> dict[Point, str]:
    """Names of lines of one chart: what all of them share is left out, so that a legend is not cut off."""
    shared = set.intersection(*(set(p) for p in points)) if len(points) > 1 else set()
    return {
        p: label(tuple(kv for kv in p if kv not in shared), analysis) or label(p, analysis) for p in points
    }


def axis_title(figure: str, unit: str) -> str:
    """`rate of writers, M rows/s (larger is better)`"""
    better = "smaller" if lower_is_better(figure) else "larger"
    return f"{name(figure)}{', ' + unit if unit else ''} ({better} is better)"


def x_scale(values: Sequence[float]) -> alt.Scale:
    """Along a factor: logarithmic over decades, else from first to last; zero is no place of a sweep."""
    wide = min(values) > 0 and max(values) / min(values) >= LOG_FROM
    return (
        alt.Scale(type="log", nice=False, padding=12)
        if wide
        else alt.Scale(zero=False, nice=False, padding=12)
    )


def number_format(values: Sequence[float]) -> str:
    """Whole numbers as tables show them; 10M in place of 10,000,000."""
    return "~s" if max(values) >= 1_000_000 else ",~r"


def scale_of(values: Sequence[float]) -> alt.Scale:
    values = [v for v in values if np.isfinite(v)]
    positive = [v for v in values if v > 0]
    if len(positive) == len(values) and positive and max(positive) / min(positive) > LOG_FROM:
        return alt.Scale(type="log", nice=False, padding=8)
    return alt.Scale(zero=True)


#: Between the farthest value and the frame.
ROOM = 1.05


def shared_scale(values: Sequence[float]) -> alt.Scale:
    """One scale for all panels of a figure: the same length means the same everywhere. Nothing touches the frame."""
    scale, finite = scale_of(values), [v for v in values if np.isfinite(v)]
    if not finite or max(finite) <= 0:
        return scale
    low, high = min(finite), max(finite) * ROOM
    scale.domain = [low / ROOM, high] if is_log(scale) else [min(0.0, low * ROOM), high]
    return scale


def held_by(scale: alt.Scale, values: Sequence[float]) -> list[float]:
    """The ends of a scale that all panels share, else of what this one draws."""
    return list(scale.to_dict().get("domain", values))


def ticks(values: Sequence[float], log: bool) -> alt.Axis:
    """The axis of figures: on a log scale 1, 2 and 5 of every decade (of many decades their first alone), where at
    least two of them lie inside; Vega's own choice crowds a decade's upper end."""
    if not log:
        return alt.Axis()
    low, high = min(values), max(values)
    for steps in ((1,), (1, 2, 5), (1, 1.5, 2, 3, 5, 7)):
        exponents = range(int(np.floor(np.log10(low))), int(np.ceil(np.log10(high))) + 1)
        inside = [float(f"{m * 10.0**e:.6g}") for e in exponents for m in steps if low <= m * 10.0**e <= high]
        if len(inside) >= 3:
            return alt.Axis(values=inside, format="~g" if high < 1e4 else "~s")
    return alt.Axis()


def in_time_units(axis: alt.Axis, unit_s: float = 1.0) -> alt.Axis:
    """The axis with a unit at each label: 100 µs, 10 ms, 1 s. unit_s: of what the values count, in seconds."""
    in_s = f"(datum.value * {unit_s:g})"
    units = ((1.0, 1.0, "s"), (1e-3, 1e3, "ms"), (0.0, 1e6, "µs"))
    *larger, (_, factor, unit) = units
    shown = "".join(
        f"{in_s} >= {least * 0.9999:g} ? format({in_s} * {f:g}, '~g') + ' {u}' : " for least, f, u in larger
    )
    axis.labelExpr = f"datum.value == 0 ? '0' : {shown}format({in_s} * {factor:g}, '~g') + ' {unit}'"
    return axis


def is_log(scale: alt.Scale) -> bool:
    return scale.to_dict().get("type") == "log"


def lines(
    rows: Sequence[Row], x_values: Sequence[float], x_title: str, y_title: str, y_scale: alt.Scale
) -> Chart:
    """A line through each series. A band only where every point of the series has LEAST_RUNS runs, a bar only where this one
    has; of the others each run is a dot (`runs` of a row). A ring around what was measured too `short`."""
    few = {r["series"] for r in rows if r["n"] < LEAST_RUNS}
    sure = [bare(r) for r in rows if r["n"] >= LEAST_RUNS]
    dots = [
        {"x": r["x"], "y": y, "series": r["series"]}
        for r in rows
        if r["n"] < LEAST_RUNS
        for y in r.get("runs", [r["y"]])
    ]
    series = sorted({r["series"] for r in rows})
    x = alt.X(
        "x:Q",
        scale=x_scale(x_values),
        title=x_title,
        axis=alt.Axis(values=list(x_values), format=number_format(x_values), labelOverlap="greedy"),
    )
    color = alt.Color("series:N", title=None, sort=series, legend=alt.Legend(orient="top", symbolOpacity=1))

    def drawn(of: Sequence[Row]) -> alt.Chart:
        chart: alt.Chart = alt.Chart(inline(of)).encode(x=x, color=color)
        return chart

    tip = [
        alt.Tooltip("series:N"),
        alt.Tooltip("x:Q", title=x_title, format=","),
        alt.Tooltip("n:Q", title="runs"),
        *(
            alt.Tooltip(f"{k}:Q", format=".4g", title=t)
            for k, t in (("y", "estimate"), ("low", "from"), ("high", "to"))
        ),
    ]
    one = [
        alt.Tooltip("series:N"),
        alt.Tooltip("x:Q", title=x_title, format=","),
        alt.Tooltip("y:Q", format=".4g", title="one run"),
    ]
    held = [r[k] for r in sure for k in ("low", "high")] + [r["y"] for r in dots]
    y_axis = ticks([v for v in held_by(y_scale, held) if v > 0], is_log(y_scale))
    y, low = alt.Y("y:Q", scale=y_scale), alt.Y("low:Q", scale=y_scale)
    banded, short = [r for r in sure if r["series"] not in few], [bare(r) for r in rows if r.get("short")]
    layers = [
        *([drawn(banded).mark_area(opacity=0.13, line=False).encode(y=low, y2="high:Q")] if banded else []),
        *([drawn(sure).mark_rule(opacity=0.55).encode(y=low, y2="high:Q")] if sure else []),
        drawn([bare(r) for r in rows])
        .mark_line()
        .encode(y=alt.Y("y:Q", title=y_title, scale=y_scale, axis=y_axis)),
        *([drawn(sure).mark_point(filled=True, size=45).encode(y=y, tooltip=tip)] if sure else []),
        *([drawn(dots).mark_point(filled=True, size=30).encode(y=y, tooltip=one)] if dots else []),
        *([drawn(short).mark_point(filled=False, size=RING).encode(y=y, tooltip=tip)] if short else []),
    ]
    return alt.layer(*layers)  # fmt: skip


#: Area of the ring around a point that was measured too short.
RING = 190


def bare(row: Row) -> Row:
    """Without what only decides how it is drawn."""
    return {k: v for k, v in row.items() if k not in ("runs", "short")}


#: Whether specs are compared with the schema of Vega-Lite. It takes half of a chart's time; tests of charts do it.
CHECKED = False


def finished(chart: alt.TopLevelMixin) -> Spec:
    """A spec without theme: the page and `render` give it one."""
    spec: Spec = chart.to_dict(validate=CHECKED)
    spec.pop("config", None)
    spec.pop("$schema", None)
    if "vconcat" not in spec:
        spec |= {"width": "container", "height": HEIGHT}
    return spec


def judged(figure: Figure, analysis: Analysis) -> Figure:
    """The chart with INVALID across it where all that it draws is invalid; where a part is, the caption names it.

    A chart that says nothing of what it draws is invalid only where whole runs of every point are.
    """
    drawn = figure.shows or tuple(("", point) for point in analysis.points)
    broken = dict.fromkeys(point for name, point in drawn if analysis.broken(name, point))
    if not broken:
        return figure
    if len(broken) == len({point for _, point in drawn}):
        return marked(figure)
    if not figure.shows:
        return figure
    named = "; ".join(label(point, analysis) for point in broken)
    return replace(figure, caption=f"{figure.caption} INVALID here: {named}; see the verdicts.")


def marked(figure: Figure) -> Figure:
    """The same figure with INVALID across it; in stacked panels, across the first."""
    spec = dict(figure.spec)
    if "vconcat" in spec:
        first, *others = spec["vconcat"]
        # A panel's own width and height have no name that an expression could use.
        spec["vconcat"] = [layered(first, watermark(36, 200, first["height"] / 2)), *others]
    else:
        spec = layered(spec, watermark(64, {"expr": "width / 2"}, {"expr": "height / 2"}))
    return replace(figure, title=f"INVALID: {figure.title}", spec=spec)


def watermark(size: int, x: Any, y: Any) -> Spec:
    return {
        "data": {"values": [{}]},
        "mark": {"type": "text", "style": "invalid", "text": "INVALID", "fontSize": size},
        "encoding": {"x": {"value": x}, "y": {"value": y}},
    }


def layered(spec: Spec, extra: Spec) -> Spec:
    if "layer" in spec:
        return {**spec, "layer": [*spec["layer"], extra]}
    outside = ("width", "height", "datasets", "params")
    inner = {k: v for k, v in spec.items() if k not in outside}
    return {**{k: spec[k] for k in outside if k in spec}, "layer": [inner, extra]}
