"""Exact throughput of a closed network by convolution: stable where multi-server MVA is not. Pure.

A station with demand D and capacity m serves j units at rate min(j, m) / D. With f(j) = D^j / prod min(i, m),
g the convolution of all f, X(n) = g(n - 1) / g(n). Every term is positive, so nothing cancels; logs keep it in range.
Source: Buzen, Computational algorithms for closed queueing networks with exponential servers, CACM 1973.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln, logsumexp

FloatArray = NDArray[np.float64]
#: Sums below exp of this stay in range; beyond it they are kept as logs, which is slower.
SAFE_LOG = 650.0


@dataclass(frozen=True)
class Station:
    """One queue. Pooled servers (cores) are one station of capacity m; partitions (shards) are a station each."""

    demand_s: float
    #: Servers, a real number: 1.3 for a core with two threads.
    capacity: float = 1.0


def partitioned(demand_s: float, parts: int, weights: Sequence[float] | None = None) -> list[Station]:
    """A resource that keys are hashed over: a part cannot help its neighbour. weights: share of each; even without."""
    shares = [1 / parts] * parts if weights is None else [w / sum(weights) for w in weights]
    return [Station(demand_s * share) for share in shares]


def throughputs(stations: Sequence[Station], most: int, think_s: float = 0.0) -> FloatArray:
    """Units a second with 0, 1, … most units in flight; shape (most + 1,), the first 0."""
    demanding = [s for s in stations if s.demand_s > 0]
    if not demanding:
        raise ValueError("a network needs a station that demands something")
    # In units of the slowest station's time all factors but those of many servers are at most 1.
    unit = max(s.demand_s / s.capacity for s in demanding)
    factors = [_log_f(s.demand_s / unit, s.capacity, most) for s in demanding]
    if think_s / unit > 0:
        j = np.arange(most + 1, dtype=np.float64)
        factors.append(j * np.log(think_s / unit) - gammaln(j + 1))
    x = np.zeros(most + 1)
    if sum(float(f.max()) for f in factors) < SAFE_LOG:
        g = np.exp(factors[0])
        for f in factors[1:]:
            g = np.convolve(g, np.exp(f))[: most + 1]
        x[1:] = g[:-1] / g[1:]
    else:
        log_g = factors[0]
        for f in factors[1:]:
            log_g = _convolved(log_g, f)
        x[1:] = np.exp(log_g[:-1] - log_g[1:])
    return x / unit


def throughput(stations: Sequence[Station], in_flight: float, think_s: float = 0.0) -> float:
    """Units a second with a real number of units in flight, linear between whole ones."""
    return at_population(throughputs(stations, max(1, int(np.ceil(in_flight))), think_s), in_flight)


def at_population(x: FloatArray, in_flight: float) -> float:
    return float(np.interp(in_flight, np.arange(len(x)), x))


def in_flight_for(x: FloatArray, wanted_per_s: float) -> float:
    """Units in flight that give a throughput; inf where the table `x` of `throughputs` never reaches it."""
    if wanted_per_s > x[-1]:
        return float("inf")
    # The table rises; equal neighbours at the plateau are distinguished by the first of them.
    above = int(np.searchsorted(x, wanted_per_s, side="left"))
    if above == 0:
        return 0.0
    below = x[above - 1]
    return above - 1 + float((wanted_per_s - below) / (x[above] - below))


def _log_f(demand: float, capacity: float, most: int) -> FloatArray:
    rates = np.minimum(np.arange(1, most + 1), capacity)
    return np.concatenate([[0.0], np.cumsum(np.log(demand) - np.log(rates))])


def _convolved(a: FloatArray, b: FloatArray) -> FloatArray:
    return np.array([logsumexp(a[: n + 1] + b[n::-1]) for n in range(len(a))])
