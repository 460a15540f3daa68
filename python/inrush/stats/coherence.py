"""Do two equally spaced series swing together at one period? Pure.

The squared coherence of K stretches of two independent series exceeds c with probability (1 − c)^(K − 1): also where one
of them is a pure sine, since then the other one's phases are still random.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from inrush.stats.periods import FloatArray, level

#: Periods in a stretch, and the fewest and most stretches: of few, chance alone looks coherent.
PERIODS_EACH, FEWEST, MOST = 2, 4, 16


@dataclass(frozen=True)
class Coherence:
    #: Squared: the share of one's swing that the other's explains.
    share: float
    p: float
    #: By how much of a turn the second series lags the first, −π … π.
    phase: float

    @property
    def opposed(self) -> bool:
        """Whether one is low while the other is high."""
        return float(np.cos(self.phase)) < 0


def coherence(x: FloatArray, y: FloatArray, cycles: float) -> Coherence | None:
    """At a sine of so many cycles in the series; None where one of the two does not move, or they are too short."""
    stretches = int(min(MOST, max(FEWEST, cycles // PERIODS_EACH)))
    length = len(x) // stretches
    if length < 4 or len(x) != len(y):
        return None
    fx, fy = lines(x, cycles / len(x), stretches, length), lines(y, cycles / len(x), stretches, length)
    power = float((np.abs(fx) ** 2).sum() * (np.abs(fy) ** 2).sum())
    if power <= 0 or y.std() <= 1e-9 * max(1e-300, abs(float(y.mean()))):
        return None
    cross = complex((fx * np.conj(fy)).sum())
    share = min(1.0, abs(cross) ** 2 / power)
    return Coherence(share, (1 - share) ** (stretches - 1), float(np.angle(cross)))


def lines(series: FloatArray, frequency: float, stretches: int, length: int) -> FloatArray:
    """Fourier sum of each stretch at one frequency, each without its mean and trend."""
    held = level(series[: stretches * length].reshape(stretches, length)) * np.hanning(length + 2)[1:-1]
    # One clock for all stretches: what keeps its phase over them adds up.
    clock = np.arange(stretches * length).reshape(stretches, length)
    found: FloatArray = (held * np.exp(-2j * np.pi * frequency * clock)).sum(axis=1)
    return found
