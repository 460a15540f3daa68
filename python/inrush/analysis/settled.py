"""Which points compete for an answer, which of them is best, and what fresh repeats say of that. Pure."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from math import isfinite, log
from statistics import fmean
from typing import Any

from inrush.analysis.points import Analysis, Point, is_number, say, say_value
from inrush.metrics import lower_is_better
from inrush.stats import stats

#: Point -> block -> figure.
Values = dict[Point, dict[int, float]]


def ranked(of: Values, figure: str) -> list[tuple[Point, bool]]:
    """Points, best first, and whether each cannot be distinguished from the best."""
    keys = {say(p): p for p in of}
    whole = {say(p): v for p, v in of.items() if all(x > 0 and isfinite(x) for x in v.values())}
    found = stats.best_set(whole, lower_is_better(figure)) if whole else []
    # A point with a run in which the figure failed, or its rate was 0, is worse than every other; where all did, none is distinguished.
    return [(keys[c.key], c.in_set) for c in found] + [
        (p, not whole) for k, p in keys.items() if k not in whole
    ]


def like_the_best(of: Values, figure: str) -> list[Point]:
    """The best and all that cannot be distinguished from it: what every sentence and table calls better rests on this."""
    return [p for p, in_set in ranked(of, figure) if in_set]


@dataclass(frozen=True)
class Settled:
    """What is best, by the search and the fresh repeats after it."""

    best: Point
    #: Cannot be distinguished from the best.
    together: list[Point]
    #: Could not be distinguished from the best in the search, and are worse in the fresh repeats.
    settled: list[Point]
    looked_best: Point


def settled(of: Values, fresh: Values, figure: str) -> Settled:
    """The search leaves a set; fresh repeats of two or more of it decide between those by themselves.

    They were made after the choice, so that luck in the search favours none of them. A point of the set without
    fresh repeats stays in it.
    """
    found = ranked(of, figure)
    looked_best, contending = found[0][0], [p for p, in_set in found if in_set]
    again = {p: fresh[p] for p in contending if p in fresh}
    if looked_best not in again or len(again) < 2:
        return Settled(looked_best, [p for p in contending if p != looked_best], [], looked_best)
    decided = ranked(again, figure)
    in_set = dict(decided)
    # Of two that the fresh repeats cannot distinguish, the one that the search found keeps its place.
    best = looked_best if in_set[looked_best] else decided[0][0]
    return Settled(
        best,
        [p for p in contending if p != best and in_set.get(p, True)],
        [p for p in again if not in_set[p]],
        looked_best,
    )


def best_of_each(of: Values, along: str, figure: str) -> dict[Any, Point]:
    """Value of `along` -> its best point by the centre of its runs, the best value first."""
    sign = 1 if lower_is_better(figure) else -1
    # Where a run's figure is 0 or failed in one of them, a mean puts that point behind the others.
    whole = all(v > 0 and isfinite(v) for runs in of.values() for v in runs.values())
    level = {p: sign * (fmean(map(log, v.values())) if whole else fmean(v.values())) for p, v in of.items()}
    lasts: dict[Any, Point] = {}
    for point in sorted(of, key=lambda p: level[p]):
        lasts.setdefault(dict(point).get(along), point)
    return lasts


def run_once(points: Collection[Point], *values: Values) -> bool:
    """Whether all of these points have a single run: nothing shows then whether they differ."""
    return all(len(of.get(p, ())) <= 1 for p in points for of in values)


def beside(analysis: Analysis, point: Point, group: Point, along: str) -> str:
    """` with 4 writers`: what else varied and competed for the answer, at this point."""
    known = {along, *dict(group)}
    rest = [(k, v) for k, v in point if k in analysis.factors and k not in known]
    return f" with {', '.join(say_with(k, v) for k, v in rest)}" if rest else ""


def say_with(factor: str, value: Any) -> str:
    """`4 writers`, `batch_rows 1,000`: a number goes before what it counts."""
    counts = (
        isinstance(value, int) and not isinstance(value, bool) and factor.endswith("s") and "_" not in factor
    )
    return (
        f"{value:,} {factor.removesuffix('s') if value == 1 else factor}"
        if counts
        else say_value(factor, value)
    )


def apart(analysis: Analysis, found: Mapping[Point, Values], along: str) -> dict[Point, Values]:
    """Groups in which a value of `along` has several points, cut by whatever else varies: a curve goes through one each."""
    cut: dict[Point, Values] = {}
    for group, of in found.items():
        values = [dict(p).get(along) for p in of]
        names = [n for n in analysis.factors if n != along and n not in dict(group)]
        several = len(set(values)) < len(values)
        for point, measured in of.items():
            rest = tuple((n, dict(point)[n]) for n in names if n in dict(point)) if several else ()
            cut.setdefault((*group, *rest), {})[point] = measured
    return cut


def at_edge(
    analysis: Analysis, figure: str, along: str, group: Point, best: Point, of: Collection[Point]
) -> str:
    """`the largest value tried`: what is best at an edge of what was tried may be better beyond it.

    What a stop rule left out was not beyond what is known. A batch that holds all rows of a session has nothing beyond it.
    """
    value: Any = dict(best).get(along)
    held = dict(group)
    absent = [dict(a.point) for a in analysis.record.absent]
    tried = [dict(p).get(along) for p in of] + [
        p.get(along) for p in absent if all(p.get(k) == v for k, v in held.items())
    ]
    numbers: list[Any] = [v for v in tried if is_number(v)]
    if not is_number(value) or len(set(numbers)) < 2:
        return ""
    whole = along == "batch_rows" and one_call_each(analysis, figure, best)
    words = [
        *(["the largest value tried"] if value == max(numbers) else []),
        *(["the smallest value tried"] if value == min(numbers) and value > 1 else []),
        *(["all rows of a session in one call"] if whole else []),
    ]
    return ", ".join(words)


def one_call_each(analysis: Analysis, figure: str, point: Point) -> bool:
    role = figure.rsplit(".", 1)[0]
    found = [m.figures for m in analysis.runs if m.counts and m.point == point]
    return bool(found) and all(
        0 < f.get(f"{role}.ops", 0.0) <= f.get(f"{role}.repetitions", 0.0) * f.get(f"{role}.sessions", 0.0)
        for f in found
    )


def value_said(factor: str, value: Any) -> str:
    """`4 writers`, `layout pk_time`: a name alone would not say what it is of."""
    return f"{factor} {value}" if isinstance(value, str) else say_with(factor, value)


def headed(condition: Point, sentence: str) -> str:
    """What all of it was measured with, in front: `At port_data_counters, 0 readers, without sort: …`"""
    values = ", ".join(say_with(k, v) for k, v in condition if not isinstance(v, bool))
    switches = [f"with{'' if v else 'out'} {k}" for k, v in condition if isinstance(v, bool)]
    words = ", ".join([*([f"at {values}"] if values else []), *switches])
    return f"{words[0].upper()}{words[1:]}: {sentence}" if words else sentence
