"""Time series of one run: warm-up, effective size, growth of the unit of work, waves. Pure.

A series is one figure per interval, in time order, equally spaced.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import ArrayLike, NDArray

from inrush.stats import periods, tails
from inrush.stats.periods import LEAST_PERIODS

FloatArray = NDArray[np.float64]

#: A shift or trend smaller than this is not worth a word, however significant.
NEGLIGIBLE = 0.02
#: Half the swing over the mean, below which a period is not called a wave.
WAVE_AMPLITUDE = 0.03
#: Above this p no period of a run by itself is called a wave. Noise of long memory passes the test up to twice as often as it
#: says.
WAVE_P = 0.005
#: The same of a run that has its period in common with others: noise seldom has one period twice.
AGREED_P = 0.02
#: Two periods that differ by no more than this share are the same.
SAME_PERIOD = 0.2
#: Shortest series that is looked at for waves, and the longest that is looked at value by value.
LEAST_VALUES, MOST_VALUES = 128, 4096
SURROGATES_AT_ONCE = 250
#: Overtones of a pattern that may be its peak.
MOST_OVERTONES = 6
#: By how much its autocorrelation must be higher after the whole pattern: at least, and times 1 / sqrt(n), for noise alone
#: makes one of five lags so much higher.
OVERTONE_GAIN, OVERTONE_NOISE = 0.1, 4.0


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
        return self.p <= WAVE_P and self.amplitude >= WAVE_AMPLITUDE

    @property
    def likely(self) -> bool:
        """A wave, if other runs have one of the same period."""
        return self.p <= AGREED_P and self.amplitude >= WAVE_AMPLITUDE


def wave(values: ArrayLike, surrogates: int = 1000, seed: int = 1) -> Wave | None:
    """Tests a throughput series for waves against AR(1) noise of its own colour.

    The p-value comes from seeded AR(1) surrogates: tests against white noise (Fisher's g) call more
    than half of ordinary autocorrelated series waves. Where already the analytic p, which is too small,
    or the amplitude rules a wave out, that p is given and no surrogate is drawn. Series longer than
    MOST_VALUES are averaged down to it: waves of a few intervals are then not seen.
    None for fewer than LEAST_VALUES values.
    """
    return remembered(np.asarray(values, np.float64).tobytes(), surrogates, seed)


@lru_cache(maxsize=1024)
def remembered(values: bytes, surrogates: int, seed: int) -> Wave | None:
    """A run's series is judged by its guard, by those of its study, and for the report."""
    x, step = averaged(np.frombuffer(values))
    n = len(x)
    if n < LEAST_VALUES or x.mean() <= 0:
        return None
    mean = float(x.mean())
    y = periods.level(x)
    if y.std() <= 1e-9 * mean:
        return None
    spectrum = periods.spectra(y)
    (q,), (peak,) = spectrum.peaks()
    cycles = fundamental(y[0], float(peak))
    amplitude = periods.amplitude_at(y[0], float(peak)) / mean
    p = float(-np.expm1((n // 2 - LEAST_PERIODS) * np.log1p(-np.exp(-q))))
    if p <= 0.05 and amplitude >= WAVE_AMPLITUDE:
        p = surrogate_p(float(q), n, float(spectrum.phi[0]), surrogates, seed)
    return Wave(n / cycles * step, amplitude, p)


def averaged(values: ArrayLike) -> tuple[FloatArray, int]:
    """(the series, or means of `step` values where it is too long, step)."""
    x = np.asarray(values, np.float64)
    step = max(1, -(-len(x) // MOST_VALUES))
    return (x[: len(x) // step * step].reshape(-1, step).mean(axis=1) if step > 1 else x), step


def surrogate_p(q: float, n: int, phi: float, surrogates: int, seed: int) -> float:
    """Share of series of noise whose peak is as high; no more are drawn than a wave could need."""
    most, higher, drawn = int(AGREED_P * (1 + surrogates)), 0, 0
    while drawn < surrogates and higher <= most:
        count = min(SURROGATES_AT_ONCE, surrogates - drawn)
        higher += int((noise_peaks(n, phi, count, seed, drawn) >= q).sum())
        drawn += count
    return (1 + higher) / (1 + drawn)


@lru_cache(maxsize=512)
def noise_peaks(n: int, phi: float, count: int, seed: int, stream: int) -> FloatArray:
    """Highest peaks of so many series of noise. All series of a study with this length and memory are held against the same."""
    rng = np.random.default_rng((seed, stream))
    peaks, _ = periods.spectra(periods.red_noise(rng, count, n, phi)).peaks()
    return peaks


def fundamental(y: FloatArray, cycles: float) -> float:
    """Cycles of the whole pattern: of short dips an overtone may stand out most, and the pattern comes back later.

    y: without mean and trend. cycles: where the peak is.
    """
    n = len(y)
    lag = n / cycles
    most = int(min(n // LEAST_PERIODS, MOST_OVERTONES * lag)) + 1
    held = periods.autocorrelation(y, most)

    def at(times: int) -> float:
        near = round(lag * times * periods.BETWEEN)
        slack = int(lag * times * 0.05 * periods.BETWEEN)
        return float(held[near - slack : near + slack + 1].max(initial=-1.0))

    fits = [k for k in range(1, MOST_OVERTONES + 1) if lag * k <= n / LEAST_PERIODS]
    best = max(fits, key=at, default=1)
    gain = max(OVERTONE_GAIN, OVERTONE_NOISE / float(np.sqrt(n)))
    return cycles / best if best > 1 and at(best) > at(1) + gain else cycles


@dataclass(frozen=True)
class Spectrum:
    """What the test for waves looks at: power over the background by period, and the height that only a wave exceeds."""

    #: In intervals, descending; periods that come too seldom are left out.
    period: FloatArray
    ratio: FloatArray
    threshold: float


def spectrum(values: ArrayLike, surrogates: int = 1000, seed: int = 1) -> Spectrum | None:
    """None where `wave` is; the threshold is that of surrogates, as the p of a wave is."""
    if wave(values, surrogates, seed) is None:
        return None
    x, step = averaged(values)
    held = periods.spectra(periods.level(x))
    threshold = height(len(x), float(held.phi[0]), surrogates, seed)
    wanted = held.eligible
    return Spectrum(step * len(x) / held.cycles[wanted], held.ratio[0][wanted], threshold)


def height(n: int, phi: float, surrogates: int, seed: int) -> float:
    """Power over the background that only a wave exceeds."""
    drawn = range(0, surrogates, SURROGATES_AT_ONCE)
    counts = [min(SURROGATES_AT_ONCE, surrogates - at) for at in drawn]
    peaks = [noise_peaks(n, phi, count, seed, at) for at, count in zip(drawn, counts, strict=True)]
    return float(np.quantile(np.concatenate(peaks), 1 - WAVE_P))


def least_amplitude(values: ArrayLike, period: float, surrogates: int = 1000, seed: int = 1) -> float | None:
    """Amplitude of a sine of this period (in intervals) that would stand out of the noise of a series; None where none can."""
    if wave(values, surrogates, seed) is None:
        return None
    x, step = averaged(values)
    n = len(x)
    cycles = n * step / period
    if not LEAST_PERIODS <= cycles <= n / 2:
        return None
    held = periods.spectra(periods.level(x))
    background = float(np.interp(cycles, held.cycles, held.background[0]))
    # A sine of amplitude a has a power of a² n / 4 at its own frequency.
    power = height(n, float(held.phi[0]), surrogates, seed) * background
    return max(WAVE_AMPLITUDE, 2 * float(np.sqrt(power / n)) / float(x.mean()))
