"""Time series of one run: warm-up, effective size, growth of the unit of work, waves. Pure.

A series is one figure per interval, in time order, equally spaced.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from inrush.stats import tails

FloatArray = NDArray[np.float64]

#: A shift or trend smaller than this is not worth a word, however significant.
NEGLIGIBLE = 0.02
#: Half the swing over the mean, below which a period is not called a wave.
WAVE_AMPLITUDE = 0.03
#: Longest series that is looked at value by value for waves.
MOST_VALUES = 4096


@dataclass(frozen=True)
class Cut:
    """Intervals to discard at the start; `valid` says whether the rest can be called steady."""

    intervals: int
    valid: bool


def mser5(values: ArrayLike, batch: int = 5) -> Cut:
    """Where the warm-up ends: the cut that minimises the squared standard error of what remains.

    values: shape (m,), one per interval; means of `batch` are compared. Not valid when the cut lies
    in the second half: the run is too short. Source: White, Cobb & Spratt, WSC 2000.
    """
    x = np.asarray(values, np.float64)
    n = len(x) // batch
    if n < 6:
        return Cut(0, False)
    y = x[: n * batch].reshape(n, batch).mean(axis=1)
    y = y - y.mean()
    left = n - np.arange(n)
    sums, squares = np.cumsum(y[::-1])[::-1], np.cumsum((y * y)[::-1])[::-1]
    error = np.maximum(squares - sums**2 / left, 0.0) / left**2.0
    d = int(np.argmin(error[: n - 5]))
    return Cut(d * batch, d <= n / 2)


@dataclass(frozen=True)
class WarmUp:
    """flat, warm-up (starts slower), slowdown (starts faster), or no steady state."""

    kind: str
    cut: int
    #: Mean before the cut over mean after it; 1 without a cut.
    head_to_tail: float


def warm_up(values: ArrayLike) -> WarmUp:
    """Class of a throughput series after Barrett et al. (OOPSLA 2017), with MSER-5 in place of change points."""
    x = np.asarray(values, np.float64)
    cut = mser5(x)
    tail = x[cut.intervals :]
    mean = float(tail.mean()) if len(tail) else float("nan")
    ratio = float(x[: cut.intervals].mean() / mean) if cut.intervals and mean else 1.0
    slope, p = newey_west_slope(tail)
    trend = slope * (len(tail) - 1) / mean if mean else 0.0
    if not cut.valid or (p < 0.01 and abs(trend) > 5 * NEGLIGIBLE):
        kind = "no steady state"
    elif cut.intervals == 0 or abs(ratio - 1) < NEGLIGIBLE:
        kind = "flat"
    else:
        kind = "warm-up" if ratio < 1 else "slowdown"
    return WarmUp(kind, cut.intervals, ratio)


def newey_west_slope(values: ArrayLike) -> tuple[float, float]:
    """Slope of a least-squares line per interval and its two-sided p, robust to autocorrelation.

    Bartlett weights up to lag floor(4 (n / 100)^(2/9)). (nan, 1.0) for fewer than four values.
    """
    y = np.asarray(values, np.float64)
    n = len(y)
    if n < 4:
        return float("nan"), 1.0
    t = np.arange(n) - (n - 1) / 2
    slope = float(t @ y / (t @ t))
    u = t * (y - y.mean() - slope * t)
    lags = int(4 * (n / 100) ** (2 / 9))
    long = float(u @ u + 2 * sum((1 - k / (lags + 1)) * (u[k:] @ u[:-k]) for k in range(1, lags + 1)))
    if long <= 0:
        return slope, 0.0 if slope else 1.0
    error = np.sqrt(long * n / (n - 2)) / (t @ t)
    return slope, 2 * tails.t_above(float(abs(slope) / error), n - 2)


@dataclass(frozen=True)
class Wave:
    """Strongest period in a series that a red-noise background does not explain."""

    period: float  # in intervals
    #: Half the swing over the mean of the series.
    amplitude: float
    p: float

    @property
    def found(self) -> bool:
        return self.p < 0.01 and self.amplitude >= WAVE_AMPLITUDE


def wave(values: ArrayLike, surrogates: int = 400, seed: int = 1) -> Wave | None:
    """Tests a throughput series for waves against AR(1) noise of its own colour.

    The p-value comes from seeded AR(1) surrogates: tests against white noise (Fisher's g) call more
    than half of ordinary autocorrelated series waves. Where already the analytic p, which is too small,
    or the amplitude rules a wave out, that p is given and no surrogate is drawn. Series longer than
    MOST_VALUES are averaged down to it: waves of a few intervals are then not seen.
    None for fewer than 128 values.
    """
    x = np.asarray(values, np.float64)
    step = -(-len(x) // MOST_VALUES)
    x = x[: len(x) // max(1, step) * step].reshape(-1, max(1, step)).mean(axis=1) if step > 1 else x
    n = len(x)
    if n < 128 or x.mean() <= 0:
        return None
    t = np.arange(n) - (n - 1) / 2
    level = x.mean()
    y = x - level - t * (t @ x) / (t @ t)
    if y.std() <= 1e-9 * level:
        return None
    q, at, phi = _peak(y)
    amplitude = 2 * float(abs(np.fft.rfft(y)[at])) / n / level
    p = float(-np.expm1((n // 2 - 1) * np.log1p(-np.exp(-q))))
    if p <= 0.05 and amplitude >= WAVE_AMPLITUDE:
        noise = np.random.default_rng(seed).standard_normal((surrogates, n + 100))
        for i in range(1, n + 100):
            noise[:, i] += phi * noise[:, i - 1]
        p = (1 + sum(_peak(row[100:] - row[100:].mean())[0] >= q for row in noise)) / (1 + surrogates)
    return Wave(n / at * step, amplitude, p)


def _peak(y: FloatArray) -> tuple[float, int, float]:
    """(largest power over the fitted AR(1) background, its index, phi), frequencies from 3 per series."""
    from scipy import optimize  # takes longer to import than most reports to write, and few ask for waves

    n = len(y)
    power = np.abs(np.fft.rfft(y)[1:-1]) ** 2 / n
    omega = 2 * np.pi * np.arange(1, len(power) + 1) / n

    def background(phi: float) -> FloatArray:
        shape: FloatArray = 1 / (1 + phi**2 - 2 * phi * np.cos(omega))
        scaled: FloatArray = shape * float(np.median(power / shape)) / np.log(2)
        return scaled

    def misfit(phi: float) -> float:  # Whittle, with peaks weighted down
        s = background(phi)
        return float(np.sum(np.log(s) + np.minimum(power / s, 6.0)))

    phi = float(
        optimize.minimize_scalar(misfit, bounds=(-0.5, 0.98), method="bounded", options={"xatol": 1e-2}).x
    )
    ratio = power / background(phi)
    ratio[:2] = 0.0
    at = int(np.argmax(ratio))
    return float(ratio[at]), at + 1, phi
