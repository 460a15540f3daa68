"""Percentiles of a point: of the merged histograms of its runs, or of all their samples together. Never averaged. Pure."""

from __future__ import annotations

from collections.abc import Iterable

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


def sample_quantile_s(analysis: Analysis, point: Point, role: str, q: float) -> float | None:
    """Due until stored, over every sample of every counted run; infinite where it reaches a sample that never was stored.

    None where the role writes no samples, or too few for one beyond the percentile.
    """
    values = analysis.sample_times.get((point, role))
    if values is None or len(values) <= (wanted := rank(q, len(values))):
        return None
    return float(values[wanted - 1])


def merged_s(analysis: Analysis, point: Point, figure: str) -> float | None:
    """`writers.sample_p99_s`, `readers.latency_p99_s`: the percentile that a figure names, over all runs of a point."""
    role, metric = figure.rsplit(".", 1)
    kind, _, name = metric.removesuffix("_s").rpartition("_")
    q = {**FALLBACK, "p999": 0.999}.get(name)
    if q is None or kind not in MERGED:
        return None
    return MERGED[kind](analysis, point, role, q)


def has_too_few(analysis: Analysis, point: Point, figure: str) -> bool:
    """Whether a figure is a percentile that a point has calls of, and not one beyond it."""
    role, metric = figure.rsplit(".", 1)
    kind, _, name = metric.removesuffix("_s").rpartition("_")
    if kind not in MERGED or name not in (*FALLBACK, "p999"):
        return False
    return merged_s(analysis, point, figure) is None and MERGED[kind](analysis, point, role, 0.0) is not None


#: Kind of a percentile -> how runs are merged for it; of others only the runs' own are known.
MERGED = {"latency": quantile_s, "sample": sample_quantile_s}


def percentile_of(analysis: Analysis, points: Iterable[Point], role: str, kind: str) -> str | None:
    """The highest of `FALLBACK` that every point with this role has calls enough for, as a figure; None where none has."""
    held = list(points)
    for name, q in FALLBACK.items():
        found = [MERGED[kind](analysis, point, role, q) for point in held]
        some = [MERGED[kind](analysis, point, role, 0.0) for point in held]
        if any(v is not None for v in found) and all(
            v is not None or s is None for v, s in zip(found, some, strict=True)
        ):
            return f"{role}.{kind}_{name}_s"
    return None
