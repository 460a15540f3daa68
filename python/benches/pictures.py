"""A picture of each study of the telemetry family, for docs/findings: `python -m benches.pictures RESULTS docs/findings`.

Reads the last complete results of each study on each engine (as `benches.findings` makes them), writes an SVG a study,
and prints the Markdown that shows it. A mark is the geometric mean over the sealed runs of a point, its bar the 95 %
interval. A figure that a guard made INVALID is a cross in place of a dot, and the legend says so.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from math import ceil, inf, isfinite
from pathlib import Path
from statistics import median
from typing import Any

import altair as alt
import numpy as np

from benches.findings import BESIDE, PUBLISHED, complete
from inrush.analysis.points import Analysis, Point, say
from inrush.analysis.settled import Values
from inrush.analysis.wording import interval_of, ordered, plain
from inrush.report.charts import (
    HEIGHT,
    WIDTH,
    Figure,
    Row,
    finished,
    inline,
    is_log,
    scale_of,
    ticks,
    unit_of,
)
from inrush.report.draw import render, themes
from inrush.report.drawn import failed_points, without_failed
from inrush.stats.measures import measured_windows
from inrush.stats.quantity import scale
from inrush.stats.samples import role_samples

#: An engine has its place and its colour in every picture, whichever others are there.
ENGINES = (*PUBLISHED, *BESIDE)
VALID, INVALID = "valid", "INVALID"
SHAPES = {VALID: "circle", INVALID: "cross"}
MEANS = "Marks: geometric means over runs. Bars: 95 % intervals."

PRODUCTION = "production"
#: Of the scales of production, the one that docs/findings shows.
SCALE = "osc"
SAMPLES_OF = "ports"
#: Name on the axis -> share of the samples, and the figure that guards know it by.
PERCENTILES = {
    "p50": (0.5, "sample_p50_s"),
    "p90": (0.9, "sample_p90_s"),
    "p99": (0.99, "sample_p99_s"),
    "largest": (1.0, "sample_s"),
}


@dataclass(frozen=True)
class View:
    """What the picture of a study shows: one figure along one factor. What else varies has a panel for each value."""

    title: str
    figure: str
    along: str
    #: Title of the axis; the unit is added.
    axis: str
    #: Factor -> the only value that is drawn.
    where: Mapping[str, Any] = field(default_factory=dict)


VIEWS: Mapping[str, View] = {
    "batch": View("Rows stored a second, by rows in one insert (one writer, no reader)", "writers.rows_per_s", "batch_rows", "rate", {"readers": 0}),
    "writers": View("Rows stored a second, by writers a table (4 users a table)", "writers.rows_per_s", "writers", "rate"),
    "keepup": View("A second's sample, due until stored, by users a table (median)", "writers.sample_p50_s", "readers", "time"),
    "sustained": View("A second's sample, due until stored, by rows offered a second (median)", "writers.sample_p50_s", "rows_per_s", "time"),
    "mixed": View("Rows stored a second, by n writers and n users on each of three tables", "writers.rows_per_s", "n", "rate", {"combination": "all"}),
    "volume": View("Rows stored a second, by rows in all (one writer)", "writers.rows_per_s", "rows", "rate"),
    "indexes": View("Rows stored a second, by indexes of the table (one writer)", "writers.rows_per_s", "layout", "rate"),
}  # fmt: skip


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("results", type=Path, help="folder with the results of `benches.findings run`")
    parser.add_argument("folder", type=Path, help="where the pictures are written")
    asked = parser.parse_args(argv)
    drawn = pictures(gathered(asked.results))
    if not drawn:
        print(
            f"{asked.results}: no complete results of the telemetry family; `python -m benches.findings run` makes them",
            file=sys.stderr,
        )
        return 2
    asked.folder.mkdir(parents=True, exist_ok=True)
    for figure in drawn:
        path = asked.folder / f"{figure.name}.svg"
        path.write_bytes(render(figure, "svg"))
        print(f"![{figure.title}]({path.name})\n\n{figure.caption}\n")
    return 0


def gathered(results: Path) -> dict[str, dict[str, Analysis]]:
    """Study -> engine -> its last complete results."""
    last: dict[tuple[str, str], Analysis] = {}
    for piece, analysis in complete(results):
        if piece.study != PRODUCTION or analysis.study.get("scale") == SCALE:
            last[piece.study, piece.engine] = analysis
    return {
        study: {engine: last[study, engine] for engine in ENGINES if (study, engine) in last}
        for study in (*VIEWS, PRODUCTION)
    }


def pictures(found: Mapping[str, Mapping[str, Analysis]]) -> list[Figure]:
    """found: study -> engine -> analysis. Studies in which nothing was measured have no picture."""
    drawn = [picture(study, VIEWS[study], found[study]) for study in VIEWS if found.get(study)]
    drawn += [production(found[PRODUCTION])] if found.get(PRODUCTION) else []
    return [figure for figure in drawn if figure is not None]


# --- a figure along a factor


@dataclass(frozen=True)
class Mark:
    """A figure at a point of one engine: a value of each of its runs."""

    engine: str
    point: Point
    values: Mapping[int, float]
    invalid: bool

    def at(self, factor: str) -> Any:
        return dict(self.point)[factor]


def picture(study: str, view: View, analyses: Mapping[str, Analysis]) -> Figure | None:
    marks = [mark for engine, analysis in analyses.items() for mark in marks_of(engine, analysis, view)]
    if not marks:
        return None
    factor, unit = unit_of({m.point: dict(m.values) for m in marks}, view.figure)
    panels: dict[str, list[Row]] = {}
    for mark, panel in zip(marks, panels_of(marks, view.along), strict=True):
        panels.setdefault(panel, []).append(row(mark, view.along, factor))
    xs = [plain(x) for x in ordered(dict.fromkeys(mark.at(view.along) for mark in marks))]
    failed = [
        f"{engine} {say_at(p, view.along)}"
        for engine, analysis in analyses.items()
        for p in failed_points(points_of(analysis, view))
    ]
    caption = MEANS + (f" Not drawn, since calls failed: {'; '.join(failed)}." if failed else "")
    return Figure(
        f"telemetry-{study}", view.title, caption, stacked(panels, xs, view.along, f"{view.axis}, {unit}")
    )


def marks_of(engine: str, analysis: Analysis, view: View) -> list[Mark]:
    of = without_failed(points_of(analysis, view))
    broken = set(analysis.broken_points(view.figure, of))
    return [Mark(engine, point, values, point in broken) for point, values in of.items()]


def points_of(analysis: Analysis, view: View) -> Values:
    """Points of the view with their values; a factor that a study does not have excludes nothing."""
    return {
        point: values
        for point, values in analysis.values(view.figure).items()
        if view.along in dict(point) and all(dict(point).get(k, v) == v for k, v in view.where.items())
    }


def panels_of(marks: Sequence[Mark], along: str) -> list[str]:
    """The panel of each mark: what varies besides the engine and the factor of the axis."""
    held: dict[str, set[Any]] = {}
    for mark in marks:
        for name, value in mark.point:
            held.setdefault(name, set()).add(value)
    names = [n for n, values in held.items() if len(values) > 1 and n not in ("engine", along)]
    return [say({n: dict(m.point)[n] for n in names if n in dict(m.point)}) for m in marks]


def say_at(point: Point, along: str) -> str:
    return f"at {along} {plain(dict(point)[along])}"


def row(mark: Mark, along: str, factor: float) -> Row:
    y, low, high = (v / factor for v in estimate(mark.values))
    return {"x": plain(mark.at(along)), "y": y, "low": low, "high": high, "n": len(mark.values), **identity(mark.engine, mark.invalid)}  # fmt: skip


def identity(engine: str, invalid: bool) -> dict[str, str]:
    return {"engine": engine, "standing": INVALID if invalid else VALID}


def estimate(values: Mapping[int, float]) -> tuple[float, float, float]:
    """Geometric mean and its interval; of one run the value alone, where a run's figure is 0 median and range."""
    interval = interval_of(values)
    if interval is not None:
        return interval.value, interval.low, interval.high
    return median(values.values()), min(values.values()), max(values.values())


# --- production: percentiles of a few runs with many samples


def production(analyses: Mapping[str, Analysis]) -> Figure | None:
    """Percentiles of all samples of all runs together; bars: the same percentile in each quarter of each run."""
    found = [r for engine, analysis in analyses.items() for r in percentile_rows(engine, analysis)]
    shown = [r for r in found if isfinite(r["y"])]
    if not shown:
        return None
    factor, unit = scale(median(r["y"] for r in shown), f"{SAMPLES_OF}.sample_s")
    rows = [{**r, **{k: r[k] / factor for k in ("y", "low", "high")}} for r in shown]
    caption = (
        "Marks: of all samples. Bars: the least and the largest of the quarters of a run."
        + never_stored(found)
    )
    return Figure(
        f"telemetry-{PRODUCTION}", "A sample of production, due until stored", caption,
        stacked({"": rows}, list(PERCENTILES), "percentile", f"time, {unit}"),
    )  # fmt: skip


def never_stored(rows: Sequence[Row]) -> str:
    """What a caption says of percentiles that samples without an end reach."""
    marks = [f"{r['engine']} {r['x']}" for r in rows if not isfinite(r["y"])]
    bars = [f"{r['engine']} {r['x']}" for r in rows if isfinite(r["y"]) and r["endless"]]
    return "".join(
        f" {what}, since samples were never stored: {'; '.join(names)}."
        for what, names in (("Not drawn", marks), ("Without a bar", bars))
        if names
    )


def percentile_rows(engine: str, analysis: Analysis) -> Iterator[Row]:
    """In seconds; infinite where samples that were never stored reach the percentile."""
    measured = [m for m in analysis.runs if m.counts]
    runs = [
        of[SAMPLES_OF].sample_s
        for m in measured
        if SAMPLES_OF in (of := role_samples(m.run, measured_windows(m.run)))
    ]
    if not runs:
        return
    quarters = [quarter for run in runs for quarter in np.array_split(run, 4) if len(quarter)]
    for name, (q, figure) in PERCENTILES.items():
        # The largest of a quarter is no estimate of the largest of all: it has no bar.
        bars = [percentile(quarter, q) for quarter in quarters] if q < 1 else []
        y = percentile(np.concatenate(runs), q)
        endless = not all(isfinite(b) for b in bars)
        low, high = (y, y) if endless or not bars else (min(bars), max(bars))
        broken = any(analysis.broken(f"{SAMPLES_OF}.{figure}", m.point) for m in measured)
        yield {
            "x": name,
            "y": y,
            "low": low,
            "high": high,
            "n": len(runs),
            "endless": endless,
            **identity(engine, broken),
        }


def percentile(values: Any, q: float) -> float:
    """The smallest value that at least a share of `q` does not exceed."""
    return float(np.sort(values)[max(0, ceil(q * len(values)) - 1)]) if len(values) else inf


# --- the chart


def stacked(
    panels: Mapping[str, Sequence[Row]], xs: Sequence[str], x_title: str, y_title: str
) -> dict[str, Any]:
    """Panels under one another with the same axes, as a spec."""
    rows = [r for of in panels.values() for r in of]
    engines = [e for e in ENGINES if any(r["engine"] == e for r in rows)]
    y_scale = scale_of([r[k] for r in rows for k in ("low", "high")])
    y = alt.Y(
        "y:Q", title=y_title, scale=y_scale,
        axis=ticks([r[k] for r in rows for k in ("low", "high") if r[k] > 0], is_log(y_scale)),
    )  # fmt: skip
    invalid = any(r["standing"] == INVALID for r in rows)
    charts = [
        panel_chart(of, title, xs, x_title, y, y_scale, engines, invalid) for title, of in panels.items()
    ]
    chart: alt.VConcatChart = alt.vconcat(*charts, spacing=16)
    chart.resolve = alt.Resolve(scale=alt.ScaleResolveMap(color="shared", shape="shared"))
    return finished(chart)


def panel_chart(
    rows: Sequence[Row],
    title: str,
    xs: Sequence[str],
    x_title: str,
    y: alt.Y,
    y_scale: alt.Scale,
    engines: Sequence[str],
    invalid: bool,
) -> alt.LayerChart:
    """A column for each value of the axis, and in it a place for each engine."""
    base = alt.Chart(inline(rows)).encode(
        x=alt.X("x:O", title=x_title, scale=alt.Scale(domain=list(xs), paddingInner=0.3), axis=alt.Axis(labelAngle=0)),
        xOffset=alt.XOffset("engine:N", scale=alt.Scale(domain=list(engines))),
        color=alt.Color("engine:N", title=None, scale=alt.Scale(domain=list(engines), range=colours(engines)), legend=alt.Legend(orient="top")),
    )  # fmt: skip
    standing = alt.Shape(
        "standing:N",
        title=None,
        scale=alt.Scale(domain=list(SHAPES), range=list(SHAPES.values())),
        legend=alt.Legend(orient="top") if invalid else None,
    )
    chart: alt.LayerChart = alt.layer(
        base.mark_rule(opacity=0.55).encode(y=alt.Y("low:Q", scale=y_scale), y2="high:Q"),
        base.mark_point(filled=True, size=55, opacity=1).encode(y=y, shape=standing),
    ).properties(width=WIDTH, height=HEIGHT)
    return chart.properties(title=title) if title else chart


def colours(engines: Sequence[str]) -> list[str]:
    category: list[str] = themes()["light"]["range"]["category"]
    return [category[ENGINES.index(engine)] for engine in engines]


if __name__ == "__main__":
    sys.exit(main())
