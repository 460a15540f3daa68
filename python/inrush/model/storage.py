"""How the seconds of a load grow with the rows: a B-tree that outgrows its memory, and merges of sorted parts. Pure.

    L(n) = max(1, n / k)                       leaves after n rows
    u(n) = L (1 - (1 - 1/L)^b) / b             distinct leaves that a row of a batch touches, keys in random order
    h(n) = max(0, 1 - n0 / n)                  share of touched leaves that are not in memory, n0 = k C / P
    T(n) = a + c n + w U(n) + r R(n)           U, R: integrals of u and of h u from 0 to n

    n   rows                             the factor of the study
    b   rows of a batch                  the plan
    k   rows of a leaf                   page / bytes of a row on disk: sizes of the same runs; larger where a table
                                         has more than the tree: chosen by the fit among LEAF_SHARES
    P   bytes of a page                  the engine's settings, recorded by the run
    C   bytes of memory for pages        the engine's settings; with the kernel's cache unless the engine goes round it
    a   s, fixed                         fitted, as c, w and r
    c   s for a row                      CPU
    w   s for a changed leaf             a page written, and its log
    r   s for a leaf read again          beyond the kernel's cache that of the device, from the probe

Merges: T(n) = a + c n + g n log2(1 + n / b). A row is written once for each doubling of the part it lies in; g: s for a
row and a level. Source: the distinct leaves of a batch are balls in bins (Kuszmaul, Tokutek, 2008); Luo & Carey, On
performance stability in LSM-based storage systems, PVLDB 13, 2019, for the levels.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

FloatArray = NDArray[np.float64]
#: Rows of a leaf, over page / bytes of a row: a table that is itself the tree (1) up to a narrow index beside it.
LEAF_SHARES = (1.0, 1.5, 2.0, 3.0, 4.5, 6.0)
#: Points of an integral: its kink at n0 costs less than 1e-4.
STEPS = 512


@dataclass(frozen=True)
class Tree:
    """What is known of a B-tree and of the memory that holds its leaves before it is loaded."""

    rows_per_leaf: float
    batch_rows: float
    #: Leaves that a next row can go into, at most: rows by time go to the end of their series in an index by series.
    tails: float = float("inf")

    def leaves(self, rows: ArrayLike) -> FloatArray:
        """Those that a next row can go into."""
        return np.clip(np.asarray(rows, np.float64) / self.rows_per_leaf, 1.0, max(1.0, self.tails))

    def knee_rows(self, cache_bytes: float, page_bytes: float) -> float:
        """Rows from which the leaves no longer fit: the cost of a row grows from here on, and never falls again. Infinite
        where the cache holds every leaf that a row can go into."""
        pages = cache_bytes / page_bytes
        return pages * self.rows_per_leaf if pages < self.tails else float("inf")

    def touched(self, rows: ArrayLike) -> FloatArray:
        """Distinct leaves for a row of a batch in random order."""
        leaves, b = self.leaves(rows), max(1.0, self.batch_rows)
        # log1p(-1) of one leaf is -inf, and its share all of it: expm1(-inf) is -1.
        with np.errstate(divide="ignore"):
            return np.asarray(-leaves * np.expm1(b * np.log1p(-1 / leaves)) / b)

    def written(self, rows: ArrayLike) -> FloatArray:
        """U: leaves changed by all batches of a load of so many rows."""
        return self._total(rows, float("inf"))

    def read(self, rows: ArrayLike, knee_rows: float) -> FloatArray:
        """R: leaves that a load of so many rows has to read again."""
        return self.written(rows) - self._total(rows, knee_rows)

    def _total(self, rows: ArrayLike, knee_rows: float) -> FloatArray:
        """Integral of the touched leaves that are in memory."""
        n = np.atleast_1d(np.asarray(rows, np.float64))[:, None]
        at = n * (np.arange(STEPS) + 0.5) / STEPS
        held = np.minimum(1.0, knee_rows / self.rows_per_leaf / self.leaves(at))
        return np.asarray((self.touched(at) * held).mean(axis=1) * n[:, 0])


def merged(rows: ArrayLike, part_rows: float) -> FloatArray:
    """Rows written again by merges: n log2(1 + n / b), for parts that begin with a batch of b rows."""
    n = np.asarray(rows, np.float64)
    return np.asarray(n * np.log2(1 + n / part_rows))
