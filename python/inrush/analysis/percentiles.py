"""Percentiles of a point: of the merged histograms of its runs, or of all their samples together. Never averaged. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import NamedTuple

from inrush.analysis.points import Analysis, Point
from inrush.results.histogram import rank

#: Percentiles that a table falls back on, where the calls are too few for the one before.
FALLBACK = {"p99": 0.99, "p90": 0.9, "p50": 0.5}


def quantile_s(analysis: Analysis, point: Point, role: str, q: float) -> float | None:
    """Latency of a role's calls; infinite where it reaches a failed one.

    None where a point has no such role, or fewer calls than the percentile needs for one beyond it.
    """
    histogram = analysis.latencies.get((point, role))
    enough = histogram is not None and histogram.calls > rank(q, histogram.calls)
    return histogram.quantile_ns(q) / 1e9 if histogram is not None and enough else None


def calls_of(analysis: Analysis, point: Point, role: str) -> int:
    histogram = analysis.latencies.get((point, role))
    return 0 if histogram is None else histogram.calls


def sample_quantile_s(analysis: Analysis, point: Point, role: str, q: float) -> float | None:
    """Due until stored, over every sample of every counted run; infinite where it reaches a sample that never was stored.

    None where the role writes no samples, or too few for one beyond the percentile.
    """
    values = analysis.sample_times.get((point, role))
    if values is None or len(values) <= (wanted := rank(q, len(values))):
        return None
    return float(values[wanted - 1])


def samples_of(analysis: Analysis, point: Point, role: str) -> int:
    return len(analysis.sample_times.get((point, role), ()))


def merged_s(analysis: Analysis, point: Point, figure: str) -> float | None:
    """`writers.sample_p99_s`, `readers.latency_p99_s`: the percentile that a figure names, over all runs of a point."""
    role, metric = figure.rsplit(".", 1)
    kind, _, name = metric.removesuffix("_s").rpartition("_")
    q = {**FALLBACK, "p999": 0.999}.get(name)
    if q is None or kind not in MERGED:
        return None
    return MERGED[kind].quantile(analysis, point, role, q)


def has_too_few(analysis: Analysis, point: Point, figure: str) -> bool:
    """Whether a figure is a percentile that a point has calls of, and not one beyond it."""
    role, metric = figure.rsplit(".", 1)
    kind, _, name = metric.removesuffix("_s").rpartition("_")
    if kind not in MERGED or name not in (*FALLBACK, "p999"):
        return False
    return merged_s(analysis, point, figure) is None and MERGED[kind].size(analysis, point, role) > 0


class Merged(NamedTuple):
    quantile: Callable[[Analysis, Point, str, float], float | None]
    size: Callable[[Analysis, Point, str], int]


#: Kind of a percentile -> how runs are merged for it; of others only the runs' own are known.
MERGED = {
    "latency": Merged(quantile_s, calls_of),
    "sample": Merged(sample_quantile_s, samples_of),
}


def percentile_of(analysis: Analysis, points: Iterable[Point], role: str, kind: str) -> str | None:
    """The highest of `FALLBACK` that every point with this role has calls enough for, as a figure; None where none has."""
    held = list(points)
    for name, q in FALLBACK.items():
        enough = [MERGED[kind].quantile(analysis, p, role, q) is not None for p in held]
        some = [MERGED[kind].size(analysis, p, role) > 0 for p in held]
        if any(enough) and enough == some:
            return f"{role}.{kind}_{name}_s"
    return None
