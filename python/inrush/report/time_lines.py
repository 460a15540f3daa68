"""Time lines: one typical run, panels over one time axis, never two y-axes. Pure."""

from __future__ import annotations

import warnings
from collections.abc import Sequence

import altair as alt

from inrush.analysis.answer import Answer
from inrush.analysis.points import Analysis
from inrush.report.charts import HEIGHT, WIDTH, Figure, Row, finished, inline, label
from inrush.report.drawn import shown_points
from inrush.report.over_time import panels
from inrush.report.panel_lines import legible, names, others_said
from inrush.report.sampled import sample_panels
from inrush.report.timeline import Panel, drawn_panels, typical_runs
from inrush.stats.steps import step_windows


def time_lines(analysis: Analysis, answer: Answer) -> list[Figure]:
    """One typical run per engine: panels over one time axis, never two y-axes."""
    found = []
    for n, m in enumerate(typical_runs(analysis, answer.figure, shown_points(analysis, answer))):
        held = legible(drawn_panels(panels(m.run), m.run))
        if not held or step_windows(m.run):  # steps have a time line of their own
            continue
        found.append(Figure(
            f"time-{n}", f"A typical run over time: {label(m.point, analysis)}",
            f"Run {m.run.run_id}, the one nearest the median. Drag to move, scroll to zoom: all panels follow.{others_said(held)}",
            finished(stacked(panel_charts(held))),
            ((answer.figure, m.point),),
        ))  # fmt: skip
    return found


def sample_lines(analysis: Analysis, answer: Answer) -> list[Figure]:
    """Per engine, each sample of one typical run: its stretches, when it was seen, and the deletes behind."""
    found = []
    for n, m in enumerate(
        typical_runs(analysis, answer.figure, [*shown_points(analysis, answer), *analysis.points])
    ):
        held = drawn_panels(sample_panels(m.run), m.run)
        if held:
            found.append(Figure(
                f"samples-{n}", f"Sample after sample: {label(m.point, analysis)}",
                f"Run {m.run.run_id}. Collect: a simulated collector's time; queue: until the first part went out; insert: until the "
                "last was stored. Where there are many, the slowest of equal numbers.",
                finished(stacked(panel_charts(held))),
                (("", m.point),),
            ))  # fmt: skip
    return found


def stacked(drawn: Sequence[alt.Chart | alt.LayerChart]) -> alt.VConcatChart:
    """Panels over one time axis; one zoom moves them all."""
    zoom = alt.selection_interval(bind="scales", encodings=["x"], name="zoom")
    with (
        warnings.catch_warnings()
    ):  # altair says that it makes one parameter of all panels': that is the intent
        warnings.filterwarnings("ignore", message="Automatically deduplicated")
        chart: alt.VConcatChart = alt.vconcat(*drawn, spacing=8).add_params(zoom)
        chart.resolve = alt.Resolve(scale=alt.ScaleResolveMap(x="shared", color="independent"))
        return chart


#: Letters of names that fit one line of a legend above a panel, each with its symbol.
LEGEND_LETTERS, SYMBOL_LETTERS = 100, 6


def columns(rows: Sequence[Row]) -> int:
    """Of a legend: as many as fit its panel, with names as long as the longest."""
    shown = {str(row["series"]) for row in rows}
    longest = max((len(name) for name in shown), default=0) + SYMBOL_LETTERS
    return max(1, min(len(shown), LEGEND_LETTERS // longest))


#: What is on the axis that all panels share.
TIME = "time in the run, s"


def panel_charts(panels: Sequence[Panel], along: str = TIME, until: float = 0.0) -> list[alt.Chart]:
    """The last one has the axis of time, or of what is `along`. A name has one colour in all of them. until: the end of what
    stands above them."""
    colours, span = names(panels), time_scale(panels, until)
    return [panel_chart(p, colours, p is panels[-1], along, span) for p in panels]


def time_scale(panels: Sequence[Panel], until: float = 0.0) -> alt.Scale:
    """As long as what was measured: a round number beyond it would be time in which nothing was."""
    times = [float(row["t"]) for panel in panels for row in panel.rows]
    return alt.Scale(domain=[min([0.0, *times]), max([until, *times])], nice=False)


def panel_chart(panel: Panel, colours: Sequence[str], last: bool, along: str, span: alt.Scale) -> alt.Chart:
    """Width and height are set per panel: stacked charts have none of their own. span: of all panels."""
    axis = alt.Axis(title=along if last else None, labels=last, ticks=last)
    chart: alt.Chart = (
        alt.Chart(inline(panel.rows))
        .mark_line(interpolate="step-after")
        .encode(
            x=alt.X("t:Q", axis=axis, scale=span),
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
            color=alt.Color(
                "series:N",
                title=None,
                scale=alt.Scale(domain=list(colours)),
                # Only its own names: the scale has those of all panels.
                legend=alt.Legend(
                    orient="top", labelLimit=260, offset=4, columns=columns(panel.rows), values=names([panel])
                ),
            ),
            tooltip=["series:N", alt.Tooltip("t:Q", format=".3g"), alt.Tooltip("y:Q", format=".4g")],
        )
        .properties(width=WIDTH, height=HEIGHT // 3)
    )
    return chart
