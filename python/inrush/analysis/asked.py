"""Figures that a study's question asks for beside the one that its answer compares: each engine's, at every point. Pure.

`asked` of the answer names them. `load_*.bytes_per_row` is one for many steps: the smallest and the largest stand for all.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fnmatch import fnmatchcase

from inrush.analysis.overview import engines
from inrush.analysis.percentiles import has_too_few, merged_s
from inrush.analysis.points import Analysis, Point
from inrush.analysis.settled import value_said
from inrush.analysis.verdicts import Verdict
from inrush.analysis.wording import centre, name
from inrush.engines import title
from inrush.stats.extremes import largest_said, shown_value, without_value
from inrush.stats.quantity import show
from inrush.text import counted, listed

#: Points of an engine that a sentence has room for; the table has all.
MOST_SAID = 4
#: Values of an engine that its sentences have room for, of several points and figures.
MOST_VALUES = 12
#: Of a percentile with no call beyond it.
NO_VALUE = "– (too few calls)"


def asked_figures(analysis: Analysis) -> list[str]:
    return list((analysis.study.get("answer") or {}).get("asked") or ())


def asked_sentence(analysis: Analysis) -> str:
    """`PostgreSQL: duration of whole 2.30 s at layout pk, 15.0 s at layout pk_two; DuckDB goes without whole (…).`"""
    found = asked_figures(analysis)
    said = (
        [one for engine in engines(analysis) for one in engine_said(analysis, engine, found)] if found else []
    )
    return f"{'. '.join(said)}." if said else ""


def engine_said(analysis: Analysis, engine: str, figures: Sequence[str]) -> list[str]:
    points = points_of(analysis, engine)
    said = []
    for figure in figures:
        broken = {p: v for p in points for _, v in analysis.broken(figure, p)}
        cells = [
            (place(analysis, p), text)
            for p in points
            if p not in broken and (text := cell(analysis, p, figure))
        ]
        each = ", ".join(f"{text} at {at}" if at else text for at, text in cells[:MOST_SAID])
        if len(cells) > MOST_SAID:
            each += f" and {counted(len(cells) - MOST_SAID, 'more point')}"
        if len(cells) > min(MOST_SAID, max(2, MOST_VALUES // len(figures))):
            each = least_to_most(analysis, [p for p in points if p not in broken], figure) or each
        each = ", ".join(filter(None, [each, invalid_said(analysis, broken)]))
        said += [f"{name(figure)} {each}"] if each else []
    lacks = [f"{title(engine)} goes without {what}" for what in goes_without(analysis, engine, figures)]
    return [*([f"{title(engine)}: {'; '.join(said)}"] if said else []), *lacks]


def invalid_said(analysis: Analysis, broken: Mapping[Point, Verdict]) -> str:
    """`INVALID at layout pk (client on time)`: in a sentence no value stands in its place."""
    if not broken:
        return ""
    places = [at for p in broken if (at := place(analysis, p))]
    where = places[0] if len(places) == 1 else f"{len(places)} points" if places else ""
    guards = ", ".join(dict.fromkeys(v.guard for v in broken.values()))
    return f"INVALID{f' at {where}' if where else ''} ({guards})"


def least_to_most(analysis: Analysis, points: Sequence[Point], figure: str) -> str:
    """`1.00 calls/send (depth 1) to 535 calls/send (depth 1,024)`, of many points; `1.00 calls/send at all 3 points` where no
    difference is shown; empty for a figure of many steps."""
    values = {p: v for p in points if (v := value_of(analysis, p, figure)) is not None}
    if not values:
        return ""
    ends = [choose(values, key=lambda p: values[p]) for choose in (min, max)]
    low, high = (cell(analysis, p, figure) for p in ends)
    if low == high:
        which = (
            f"all {len(values)} points"
            if len(values) == len(points)
            else f"the {len(values)} points that have it"
        )
        at = which if len(values) > 1 else place(analysis, ends[0])
        return f"{low} at {at}" if at else low
    return " to ".join(f"{text} ({place(analysis, p)})" for text, p in zip((low, high), ends, strict=True))


def goes_without(analysis: Analysis, engine: str, figures: Sequence[str]) -> list[str]:
    """`whole and parts: it keeps rows in the order in which they came`: steps that it leaves out, by reason."""
    reasons: dict[str, list[str]] = {}
    for m in analysis.runs:
        if m.run.engine != engine:
            continue
        for step, reason in m.run.labels.get("steps_left_out", {}).items():
            if any(fnmatchcase(step, figure.rsplit(".", 1)[0]) for figure in figures):
                steps = reasons.setdefault(str(reason), [])
                steps += [] if step in steps else [step]
    return [f"{listed(few(steps))}: {reason}" for reason, steps in reasons.items()]


def few(steps: Sequence[str]) -> list[str]:
    return [*steps] if len(steps) <= MOST_SAID else [*steps[:MOST_SAID], f"{len(steps) - MOST_SAID} more"]


def points_of(analysis: Analysis, engine: str) -> list[Point]:
    """Those that count, in the order of the factors' values, whatever the runs' was."""
    counted = {m.point for m in analysis.runs if m.counts and m.run.engine == engine}
    return [point for point in analysis.points if point in counted]


def place(analysis: Analysis, point: Point) -> str:
    """`layout pk`: what varies beside the engine."""
    return ", ".join(value_said(k, v) for k, v in point if k in analysis.factors and k != "engine")


def value_of(analysis: Analysis, point: Point, figure: str) -> float | None:
    """As the table of engines has it: a percentile is that of all calls of all runs. None: not measured, or too few calls."""
    if has_too_few(analysis, point, figure):
        return None
    merged = merged_s(analysis, point, figure)
    of = analysis.values(figure).get(point)
    return merged if merged is not None else centre(of) if of is not None else None


def cell(analysis: Analysis, point: Point, figure: str) -> str:
    """What was measured there; of many steps `0 in all 54`, or the smallest and the largest. Empty: nothing."""
    names = dict.fromkeys(f for m in analysis.runs if m.point == point for f in m.figures)
    values = {
        f: centre(of)
        for f in names
        if fnmatchcase(f, figure) and (of := analysis.values(f).get(point)) is not None
    }
    if not values:
        return ""
    sound = {f: v for f, v in values.items() if not analysis.broken(f, point)}
    invalid = len(values) - len(sound)
    runs = [m.figures for m in analysis.runs if m.counts and m.point == point]
    if "*" not in figure:
        value = value_of(analysis, point, figure)
        if value is None:
            return NO_VALUE
        own = merged_s(analysis, point, figure) is None
        return figure_said(figure, value, runs, own) + (" INVALID" if invalid else "")
    if not sound:
        return f"INVALID in all {len(values)}"
    low, high = (choose(sound, key=lambda f: sound[f]) for choose in (min, max))
    marked = f" (INVALID in {invalid} of them)" if invalid else ""
    least, most = (figure_said(f, values[f], runs) for f in (low, high))
    if least == most:
        every = f"{len(sound)} of {len(values)}" if invalid else f"all {len(values)}"
        return f"{least} in {every}{marked}"
    ends = (f"{text} ({f.rsplit('.', 1)[0]})" for text, f in ((least, low), (most, high)))
    return f"{' to '.join(ends)}, of {len(values)}{marked}"


def figure_said(figure: str, value: float, runs: Sequence[Mapping[str, float]], own: bool = True) -> str:
    """own: the value is made of those of the runs, and not of all their calls."""
    few = largest_said(figure, runs) if own else ""
    return shown_value(value, show(value, figure), few, without_value(figure, runs))
