"""How the demand of an insert or a scan changes with the size of what is stored. Pure.

Sizes in bytes, rows and pages; times in seconds. A fill of ln 2 is that of a B-tree after random inserts.
Source: the analysis of random inserts as balls into bins (Kuszmaul, Tokutek, 2008); Luo & Carey, On performance
stability in LSM-based storage systems, PVLDB 13, 2019, for what an LSM tree sustains.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from inrush.model.fits import fit_sum

FloatArray = NDArray[np.float64]
RANDOM_FILL = float(np.log(2))
SEQUENTIAL_FILL = 15 / 16


@dataclass(frozen=True)
class BTree:
    """One index: what an insert costs once its leaves no longer fit the memory that holds them."""

    row_bytes: float
    cpu_s: float
    #: Bytes of memory for leaves: the engine's buffers and, unless it goes round it, the kernel's cache.
    cache_bytes: float
    read_s: float
    write_s: float
    page_bytes: float = 16_384
    fill: float = RANDOM_FILL
    #: Writes that the device takes at a time, and the pages written for one changed (2 with a double-write buffer).
    queue: float = 1.0
    copies: float = 1.0
    #: Rows between two checkpoints: a page dirtied twice in between is written once.
    window_rows: float = 1e6
    #: Rows of a sorted batch; rows of one leaf share its read.
    batch_rows: float = 1.0
    sequential: bool = False

    def leaves(self, rows: ArrayLike) -> FloatArray:
        return np.asarray(np.asarray(rows, np.float64) * self.row_bytes / (self.page_bytes * self.fill))

    @property
    def knee_rows(self) -> float:
        """Rows at which the leaves fill the cache: from here on the rate falls, and never recovers."""
        return self.cache_bytes * self.fill / self.row_bytes

    def misses(self, rows: ArrayLike) -> FloatArray:
        """Share of leaf touches that read: uniform keys, LRU."""
        held = self.cache_bytes / self.page_bytes
        return np.maximum(0.0, 1 - held / np.maximum(self.leaves(rows), 1e-9))

    def reads_per_row(self, rows: ArrayLike) -> FloatArray:
        return np.asarray(self.misses(rows) * self._distinct(rows))

    def writes_per_row(self, rows: ArrayLike) -> FloatArray:
        """Evicted dirty pages, or pages dirtied in a checkpoint window, whichever is more."""
        m = np.maximum(self._spread_over(rows), 1e-9)
        dirtied = m * -np.expm1(-self.window_rows / m) / self.window_rows
        evicted = self.misses(rows) * self._distinct(rows)
        return np.asarray(self.copies * np.maximum(evicted, dirtied))

    def rate_per_s(self, rows: ArrayLike) -> FloatArray:
        """Rows a second of one connection when `rows` are stored."""
        seconds = (
            self.cpu_s
            + self.reads_per_row(rows) * self.read_s
            + self.writes_per_row(rows) * self.write_s / self.queue
        )
        return np.asarray(1 / seconds)

    def load_s(self, rows: float, steps: int = 2000) -> float:
        """Seconds to load that many rows into an empty table: the integral of 1 / rate."""
        n = np.linspace(rows / steps / 2, rows * (1 - 0.5 / steps), steps)
        return float((rows / steps / self.rate_per_s(n)).sum())

    def _distinct(self, rows: ArrayLike) -> FloatArray:
        """Distinct leaves that a row of a batch touches: L (1 - (1 - 1/L)^b) / b."""
        leaves = np.maximum(self._spread_over(rows), 1.0)
        b = self.batch_rows
        return np.asarray(-leaves * np.expm1(b * np.log1p(-1 / np.maximum(leaves, 1 + 1e-9))) / b)

    def _spread_over(self, rows: ArrayLike) -> FloatArray:
        if self.sequential:
            return np.full_like(
                np.asarray(rows, np.float64), self.batch_rows * self.row_bytes / (self.page_bytes * self.fill)
            )
        return self.leaves(rows)


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
class Lsm:
    """A log-structured merge tree, or parts that are merged: what it sustains, not what its buffer takes."""

    row_bytes: float
    cpu_s: float
    write_bytes_per_s: float
    memtable_bytes: float
    ratio: float = 10.0
    leveled: bool = True

    def levels(self, rows: float) -> int:
        size = rows * self.row_bytes / self.memtable_bytes
        return max(1, int(np.ceil(np.log(max(size, 1.0)) / np.log(self.ratio) - 1e-9)))

    def write_amplification(self, rows: float) -> tuple[float, float]:
        """(least, most): log, flush, and a merge for every level."""
        deep = self.levels(rows)
        if not self.leveled:
            return 2.0 + deep, 2.0 + deep
        return 2.0 + deep * self.ratio / 2, 2.0 + deep * self.ratio

    def sustained_per_s(self, rows: float) -> tuple[float, float]:
        """Rows a second (least, most) for as long as one likes."""
        few, many = self.write_amplification(rows)
        limit = 1 / self.cpu_s if self.cpu_s > 0 else float("inf")
        per_s = self.write_bytes_per_s / self.row_bytes
        return min(per_s / many, limit), min(per_s / few, limit)

    @property
    def longest_burst_bytes(self) -> float:
        """A load shorter than this measures the buffer: three memtables for each of the first level's parts."""
        return 3 * self.memtable_bytes * self.ratio


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
