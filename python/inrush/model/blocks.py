"""Least squares of costs that are none of them negative, from sums over blocks of neighbours; and each cost's share of R². Pure.

Sources: Lindeman, Merenda & Gold, Introduction to bivariate and multivariate analysis, 1980, for the shares; Künsch, The
jackknife and the bootstrap for general stationary observations, Annals of Statistics 17, 1989, for the blocks.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from math import factorial

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import nnls

FloatArray = NDArray[np.float64]
DRAWS = 300


@dataclass(frozen=True)
class Sums:
    """All that least squares need of any number of files."""

    gram: FloatArray
    with_y: FloatArray
    y2: float
    y1: float
    weight: float

    def fit(self, used: Sequence[int]) -> FloatArray:
        """Costs of all columns, those that are not used 0."""
        size = np.sqrt(np.diag(self.gram))
        at = [c for c in used if size[c] > 0]
        scaled = self.gram[np.ix_(at, at)] / np.outer(size[at], size[at])
        values, vectors = np.linalg.eigh(scaled)
        root = np.sqrt(np.clip(values, 1e-13, None))
        # The square root of the sums has the least squares of the files themselves.
        found, _ = nnls((vectors * root).T, (vectors / root).T @ (self.with_y[at] / size[at]))
        cost = np.zeros(len(size))
        cost[at] = found / size[at]
        return cost

    def r2(self, used: Sequence[int]) -> float:
        cost = self.fit(used)
        left = self.y2 - 2 * cost @ self.with_y + cost @ self.gram @ cost
        of_all = self.y2 - self.y1**2 / self.weight
        return float(np.clip(1 - left / of_all, 0.0, 1.0)) if of_all > 1e-12 * self.y2 else 0.0

    def shares(self, groups: Sequence[Sequence[int]]) -> tuple[list[float], list[float], float]:
        """Share of each group of columns, what each adds to all others, and R² of all; the first column is in every fit."""
        k = len(groups)
        of: dict[frozenset[int], float] = {
            frozenset(s): self.r2([0, *(column for g in s for column in groups[g])]) if s else 0.0
            for size in range(k + 1)
            for s in combinations(range(k), size)
        }
        found = [
            sum(
                factorial(len(s)) * factorial(k - 1 - len(s)) / factorial(k) * (of[s | {g}] - of[s])
                for s in of
                if g not in s
            )
            for g in range(k)
        ]
        every = frozenset(range(k))
        return found, [of[every] - of[every - {g}] for g in range(k)], of[every]


class Blocks:
    """Sums over blocks of neighbours."""

    def __init__(self, x: FloatArray, y: FloatArray, weights: FloatArray) -> None:
        n = len(y)
        starts = np.arange(0, n, max(1, round(n ** (1 / 3))))
        w = weights[:, None]
        self.gram = np.add.reduceat(x[:, :, None] * x[:, None, :] * w[:, :, None], starts)
        self.with_y = np.add.reduceat(x * y[:, None] * w, starts)
        self.y = np.add.reduceat(np.stack([y**2, y, np.ones(n)], axis=1) * w, starts)

    def total(self, times: FloatArray | None = None) -> Sums:
        """times: how often each block counts; once."""
        t = np.ones(len(self.y)) if times is None else times
        y2, y1, weight = t @ self.y
        gram = np.tensordot(t, self.gram, axes=1)
        return Sums(np.asarray(gram), np.asarray(t @ self.with_y), float(y2), float(y1), float(weight))

    def drawn(self, groups: Sequence[Sequence[int]], seed: int) -> FloatArray:
        """Shape (DRAWS, parts + 1): shares and R² of as many blocks, drawn with replacement."""
        rng, n = np.random.default_rng(seed), len(self.y)
        found = []
        for _ in range(DRAWS):
            times = np.bincount(rng.integers(0, n, n), minlength=n).astype(np.float64)
            shares, _, r2 = self.total(times).shares(groups)
            found.append([*shares, r2])
        return np.array(found)
