"""Every step at every point as a table, and the steps that an engine's runs go without. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from html import escape

from inrush.analysis.points import Analysis, Point, say
from inrush.analysis.wording import centre
from inrush.metrics import METRICS
from inrush.report.html import number, table
from inrush.stats import quantity
from inrush.stats.devices import inputs_apart
from inrush.stats.measures import whole

#: The time that rows by rows/s come to: no metric, and beside the rate, since the duration is another time.
RATED_S = "rated_s"


def all_columns() -> Iterator[tuple[str, str]]:
    """Metric of a step -> its column."""
    for name, metric in METRICS.items():
        if metric.column is not None:
            yield name, metric.column
        if name == "rows_per_s":
            yield RATED_S, "rows/s are over"


#: What stands below the table.
TIMES = (
    "<p>A step's duration is from its begin to its end, connecting among it. Its rows/s are over the time beside them: from "
    "the first call to the end of the last one; of an <code>extract</code>, the time in which its calls ran.</p>"
)


def steps_table(analysis: Analysis) -> str:
    """Centres of the runs that count; figures that a guard makes invalid are marked."""
    columns = columns_of(analysis)
    rows = [
        [escape(say(point)), escape(step), escape(do), *(cell(analysis, point, f"{step}.{metric}") for metric in columns)]
        for point in analysis.points
        for step, do in steps_at(analysis, point).items()
    ]  # fmt: skip
    if not rows:
        return ""
    return table(["point", "step", "kind", *(f"#{title}" for title in columns.values())], rows) + TIMES


def columns_of(analysis: Analysis) -> dict[str, str]:
    """Without those of devices where input files have no folder of their own."""
    apart = any(inputs_apart(m.run) for m in analysis.runs)
    return {metric: title for metric, title in all_columns() if apart or "_device_" not in metric}


def steps_at(analysis: Analysis, point: Point) -> dict[str, str]:
    """Step -> its kind, of those that ran; roles of a step with several stand behind it."""
    runs = [m.run for m in analysis.runs if m.counts and m.point == point]
    if not runs:
        return {}
    labels = runs[0].labels
    done = {s: do for s, do in labels.get("steps", {}).items() if s not in labels.get("steps_left_out", {})}
    roles = dict.fromkeys(whole(role) for role in labels.get("sessions", {}))
    found: dict[str, str] = {}
    for step, do in done.items():
        found |= {step: do, **{role: "role" for role in roles if role.startswith(f"{step}.")}}
    return found


def cell(analysis: Analysis, point: Point, figure: str) -> str:
    step, metric = figure.rsplit(".", 1)
    if metric == RATED_S:
        return rated_cell(analysis, point, step)
    values = analysis.values(figure).get(point, {})
    if not values:
        return number("–")
    marked = " INVALID" if analysis.broken(figure, point) else ""
    return number(quantity.show(centre(values), figure) + marked)


def rated_cell(analysis: Analysis, point: Point, step: str) -> str:
    rate = f"{step}.rows_per_s"
    rows, rates = (analysis.values(f).get(point, {}) for f in (f"{step}.rows", rate))
    times = {block: rows[block] / per_s for block, per_s in rates.items() if per_s and block in rows}
    if not times:
        return number("–")
    marked = " INVALID" if analysis.broken(rate, point) else ""
    return number(quantity.show(centre(times), f"{step}.{RATED_S}") + marked)


def left_out_steps(analysis: Analysis) -> list[list[str]]:
    """Point, what it goes without, and why."""
    found = {
        (say(m.point), step, reason)
        for m in analysis.runs
        for step, reason in m.run.labels.get("steps_left_out", {}).items()
    }
    return [
        [escape(point), f"without step {escape(step)}", escape(reason)]
        for point, step, reason in sorted(found)
    ]
