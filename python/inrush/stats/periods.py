"""Spectra of equally spaced series over the red noise (AR(1)) that fits them best. Pure.

Series are the rows of a matrix, so that many surrogates cost little more than one.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import ArrayLike, NDArray

FloatArray = NDArray[np.float64]

#: Frequencies looked at for each one that a series of this length distinguishes: between two of them a sine loses 60 %.
FINE = 4
#: Lags looked at between two values of an autocorrelation.
BETWEEN = 8
#: A period must come so often: noise of long memory looks like one that comes two or three times.
LEAST_PERIODS = 8
#: Of a series, so that a line in its spectrum does not pass for noise.
CAPPED = 6.0
#: Values of phi that are tried; noise of longer memory is a trend.
MEMORIES = np.concatenate(
    [np.arange(-0.5, 0.7, 0.05), np.arange(0.7, 0.9, 0.03), np.arange(0.9, 0.985, 0.02)]
)
#: Values before a surrogate begins, in which it forgets its first one.
FORGOTTEN = 100


@dataclass(frozen=True)
class Spectra:
    """One row a series: power over the background, at cycles per series."""

    cycles: FloatArray
    power: FloatArray
    background: FloatArray
    phi: FloatArray

    @property
    def ratio(self) -> FloatArray:
        found: FloatArray = self.power / self.background
        return found

    @property
    def eligible(self) -> NDArray[np.bool_]:
        """Cycles that come often enough to be a period."""
        found: NDArray[np.bool_] = self.cycles >= LEAST_PERIODS
        return found

    def peaks(self) -> tuple[FloatArray, FloatArray]:
        """(largest ratio, its cycles) of each series."""
        held = np.where(self.eligible, self.ratio, 0.0)
        at = held.argmax(axis=1)
        return held[np.arange(len(held)), at], self.cycles[at]


def spectra(series: FloatArray) -> Spectra:
    """Of rows without mean and trend.

    The noise is fitted by Whittle's likelihood over a grid of phi. Terms are capped, so that a wave does not pass for
    noise, and its level is the median's.
    """
    count, n = series.shape
    cycles, shapes, fine_shapes, natural = grid(n)
    power = np.abs(np.fft.rfft(series, n * FINE, axis=1)) ** 2 / n
    fine = power[:, 1 : len(cycles) + 1]
    plain = power[:, natural]
    best, phi, level = np.full(count, np.inf), np.zeros(count, np.int64), np.ones(count)
    for i, shape in enumerate(shapes):
        over = plain / shape
        scale = np.maximum(np.median(over, axis=1) / np.log(2), 1e-300)
        capped = np.minimum(over / scale[:, None], CAPPED).sum(axis=1)
        misfit = np.log(shape).sum() + len(natural) * np.log(scale) + capped
        better = misfit < best
        best[better], phi[better], level[better] = misfit[better], i, scale[better]
    return Spectra(cycles, fine, fine_shapes[phi] * level[:, None], MEMORIES[phi])


@lru_cache(maxsize=4)
def grid(n: int) -> tuple[FloatArray, FloatArray, FloatArray, NDArray[np.int64]]:
    """(fine cycles, shape of the noise by phi at those distinguished, at all of them, places of those distinguished)."""
    natural = np.arange(1, (n - 1) // 2 + 1)
    cycles = np.arange(1, (n * FINE - 1) // 2 + 1) / FINE
    return cycles, shapes_at(natural / n), shapes_at(cycles / n), natural * FINE


def shapes_at(frequency: FloatArray) -> FloatArray:
    memory = MEMORIES[:, None]
    found: FloatArray = 1 / (1 + memory**2 - 2 * memory * np.cos(2 * np.pi * frequency))
    return found


def red_noise(rng: np.random.Generator, count: int, n: int, phi: float) -> FloatArray:
    """So many series of AR(1) noise, as rows without mean and trend."""
    noise = rng.standard_normal((n + FORGOTTEN, count))
    for i in range(1, n + FORGOTTEN):
        noise[i] += phi * noise[i - 1]
    return level(noise[FORGOTTEN:].T)


def level(series: ArrayLike) -> FloatArray:
    """Rows without their mean and their straight line."""
    x = np.atleast_2d(np.asarray(series, np.float64))
    t = np.arange(x.shape[1]) - (x.shape[1] - 1) / 2
    found: FloatArray = x - x.mean(axis=1, keepdims=True) - np.outer(x @ t / (t @ t), t)
    return found


def autocorrelation(series: FloatArray, most: int) -> FloatArray:
    """Of one series without mean, at lags 0 … most in steps of 1 / BETWEEN: a period seldom is a whole number of values."""
    n = len(series)
    power = np.abs(np.fft.rfft(series, 2 * n)) ** 2
    held = np.fft.irfft(power, 2 * n * BETWEEN)[: most * BETWEEN + 1]
    found: FloatArray = held / held[0]
    return found


def amplitude_at(series: FloatArray, cycles: float) -> float:
    """Half the swing of the sine of so many cycles that fits one series best."""
    n = len(series)
    angle = 2 * np.pi * cycles * np.arange(n) / n
    basis = np.column_stack([np.cos(angle), np.sin(angle)])
    fit = np.linalg.lstsq(basis, series, rcond=None)[0]
    return float(np.hypot(*fit))
