"""How sure a prediction is: noise of runs, doubt about parameters, and what earlier predictions got wrong. Pure.

Doubt about parameters is found by fitting again what might as well have been measured (parametric bootstrap). That
covers too little, because the model itself is wrong: the errors of predictions that were frozen, run and scored say
how wrong (split conformal). Until there are enough of those, the width is doubled and the interval says so.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from inrush.stats import tails

FloatArray = NDArray[np.float64]

LEVEL = 0.9
#: Databases differ by about this much from run to run (sd of logs): what is assumed before two runs can be
#: compared, with the weight of so many comparisons.
USUAL_SPREAD, USUAL_WEIGHT = 0.03, 4
UNCALIBRATED_FACTOR = 2.0
DRAWS = 200
#: Bins of how far beyond the largest load a prediction goes; errors of one bin say nothing of another.
REACHES = (1.0, 2.0, 4.0, 8.0, float("inf"))


@dataclass(frozen=True)
class Spread:
    """sd of the log of one run's figure, and how much is known about it."""

    sd: float
    df: float

    def quantile(self, level: float) -> float:
        return tails.t_quantile(0.5 + level / 2, self.df)


def spread(squares: float, df: int) -> Spread:
    """From a sum of squared log deviations with df degrees of freedom, drawn towards what is usual."""
    known = USUAL_WEIGHT * USUAL_SPREAD**2 + max(0.0, squares)
    return Spread(float(np.sqrt(known / (USUAL_WEIGHT + df))), USUAL_WEIGHT + df)


def parameter_spread(
    refit: Callable[[FloatArray], FloatArray], log_y: FloatArray, sd: ArrayLike, seed: int = 1
) -> FloatArray:
    """sd of the log of each prediction when what it was fitted to varies by `sd`.

    refit: values fitted to, shape (k,) -> predictions, shape (p,). Draws that a law cannot be fitted to
    (not finite) are left out.
    """
    rng = np.random.default_rng(seed)
    noise = rng.normal(0.0, 1.0, (DRAWS, len(log_y))) * np.asarray(sd, np.float64)
    drawn = np.array([refit(np.exp(log_y + e)) for e in noise])
    with np.errstate(divide="ignore", invalid="ignore"):
        logs = np.log(drawn)
    kept = logs[np.isfinite(logs).all(axis=1)]
    return np.asarray(kept.std(axis=0, ddof=1)) if len(kept) > 1 else np.zeros(drawn.shape[1])


@dataclass(frozen=True)
class Scored:
    """What a frozen prediction turned out to be: all that calibration needs of it."""

    #: Target load over the largest load that was trained on.
    reach: float
    #: |ln(observed / predicted)|
    error: float


def reach_bin(reach: float) -> int:
    return next(i for i, limit in enumerate(REACHES) if reach <= limit * (1 + 1e-9))


def conformal_half_width(archive: Sequence[Scored], reach: float, level: float = LEVEL) -> float | None:
    """Half-width on logs that holds `level` of the past errors of the same reach; None with too few of them.

    The k-th smallest of n errors, k = ceil((n + 1) level): exact for exchangeable errors, whatever their law.
    Nine are needed for 90 %, nineteen for 95 %.
    Source: Lei et al., Distribution-free predictive inference for regression, JASA 2018.
    """
    errors = sorted(s.error for s in archive if reach_bin(s.reach) == reach_bin(reach))
    k = int(np.ceil((len(errors) + 1) * level - 1e-9))
    return errors[k - 1] if 0 < k <= len(errors) else None


@dataclass(frozen=True)
class Width:
    """Half-width on logs."""

    half: float
    calibrated: bool


def width(
    parameters_sd: float,
    run: Spread,
    runs: float,
    archive: Sequence[Scored],
    reach: float,
    level: float = LEVEL,
) -> Width:
    """runs: how many runs the figure that is predicted will be the mean of."""
    learnt = conformal_half_width(archive, reach, level)
    if learnt is not None:
        return Width(learnt, True)
    own = run.quantile(level) * float(np.hypot(parameters_sd, run.sd / np.sqrt(max(1.0, runs))))
    return Width(UNCALIBRATED_FACTOR * own, False)
