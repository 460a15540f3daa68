"""Which points a figure draws, and how its lines are called. Pure."""

from __future__ import annotations

from collections.abc import Collection, Mapping

import numpy as np

from inrush.analysis.answer import PACED, Answer, groups
from inrush.analysis.overview import asked_points
from inrush.analysis.points import Analysis, Measured, Point
from inrush.analysis.settled import Values
from inrush.analysis.wording import lacks
from inrush.guards.notes import SHORTEST_S
from inrush.metrics import lower_is_better
from inrush.report.charts import along, label

#: Lines of one figure.
MOST_LINES = 8


def series_of(analysis: Analysis, figure: str, engine: str, of: Values) -> str:
    """The name of a line in its legend: with a mark where one of its points is invalid."""
    return f"{engine} (INVALID)" if analysis.broken_points(figure, of) else engine


def without_failed(of: Values) -> Values:
    """Points with a value of the figure in every run: a percentile that failed has no place on an axis."""
    return {p: v for p, v in of.items() if all(np.isfinite(list(v.values())))}


def failed_points(of: Values) -> list[Point]:
    return [p for p in of if p not in without_failed(of)]


def failed_said(analysis: Analysis, figure: str, of: Values) -> str:
    """What a caption says of points that are not drawn."""
    named = "; ".join(f"{label(p, analysis)} ({lacks(analysis, figure, of[p])})" for p in failed_points(of))
    return f" Not drawn, without a value in a run: {named}." if named else ""


def short_points(analysis: Analysis, figure: str, points: Collection[Point]) -> set[Point]:
    """Points of which a run measured the figure's role for less than SHORTEST_S."""
    role = figure.rsplit(".", 1)[0]
    return {
        m.point
        for m in analysis.runs
        if m.counts and m.point in points and (s := measured_s(m, role)) is not None and s < SHORTEST_S
    }


def measured_s(m: Measured, role: str) -> float | None:
    """Seconds that a role worked in the measured segments, all repetitions together; None where that is not known."""
    makespan_s = m.figures.get(f"{role}.makespan_s")
    return None if makespan_s is None else makespan_s * m.figures.get(f"{role}.repetitions", 1.0)


def short_said(short: Collection[Point]) -> str:
    """What a caption says of rings."""
    return f" Ringed: a run of it measured less than {SHORTEST_S:g} s." if short else ""


def by_panel(held: Mapping[Point, Values]) -> dict[Point, list[tuple[str, Values]]]:
    """Group without its engine -> (engine, points): engines share a panel."""
    lines: dict[Point, list[tuple[str, Values]]] = {}
    for group, of in held.items():
        rest = tuple((k, v) for k, v in group if k != "engine")
        lines.setdefault(rest, []).append((str(dict(group).get("engine", "all")), of))
    return lines


def shown_points(analysis: Analysis, answer: Answer) -> list[Point]:
    """The points that the answer's first sentence is about, where it is about a load; else the best of each group: few lines."""
    if answer.kind in PACED:
        asked = asked_points(analysis, answer).points
        return [point for point, _ in asked.values()][:MOST_LINES]
    sign = 1 if lower_is_better(answer.figure) else -1
    best = [
        min(of, key=lambda p: sign * float(np.median(list(of[p].values()))))
        for of in groups(analysis, answer.figure, along(answer), ()).values()
    ]
    return best[:MOST_LINES]
