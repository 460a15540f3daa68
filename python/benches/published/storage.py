"""What an extraction costs by the size of its table. Pure.

Sizes in bytes, rows and pages; times in seconds.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

FloatArray = NDArray[np.float64]


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
