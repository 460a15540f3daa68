"""How good a claim was: never one number alone. Pure.

Errors are ln(observed / predicted), so that half and double are the same distance. The interval score rewards narrow
intervals that hold, and skill is what the model adds to saying something simple.
Source: Gneiting & Raftery, Strictly proper scoring rules, JASA 2007 (interval score).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass

import numpy as np

from inrush.model.intervals import Scored
from inrush.stats import stats


@dataclass(frozen=True)
class Score:
    observed: float
    log_error: float
    #: |observed - predicted| / observed
    error: float
    inside: bool
    interval_score: float
    #: Whether the first full resource was named right; None where none was claimed or seen.
    bottleneck_hit: bool | None
    #: Baseline -> 1 - |error| / |its error|: 1 perfect, 0 no better, negative worse.
    skill: Mapping[str, float]

    def document(self) -> dict[str, object]:
        return asdict(self)


def score(
    observed: float,
    median: float,
    lo: float,
    hi: float,
    level: float,
    baselines: Mapping[str, float],
    claimed: str | None = None,
    seen: str | None = None,
) -> Score:
    """claimed, seen: names of the first full resource, predicted and observed."""
    e = float(np.log(observed / median))
    return Score(
        observed,
        e,
        abs(observed - median) / observed,
        lo <= observed <= hi,
        interval_score(observed, lo, hi, level),
        None if claimed is None or seen is None else claimed == seen,
        {name: skill(e, float(np.log(observed / value))) for name, value in baselines.items() if value > 0},
    )


def interval_score(observed: float, lo: float, hi: float, level: float) -> float:
    """On logs: width, and 2 / (1 - level) times what lies outside. Small is good."""
    low, high, y = np.log([lo, hi, observed])
    return float((high - low) + 2 / (1 - level) * (max(0.0, low - y) + max(0.0, y - high)))


def skill(error: float, of_baseline: float) -> float:
    """1 - |e| / |e_b|; a baseline without error is matched only by none."""
    if of_baseline == 0:
        return 0.0 if error == 0 else float("-inf")
    return 1 - abs(error) / abs(of_baseline)


@dataclass(frozen=True)
class Board:
    """Scores together."""

    n: int
    median_error: float
    p90_error: float
    coverage: stats.Interval
    bottlenecks: stats.Interval | None
    #: Baseline -> median of skills, and of how many.
    skill: Mapping[str, tuple[float, int]]


def board(scores: Sequence[Score]) -> Board | None:
    """None without scores. The 90th percentile is the smallest error that nine of ten do not exceed."""
    if not scores:
        return None
    errors = np.sort([s.error for s in scores])
    named = [s.bottleneck_hit for s in scores if s.bottleneck_hit is not None]
    baselines = dict.fromkeys(b for s in scores for b in s.skill)
    return Board(
        len(scores),
        float(np.median(errors)),
        float(errors[int(np.ceil(0.9 * len(errors))) - 1]),
        stats.wilson(sum(s.inside for s in scores), len(scores)),
        stats.wilson(sum(named), len(named)) if named else None,
        {
            b: (float(np.median(of)), len(of))
            for b in baselines
            for of in [[s.skill[b] for s in scores if b in s.skill]]
        },
    )


def scored(log_error: float, reach: float) -> Scored:
    """What calibration remembers of a score."""
    return Scored(reach, abs(log_error))
