"""What an extraction costs by the size of its table, and an input byte by the size of its file. Pure.

Sizes in bytes, rows and pages; times in seconds.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from inrush.model.fits import fit_sum

FloatArray = NDArray[np.float64]


@dataclass(frozen=True)
class Recovery:
    """How a rate that should only fall came back."""

    #: Smoothed rate at the start, at its lowest, and the highest after that.
    start: float
    low: float
    after: float
    refuted: bool


def out_of_memory_refuted(rate: ArrayLike, spread: float = 0.05) -> Recovery:
    """Whether a series of rates, in the order of a growing table, cannot be a B-tree leaving memory.

    Such a rate only falls. One that falls and comes back by more than half of its fall (and by more than three times
    `spread`, the sd of its log) has another reason: look at what a unit of work was. rate: shape (n,), n >= 8.
    """
    x = np.asarray(rate, np.float64)
    if len(x) < 8:
        return Recovery(float(x[0]), float(x.min()), float(x[-1]), False)
    smooth = np.array([np.median(x[max(0, i - 1) : i + 2]) for i in range(len(x))])
    # The last interval of a load is cut short: it is no rate.
    smooth = smooth[:-1]
    lowest = int(np.argmin(smooth))
    start, low, after = float(smooth[: lowest + 1].max()), float(smooth[lowest]), float(smooth[lowest:].max())
    fall, rise = np.log(start / low), np.log(after / low)
    return Recovery(start, low, after, bool(rise > 0.5 * fall and rise > 3 * spread and fall > 3 * spread))


@dataclass(frozen=True)
class Extraction:
    """Time to read one series out of a table: rows lie together (stored by key) or a page each (stored by time)."""

    per_row_s: float
    page_read_s: float
    row_bytes: float
    page_bytes: float = 8_192
    #: Wanted rows on a page that has any: rows_per_page where stored by key.
    wanted_per_page: float = 1.0
    cache_bytes: float = float("inf")

    def pages(self, rows: ArrayLike) -> FloatArray:
        return np.asarray(np.asarray(rows, np.float64) / self.wanted_per_page)

    def at(self, rows: ArrayLike, cold: bool) -> FloatArray:
        """Seconds. A warm scan of more pages than the cache holds reads them all again (LRU keeps the wrong ones)."""
        rows = np.asarray(rows, np.float64)
        fits = self.pages(rows) * self.page_bytes <= self.cache_bytes
        read = self.pages(rows) * self.page_read_s
        return np.asarray(self.per_row_s * rows + (read if cold else np.where(fits, 0.0, read)))


def fit_extraction(
    rows: float,
    cold_s: float,
    warm_s: float,
    row_bytes: float,
    page_bytes: float,
    wanted_per_page: float,
    cache_bytes: float,
) -> Extraction:
    """From one small extraction, cold and warm: the warm one is the price of rows, the difference that of pages."""
    return Extraction(
        warm_s / rows, max(0.0, cold_s - warm_s) * wanted_per_page / rows, row_bytes, page_bytes, wanted_per_page, cache_bytes
    )  # fmt: skip


@dataclass(frozen=True)
class UnitCost:
    """Seconds for a byte of input where files differ in size: a cost of the byte, and one that grows with its file."""

    per_byte_s: float
    per_file_byte_s: float

    def byte_s(self, file_bytes: ArrayLike) -> FloatArray:
        return np.asarray(self.per_byte_s + self.per_file_byte_s * np.asarray(file_bytes, np.float64))

    def files_per_s(self, file_bytes: ArrayLike) -> FloatArray:
        return np.asarray(1 / (self.byte_s(file_bytes) * np.asarray(file_bytes, np.float64)))


def fit_unit_cost(file_bytes: Sequence[float], bytes_per_s: Sequence[float]) -> UnitCost:
    """From intervals of a load: mean size of its files and the rate of input. Errors in seconds a byte."""
    size, byte_s = np.asarray(file_bytes, np.float64), 1 / np.asarray(bytes_per_s, np.float64)
    found = fit_sum(np.stack([np.ones_like(size), size], axis=1), byte_s, weights=byte_s**2)
    return UnitCost(float(found[0]), float(found[1]))
