"""Figures of points as words and intervals: what the parts of an answer are made of. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from math import isfinite
from statistics import median
from typing import Any

from inrush.analysis.points import Analysis, Point, say, within_whole
from inrush.metrics import metric_of
from inrush.stats import stats
from inrush.stats.extremes import without_value
from inrush.stats.quantity import LEAST_RUNS, says_nothing, show, show_bounds, show_interval


def say_bytes(along: str, value: Any) -> str:
    """`400 kB` of a size, without digits that say nothing: a factor's value is exact."""
    if not along.endswith("_bytes"):
        return plain(value)
    number, unit = show(float(value), "x.bytes").split(" ")
    return f"{number.rstrip('0').rstrip('.') if '.' in number else number} {unit}"


def ends(by_value: Mapping[Any, Any]) -> tuple[Any, Any]:
    found = ordered(by_value)
    return found[0], found[-1]


def ordered(values: Any) -> list[Any]:
    found = list(values)
    return sorted(found) if all(isinstance(v, int | float) for v in found) else found


def ratio_of(a: Mapping[int, float], b: Mapping[int, float]) -> stats.Interval | None:
    """Paired by block; None for fewer than two shared blocks, and where a figure is 0: nothing is so many times that."""
    shared = sorted(set(a) & set(b))
    if len(shared) < 2 or not all(
        a[k] > 0 and b[k] > 0 and isfinite(a[k]) and isfinite(b[k]) for k in shared
    ):
        return None
    return stats.paired_ratio([a[k] for k in shared], [b[k] for k in shared])


def interval_of(of: Mapping[int, float]) -> stats.Interval | None:
    """None for one run, and where a run's figure is 0 (a share of samples in time) or failed: a geometric mean has no place
    for either."""
    whole = len(of) > 1 and all(v > 0 and isfinite(v) for v in of.values())
    return stats.log_t(list(of.values())) if whole else None


def own_interval(figure: str, of: Mapping[int, float]) -> stats.Interval | None:
    """That of the figure itself, and of no ratio: of a share it ends at 1."""
    interval = interval_of(of)
    return interval and within_whole(figure, interval)


def centre(of: Mapping[int, float]) -> float:
    """What a figure is over runs, wherever one number stands for them: the geometric mean, which intervals are of; the
    median where a run's figure is 0 or failed."""
    interval = interval_of(of)
    return interval.value if interval is not None else median(of.values())


def shown(analysis: Analysis, of: Mapping[int, float], figure: str) -> str:
    return shown_runs(of, figure, lacks(analysis, figure, of))


def shown_runs(of: Mapping[int, float], figure: str, lacks: str) -> str:
    """lacks: why it has no value in some runs, as `without_value` says it."""
    interval = own_interval(figure, of)
    if interval is not None and not says_nothing(interval):
        return show_interval(interval, figure)
    if len(of) == 1 and isfinite(alone := next(iter(of.values()))):
        return f"{show(alone, figure)} (one run)"
    if failed := sum(not isfinite(v) for v in of.values()):
        return f"{lacks} in {failed} of {len(of)} run{'s' * (len(of) != 1)}"
    low, high = show(min(of.values()), figure), show(max(of.values()), figure)
    what = f"{len(of)} runs" if interval is not None else f"median of {len(of)} runs"
    return f"{show(centre(of), figure)} ({what}, {low} to {high})"


def lacks(analysis: Analysis, figure: str, of: Mapping[int, float]) -> str:
    """Why a point with these values has none in some runs: `unsent`."""
    if all(map(isfinite, of.values())):
        return ""
    points = {
        p for held in (analysis.values(figure), analysis.fresh(figure)) for p, v in held.items() if v == of
    }
    return without_value(figure, [m.figures for m in analysis.runs if m.point in points])


def times(ratio: stats.Interval) -> str:
    value, low, high = (f"{v:.2f}" if v < 100 else f"{v:,.0f}" for v in (ratio.value, ratio.low, ratio.high))
    return f"{value}× {show_bounds(ratio) if says_nothing(ratio) else f'[{low}, {high}]'}"


def few(a: Mapping[int, float], b: Mapping[int, float]) -> bool:
    """Whether two points share too few runs for a test to distinguish them."""
    return len(set(a) & set(b)) < LEAST_RUNS


def lie_apart(a: Mapping[int, float], b: Mapping[int, float]) -> bool:
    """Whether every run of one lies beyond all runs of the other; a single run of each says nothing."""
    return min(len(a), len(b)) > 1 and (
        min(a.values()) > max(b.values()) or max(a.values()) < min(b.values())
    )


def in_each(of: Mapping[int, float]) -> str:
    """What two points that lie apart show without a test: `in each of 2 runs`."""
    return f"in each of {len(of)} runs"


#: Why nothing more is said of them.
LEAST_SAID = f"{LEAST_RUNS} runs are the least for an interval"
TOO_FEW = "too few runs to distinguish"


def runs_needed(of: Mapping[int, float]) -> str:
    """`(2 of 3)`: the runs that there are, of those that are needed."""
    return f"({len(of)} of {LEAST_RUNS})"


def is_speed(figure: str) -> bool:
    return figure.endswith("_s") and not figure.endswith("failed_share")


def head(analysis: Analysis, group: Point) -> str:
    """`duckdb, readers 1: ` – what varies and the engine; what every point shares is said elsewhere."""
    group_name = say(tuple((k, v) for k, v in group if k in analysis.factors))
    return f"{group_name}: " if group_name else ""


def name(figure: str) -> str:
    """`writers.makespan_s` -> `makespan of writers`; percentiles keep their name."""
    role, metric = figure.rsplit(".", 1)
    said = metric_of(figure).said or metric.removesuffix("_s").replace("_", " ")
    return f"{said} of {role}"


def plain(value: Any) -> str:
    return f"{value:,}" if isinstance(value, int | float) and not isinstance(value, bool) else str(value)


NUMBERS = ("no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")


def all_of(n: int) -> str:
    return "Both" if n == 2 else f"All {NUMBERS[n] if n < len(NUMBERS) else n}"
