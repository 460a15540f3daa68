"""Time against how much there is to do and against how many do it. Pure."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from inrush.model.fits import fit_sum

FloatArray = NDArray[np.float64]


@dataclass(frozen=True)
class Proportion:
    """Seconds for x units of work: a fixed cost, and one for each unit."""

    fixed_s: float
    per_unit_s: float

    def at(self, x: ArrayLike) -> FloatArray:
        return np.asarray(self.fixed_s + self.per_unit_s * np.asarray(x, np.float64))


def fit_proportion(x: ArrayLike, time_s: ArrayLike, weights: ArrayLike | None = None) -> Proportion:
    """x: volumes, shape (k,); time_s: seconds for each."""
    x = np.asarray(x, np.float64)
    found = fit_sum(np.stack([np.ones_like(x), x], axis=1), time_s, weights)
    return Proportion(float(found[0]), float(found[1]))


@dataclass(frozen=True)
class Ernest:
    """Seconds of a job on m machines: t = a + b scale/m + c ln m + d m.

    Fixed and serial work, work that is shared out, a tree of messages, work that grows with every machine.
    Source: Venkataraman et al., Ernest: efficient performance prediction for large-scale advanced analytics, NSDI 2016.
    """

    fixed_s: float
    shared_s: float
    tree_s: float
    each_s: float

    def at(self, machines: ArrayLike, scale: ArrayLike = 1.0) -> FloatArray:
        columns = _ernest(np.asarray(machines, np.float64), np.asarray(scale, np.float64))
        return np.asarray(columns @ np.array([self.fixed_s, self.shared_s, self.tree_s, self.each_s]))


def fit_ernest(
    machines: ArrayLike, time_s: ArrayLike, scale: ArrayLike = 1.0, weights: ArrayLike | None = None
) -> Ernest:
    """machines, time_s, scale: shape (k,); scale: share of the full data, 1 for all of it."""
    columns = _ernest(np.asarray(machines, np.float64), np.asarray(scale, np.float64))
    return Ernest(*(float(c) for c in fit_sum(columns, time_s, weights)))


def _ernest(m: FloatArray, scale: FloatArray) -> FloatArray:
    return np.stack([np.ones_like(m), scale / m, np.log(m), m], axis=-1)
