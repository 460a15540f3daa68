"""Loads of files with known costs, as models and reports take them."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from inrush.model.decomposition import Units, units

FloatArray = NDArray[np.float64]
ROW_BYTES = 26.0


def hump(n: int, times: float = 8.0) -> FloatArray:
    """Sizes of files in bytes that grow to so many times, and shrink again, as those of the original do."""
    x = (np.arange(n) + 0.5) / n
    return 1.2e6 * (1 + (times - 1) * np.exp(-(((x - 0.62) / 0.1) ** 2)))


def load(
    sizes: FloatArray,
    *,
    byte_s: float = 7e-8,
    file_s: float = 0.0,
    file_byte_s: float = 0.0,
    place_s: float = 0.0,
    table_s: Callable[[FloatArray], FloatArray] = np.zeros_like,
    places: FloatArray | None = None,
    noise: float = 0.1,
    seed: int = 1,
) -> Units:
    """table_s: seconds a byte that a table of so many rows adds; noise: sd of the logs of times."""
    rows = sizes / ROW_BYTES
    before = np.cumsum(rows) - rows / 2
    seconds = file_s + sizes * (byte_s + file_byte_s * sizes + table_s(before))
    if places is not None:
        seconds = seconds + place_s * places
    drawn = np.exp(noise * np.random.default_rng(seed).normal(size=len(sizes)))
    return units(seconds * drawn, sizes, before, rows, places)


def wandering(n: int, rho: float, seed: int) -> FloatArray:
    """AR(1) of sd 1."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=n + 60)
    for i in range(1, n + 60):
        x[i] = rho * x[i - 1] + np.sqrt(1 - rho**2) * x[i]
    return x[60:]
