"""The table of points in the terminal: one unit, columns for what varies, at most WIDEST wide for ordinary names. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import isfinite
from statistics import median
from typing import Any

from inrush.analysis.answer import COMPETING, Answer, groups
from inrush.analysis.comparability import refused
from inrush.analysis.overview import fresh
from inrush.analysis.points import Analysis, Point, PointSummary, say
from inrush.analysis.settled import best_of_each, settled
from inrush.analysis.verdicts import Outcome
from inrush.analysis.wording import plain
from inrush.report.overview import WIDEST
from inrush.stats.quantity import LEAST_RUNS, digits, says_nothing, scale, show_bounds
from inrush.text import BestLine, columns

NONE = "–"


def point_lines(analysis: Analysis, found: Answer | None, figure: str) -> list[str]:
    """A row for each point with the figure, its 95 % interval and its runs; the best of each group in bold on a terminal."""
    summaries = analysis.summaries(figure)
    if not summaries:
        return []
    values = [v for s in summaries for v in s.values if isfinite(v)]
    factor, unit = scale(median(values) if values else 1.0, figure)
    varied, shared = apart([s.point for s in summaries])
    best = best_points(analysis, found)
    rows = [
        ([text(s.point, k) for k in varied], str(len(s.values)), summed(s, factor), s.point in best)
        for s in summaries
    ]
    at = f" at {say(shared)}" if shared else ""
    few = any(1 < len(s.values) < LEAST_RUNS for s in summaries)
    bounds = f"(range of fewer than {LEAST_RUNS} runs)" if few else ""
    if not few or any(len(s.values) >= LEAST_RUNS for s in summaries):
        bounds = f"[95 % interval]{' ' * few}{bounds}"
    return [f"{figure}{', ' + unit if unit else ''} {bounds}{at}", *narrow(rows, varied)]


def apart(points: Sequence[Point]) -> tuple[list[str], dict[str, Any]]:
    """Names of factors that differ between points, and what all points share."""
    names = dict.fromkeys(name for point in points for name, _ in point)
    held = {name: {dict(point).get(name) for point in points} for name in names}
    varied = [name for name in names if len(held[name]) > 1]
    return varied, {name: next(iter(of)) for name, of in held.items() if len(of) == 1}


def text(point: Point, name: str) -> str:
    held = dict(point)
    return plain(held[name]) if name in held else NONE


Row = tuple[list[str], str, str, bool]


def narrow(rows: Sequence[Row], varied: Sequence[str]) -> list[str]:
    """One table where it fits; else a table for each value of the widest factor, with the value above it."""
    header = (*varied, "n", "")
    lines = columns(
        [(*values, n, shown) for values, n, shown, _ in rows], header, right=numeric(rows, len(varied))
    )
    if max(map(len, lines)) <= WIDEST or len(varied) < 2:
        return [
            lines[0],
            *(BestLine(line) if row[3] else line for line, row in zip(lines[1:], rows, strict=True)),
        ]
    widest = max(range(len(varied)), key=lambda i: max(len(varied[i]), *(len(row[0][i]) for row in rows)))
    rest = [name for i, name in enumerate(varied) if i != widest]
    found: list[str] = []
    for value in dict.fromkeys(row[0][widest] for row in rows):
        mine = [(without(of, widest), n, shown, best) for of, n, shown, best in rows if of[widest] == value]
        found += [f"{varied[widest]} {value}:", *narrow(mine, rest)]
    return found


def without(values: Sequence[str], place: int) -> list[str]:
    return [value for i, value in enumerate(values) if i != place]


def numeric(rows: Sequence[Row], varied: int) -> list[int]:
    """Columns of numbers stand to the right: those of factors, and that of runs."""
    numbers = [i for i in range(varied) if all(row[0][i][:1].isdigit() or row[0][i] == NONE for row in rows)]
    return [*numbers, varied]


def summed(s: PointSummary, factor: float) -> str:
    """`269 [204, 355]`; without an interval the centre and the range of the runs."""
    mark = f"{f' ({s.few})' if s.few else ''}{' INVALID' if s.outcome is Outcome.INVALID else ''}"
    if s.interval is not None and not says_nothing(s.interval):
        i = s.interval
        return f"{digits(i.value / factor)} {show_bounds(i.scaled(1 / factor))}{mark}"
    if s.failed:
        return f"{s.lacks} in {s.failed} of {len(s.values)}{mark}"
    if len(s.values) == 1:
        return f"{digits(s.values[0] / factor)}{mark}"
    low, high = (digits(f(s.values) / factor) for f in (min, max))
    return f"{digits(s.centre / factor)} ({low} to {high}){mark}"


def best_points(analysis: Analysis, found: Answer | None) -> set[Point]:
    """Where points compete: the best of each group, and what cannot be distinguished from it; none of a part that is invalid."""
    if found is None or found.kind not in COMPETING or (found.along == "engine" and refused(analysis)):
        return set()
    per = tuple((analysis.study.get("answer") or {}).get("per") or ())
    along = found.along
    best: set[Point] = set()
    for of in groups(analysis, found.figure, along, per).values():
        if found.kind == "comparison":
            of = {p: of[p] for p in best_of_each(of, along, found.figure).values()}
        if len(of) > 1:
            best |= set(winners(settled(of, fresh(analysis, found, of), found.figure)))
    return best - {point for part in found.parts if part.invalid for point in part.points}


def winners(found: Any) -> Iterable[Point]:
    return (found.best, *found.together)
