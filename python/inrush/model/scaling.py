"""Rate against what it is scaled with: workers, nodes, clients, rows in a batch. Pure.

    rate(N) = lambda N / (1 + alpha (N - 1) + beta N (N - 1))

alpha: contention, the share of work that only one can do (beta = 0: Amdahl); beta: coherency, what every process sends
to all others. Its inverse is a sum of 1/N, 1 and N, so that a non-negative fit needs no starting point. A batch of b
rows that costs a + b d seconds has the same form: rate(b) = 1 / (a/b + d).
Source: Gunther, Guerrilla Capacity Planning, 2007, chapter 4.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from inrush.model.fits import fit_sum

FloatArray = NDArray[np.float64]
#: A batch is large enough where it reaches this share of the asymptote.
BATCH_SHARE = 0.95


@dataclass(frozen=True)
class Usl:
    """The universal scalability law; Amdahl's where beta is 0, proportion where alpha is as well."""

    one_per_s: float
    alpha: float
    beta: float

    def at(self, n: ArrayLike) -> FloatArray:
        n = np.asarray(n, np.float64)
        return np.asarray(self.one_per_s * n / (1 + self.alpha * (n - 1) + self.beta * n * (n - 1)))

    @property
    def peak_n(self) -> float:
        """Where more workers begin to cost; inf without coherency."""
        if self.beta <= 0:
            return float("inf")
        return float(np.sqrt(max(0.0, 1 - self.alpha) / self.beta))

    @property
    def limit_per_s(self) -> float:
        """Most that any number of workers reaches; inf where nothing contends."""
        if self.peak_n < 1:
            return self.one_per_s
        # At the peak N/rate is 2 sqrt((1 - alpha) beta) + alpha - beta, which stays exact where N overflows.
        lost = 2 * float(np.sqrt(max(0.0, 1 - self.alpha) * self.beta)) + self.alpha - self.beta
        return self.one_per_s / lost if lost > 0 else float("inf")


def fit_usl(n: ArrayLike, rate: ArrayLike, coherency: bool = True, weights: ArrayLike | None = None) -> Usl:
    """alpha, beta >= 0, relative errors. coherency=False: Amdahl's law.

    n: shape (k,), positive; rate: shape (k,), positive. Two distinct n fix Amdahl's law, three the USL.
    """
    n = np.asarray(n, np.float64)
    columns = [1 / n, np.ones_like(n), n] if coherency else [1 / n, np.ones_like(n)]
    parts = fit_sum(np.stack(columns, axis=1), 1 / np.asarray(rate, np.float64), weights)
    a, b, c = (*parts, 0.0)[:3]
    return Usl(1 / (a + b + c), (b + c) / (a + b + c), c / (a + b + c))


@dataclass(frozen=True)
class BatchCost:
    """Seconds that a batch costs: a fixed part and a part for each row."""

    per_batch_s: float
    per_row_s: float

    def at(self, rows: ArrayLike) -> FloatArray:
        """Rows a second in batches of `rows`."""
        return np.asarray(1 / (self.per_batch_s / np.asarray(rows, np.float64) + self.per_row_s))

    @property
    def limit_per_s(self) -> float:
        return 1 / self.per_row_s if self.per_row_s > 0 else float("inf")

    @property
    def best_rows(self) -> float:
        """Smallest batch with 95 % of the asymptote: 19 a / d; inf where no asymptote is in sight."""
        if self.per_row_s <= 0:
            return float("inf")
        return BATCH_SHARE / (1 - BATCH_SHARE) * self.per_batch_s / self.per_row_s


def fit_batch(rows: ArrayLike, rate: ArrayLike, weights: ArrayLike | None = None) -> BatchCost:
    """rows: batch sizes, shape (k,); rate: rows a second at each."""
    b = np.asarray(rows, np.float64)
    found = fit_sum(np.stack([1 / b, np.ones_like(b)], axis=1), 1 / np.asarray(rate, np.float64), weights)
    return BatchCost(float(found[0]), float(found[1]))
