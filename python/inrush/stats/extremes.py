"""Percentiles of so few calls that they are the maximum, and percentiles without a value. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from math import isfinite

from inrush.metrics import metric_of
from inrush.results.histogram import rank
from inrush.stats.measures import QUANTILES


def calls_of_largest(figure: str, figures: Mapping[str, float]) -> int | None:
    """Of how many calls (samples, rows) of a run a percentile is the largest; None where one lies above it, and of what is
    no percentile."""
    role, metric = figure.rsplit(".", 1)
    quantile = metric.removesuffix("_s").rpartition("_")[2]
    if not (counted_by := metric_of(metric).counted_by):
        return None
    n = int(sum(figures.get(f"{role}.{name}", 0.0) for name in counted_by))
    return n if n and rank(QUANTILES[quantile], n) == n else None


def largest_said(figure: str, runs: Iterable[Mapping[str, float]]) -> str:
    """`max of 41`: what a percentile of few calls is; of several runs `max of 39 to 41`. Empty where calls lie above it."""
    counts = sorted(n for figures in runs if (n := calls_of_largest(figure, figures)) is not None)
    if not counts:
        return ""
    return f"max of {counts[0]:,}" + (f" to {counts[-1]:,}" if counts[-1] != counts[0] else "")


def shown_value(value: float, shown: str, few: str, lacks: str) -> str:
    """`3.01 ms`, `3.01 ms (max of 41)`, or `unsent`. few: `largest_said`, but of what was merged; lacks: `without_value`."""
    if not isfinite(value):
        return lacks or shown
    return f"{shown} ({few})" if few else shown


def without_value(figure: str, runs: Iterable[Mapping[str, float]]) -> str:
    """Why a time has no end, of runs in which it has none: `unsent`, `refused`, `failed`, `never seen` or `never stored`."""
    role, metric = figure.rsplit(".", 1)
    held = [figures for figures in runs if not isfinite(figures.get(figure, 0.0))]

    def any_of(name: str) -> bool:
        return any(figures.get(f"{role}.{name}", 0.0) > 0 for figures in held)

    if metric.startswith("freshness_"):
        return "never seen"
    if metric.startswith(("sample_", "collect_", "queue_", "insert_")):
        return "never stored"
    errors = any(f.get(f"{role}.errors", 0.0) > f.get(f"{role}.refused", 0.0) for f in held)
    words = [
        word
        for word, there in (("failed", errors), ("refused", any_of("refused")), ("unsent", any_of("unsent")))
        if there
    ]
    return " and ".join(words) or "failed"


def why_without(figure: str, runs: Iterable[Mapping[str, float]]) -> str:
    """`1 of 41 calls was not sent`: the same in a sentence, of the first run that has no value."""
    role, metric = figure.rsplit(".", 1)
    figures = next((f for f in runs if not isfinite(f.get(figure, 0.0))), None)
    if figures is None:
        return "too many calls failed"

    def of(name: str) -> int:
        return int(figures.get(f"{role}.{name}", 0.0))

    if metric.startswith("freshness_"):
        return share(of("unseen"), of("freshness_n") + of("unseen"), "row", "never seen")
    if metric.startswith(("sample_", "collect_", "queue_", "insert_")):
        lost = round(of("samples") * (1 - figures.get(f"{role}.stored_share", 1.0)))
        return share(lost, of("samples"), "sample", "never stored")
    due, refused = of("ops") + of("unsent"), of("refused")
    each = [
        f"{of('errors') - refused:,} of {due:,} calls failed" if of("errors") > refused else "",
        share(refused, due, "call", "refused"),
        share(of("unsent"), due, "call", "not sent"),
    ]
    return " and ".join(filter(None, each)) or "too many calls failed"


def share(n: int, of: int, what: str, became: str) -> str:
    return f"{n:,} of {of:,} {what}{'s' * (of != 1)} {'was' if n == 1 else 'were'} {became}" if n else ""
