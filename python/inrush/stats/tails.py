"""Quantiles and tails of the distributions that the statistics need. Pure.

The functions below `scipy.stats`, without it: importing that takes longer than reporting a small study,
and asking one of its objects for a quantile a hundred times as long as the quantile.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import special


def t_quantile(p: float, df: float) -> float:
    """Of Student's t with `df` degrees of freedom: the value with probability p below it."""
    return float(special.stdtrit(df, p))


def t_above(t: float, df: float) -> float:
    """Probability that Student's t with `df` degrees of freedom exceeds t."""
    return float(special.stdtr(df, -t))


def f_above(f: float, df1: float, df2: float) -> float:
    """Probability that F with (df1, df2) degrees of freedom exceeds f."""
    return float(special.fdtrc(df1, df2, f))


def normal_quantile(p: float) -> float:
    """Of the standard normal distribution."""
    return float(special.ndtri(p))


def normal_below(z: float) -> float:
    """Probability that a standard normal value is below z."""
    return float(special.ndtr(z))


def binomial_at_most(hits: ArrayLike, n: int, q: float) -> NDArray[np.float64]:
    """Probability of at most `hits` (shape kept) in n independent trials of probability q."""
    found: Any = special.bdtr(np.asarray(hits, np.float64), n, q)
    return np.asarray(found, np.float64)
