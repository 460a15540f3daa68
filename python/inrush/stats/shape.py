"""Is a curve stepped, and which sample varies more? Named tests with a stated size; their trials are in the tests. Pure.

`steps`: time over volume, some runs at each volume. A straight line with spread in proportion to the time is fitted by
weighted least squares and held against the means at each volume (lack of fit, F-test). *Stepped* needs more than a
bent line: a flat stretch, over which the time grows by less than a quarter of what the line says, and a jump of
more than 1.75 times.

`spreads`: which of several engines varies more from run to run: Brown and Forsythe's test on logarithms, about the
median of each point, one point's smallest deviation left out where its number of runs is odd (it is 0 by construction).
Source: Draper & Smith, Applied Regression Analysis, chapter 2; Brown & Forsythe, JASA 69, 1974; Hines & Hines, 2000.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from inrush.stats import tails

FLAT, JUMP = 0.25, 1.75
ALPHA = 0.05


@dataclass(frozen=True)
class Steps:
    #: Of "a straight line describes the curve".
    p: float
    #: Growth over each stretch between two volumes, over what the line says.
    growth: tuple[float, ...]

    @property
    def word(self) -> str:
        """`straight`, `bent` or `stepped`."""
        if self.p >= ALPHA:
            return "straight"
        return "stepped" if min(self.growth) < FLAT and max(self.growth) > JUMP else "bent"


def steps(times: Mapping[float, Sequence[float]]) -> Steps | None:
    """times: volume -> time of each run, s. None below four volumes, or where no volume ran twice."""
    volumes = sorted(times)
    runs = sum(len(times[v]) for v in volumes)
    if len(volumes) < 4 or runs <= len(volumes):
        return None
    x = np.concatenate([np.full(len(times[v]), v) for v in volumes])
    y = np.concatenate([np.asarray(times[v], np.float64) for v in volumes])
    means = np.array([np.mean(times[v]) for v in volumes])
    per_run = np.repeat(means, [len(times[v]) for v in volumes])
    # Spread in proportion to the time: each value counts by 1 / mean.
    design = np.column_stack([np.ones_like(x), x]) / per_run[:, None]
    line, *_ = np.linalg.lstsq(design, y / per_run, rcond=None)
    fitted = line[0] + line[1] * x
    lack = float(np.sum(((per_run - fitted) / per_run) ** 2)) / (len(volumes) - 2)
    pure = float(np.sum(((y - per_run) / per_run) ** 2)) / (runs - len(volumes))
    expected = line[1] * np.diff(volumes)
    growth = tuple(float(g) for g in np.diff(means) / expected) if line[1] > 0 else ()
    if pure == 0 or not growth:
        return None
    return Steps(tails.f_above(lack / pure, len(volumes) - 2, runs - len(volumes)), growth)


@dataclass(frozen=True)
class Spreads:
    #: Of "all vary alike".
    p: float
    #: Engine -> standard deviation of the logarithm within its points, the greatest first.
    sd: Mapping[str, float]

    @property
    def differ(self) -> bool:
        return self.p < ALPHA


def spreads(values: Mapping[str, Sequence[Sequence[float]]]) -> Spreads | None:
    """values: engine -> its points -> figure of each run, positive. None for fewer than two engines with two runs a point."""
    deviations: dict[str, list[float]] = {}
    sd: dict[str, float] = {}
    for engine, points in values.items():
        logs = [np.log(np.asarray(p, np.float64)) for p in points if len(p) > 1]
        if not logs:
            continue
        deviations[engine] = [d for log in logs for d in about_the_median(log)]
        freedom = sum(len(log) - 1 for log in logs)
        sd[engine] = float(np.sqrt(sum(((log - log.mean()) ** 2).sum() for log in logs) / freedom))
    if len(deviations) < 2:
        return None
    groups = [np.array(d) for d in deviations.values()]
    n = sum(len(g) for g in groups)
    grand = float(np.concatenate(groups).mean())
    between = sum(len(g) * (g.mean() - grand) ** 2 for g in groups) / (len(groups) - 1)
    within = sum(((g - g.mean()) ** 2).sum() for g in groups) / (n - len(groups))
    p = tails.f_above(float(between / within), len(groups) - 1, n - len(groups)) if within > 0 else 1.0
    return Spreads(p, dict(sorted(sd.items(), key=lambda item: -item[1])))


def about_the_median(log: np.ndarray[tuple[int], np.dtype[np.float64]]) -> list[float]:
    found = sorted(abs(float(v)) for v in log - np.median(log))
    return found[1:] if len(found) % 2 else found
