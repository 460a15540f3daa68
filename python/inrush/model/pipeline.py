"""Throughput of n loads from a few small ones: a closed network with a population that the small loads calibrate. Pure.

One load (a writer, a pipeline) overlaps its stages, so it holds c units of work in flight, not one: c is what makes
the network give the throughput of one load. One that is slower than its demands waits for a resource that was not watched, and has
one unit in flight and that think time. Then with Q(n) = X(c n) of the network and H(n) the hard bound

    rate(n) = Q^theta H^(1 - theta)

theta near 0: a smooth pipeline, near 1: stages that queue as exponential ones do. Demands that grow with n (contention,
caches) are followed by a straight line; demands that fall with n hide what a resource does at any rate (a server's
background threads), which is taken from its capacity. What limits and is no resource that was watched (a lock, a single thread) is a
serial stage, found from what is missing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from inrush.model.network import Station, at_population, in_flight_for, partitioned, throughputs

FloatArray = NDArray[np.float64]
#: Beyond so many units in flight the network is at its bound, and the table of it too long.
MOST_IN_FLIGHT = 2048
#: Weight of "half and half" in theta. Below 0 it would promise more than the hard bound, which nothing exceeds.
THETA_WEIGHT, THETA_RANGE = 1e-3, (0.0, 1.5)
#: A serial stage is looked for where the largest small load stayed under way for this much longer than the model says,
#: and that by more than noise: so many standard errors of its
#: difference from the first load, whose throughput the model meets.
SERIAL_FROM, SERIAL_ERRORS = 0.05, 3.0
SERIAL = "serial stage"


@dataclass(frozen=True)
class Member:
    """One of those that loads are dealt out to in turn, with servers of its own; inf: not known to be ever full."""

    name: str
    capacity: float


@dataclass(frozen=True)
class Part:
    """A resource as the model sees it: one pool of servers, parts that keys are hashed over, or members that whole loads are
    dealt out to in turn."""

    name: str
    capacity: float = 1.0
    parts: int = 1
    weights: tuple[float, ...] | None = None
    #: In the order of their turns: the first load is the first one's.
    members: tuple[Member, ...] = ()

    def usable(self, n: float) -> float:
        """Servers that n loads keep busy when the fullest part, or member, is full: those of the others are of no use to it."""
        if self.members:
            return min(of.capacity * n / own for of, own in self.dealt(n) if own > 0)
        if self.parts == 1:
            return self.capacity
        return sum(self.weights) / max(self.weights) if self.weights else float(self.parts)

    def dealt(self, n: float) -> list[tuple[Member, float]]:
        """Members and their loads of n; what is beyond a whole number is of the member with the next turn."""
        rounds, more = divmod(n, len(self.members))
        return [(of, rounds + min(max(more - turn, 0.0), 1.0)) for turn, of in enumerate(self.members)]

    def fullest(self, n: float) -> Member | None:
        """The first that is full where n loads fill one; None where there are no members."""
        return max(self.dealt(n), key=lambda held: held[1] / held[0].capacity)[0] if self.members else None

    def stations(self, demand_s: float, n: float) -> list[Station]:
        if self.members:
            return [Station(demand_s * own / n, of.capacity) for of, own in self.dealt(n)]
        if self.parts == 1:
            return [Station(demand_s, self.capacity)]
        return partitioned(demand_s, self.parts, self.weights)


@dataclass(frozen=True)
class SmallLoad:
    """A small load that was measured: means over its runs."""

    n: float
    per_s: float
    #: Resource -> servers kept busy.
    busy: Mapping[str, float]
    runs: float = 1.0
    #: Standard error of the log of `per_s`; 0 where it is not known.
    error: float = 0.0


@dataclass(frozen=True)
class Pipeline:
    parts: tuple[Part, ...]
    #: Busy seconds per unit of work at the smallest load, in the order of `parts`, and growth per load more.
    demands_s: tuple[float, ...]
    drifts: tuple[float, ...]
    #: The smallest load and its throughput: the unit that n is counted in.
    unit_n: float
    unit_per_s: float
    serial_s: float = 0.0
    serial_drift: float = 0.0
    in_flight: float = float("inf")
    think_s: float = 0.0
    #: Of each unit of work, what a load is known to pause: no stage can be held for longer than the rest.
    pause_s: float = 0.0
    theta: float = 0.0

    def loads(self, n: float) -> float:
        return n / self.unit_n

    def demands_at(self, n: float) -> list[float]:
        more = self.loads(n) - 1
        return [d * (1 + drift * more) for d, drift in zip(self.demands_s, self.drifts, strict=True)]

    def serial_at(self, n: float) -> float:
        return self.serial_s * (1 + self.serial_drift * (self.loads(n) - 1))

    def limits(self, n: float) -> dict[str, float]:
        """Resource -> throughput at which it is full, with the demands of n loads."""
        demanded = zip(self.parts, self.demands_at(n), strict=True)
        found = {p.name: p.usable(n) / d for p, d in demanded if d > 0}
        if self.serial_s > 0:
            found[SERIAL] = 1 / self.serial_at(n)
        return {name: limit for name, limit in found.items() if np.isfinite(limit)}

    def bound(self, n: float) -> float:
        """Nothing queues until something is full."""
        return min([self.loads(n) * self.unit_per_s, *self.limits(n).values()])

    def queueing(self, n: float) -> float:
        """Everything queues: the network with the population of n loads."""
        population = self.in_flight * self.loads(n)
        if population > MOST_IN_FLIGHT:
            return self.bound(n)
        x = throughputs(self.stations(n), int(np.ceil(population)) + 1, self.think_s)
        return min(self.loads(n) * self.unit_per_s, at_population(x, population))

    def stations(self, n: float) -> list[Station]:
        found = [s for p, d in zip(self.parts, self.demands_at(n), strict=True) for s in p.stations(d, n)]
        return [*found, Station(self.serial_at(n))] if self.serial_s > 0 else found

    def at(self, n: float) -> float:
        return between(self.queueing(n), self.bound(n), self.theta)

    def saturations(self, most: float = 1e6) -> dict[str, float]:
        """Resource -> loads at which it is full, in ascending order of the first; what is never full up to `most` is left out."""
        found = {name: self.full_at(name, most) for name in self.limits(most)}
        return dict(sorted(((k, n) for k, n in found.items() if n <= most), key=lambda kv: kv[1]))

    def full_at(self, name: str, most: float) -> float:
        """The fewest loads that fill a resource, if they grow in proportion; inf where `most` do not.

        What n loads ask of it never falls with n, so halving finds it: demands may grow, and members get theirs in steps.
        """

        def fills(n: float) -> bool:
            return self.limits(n).get(name, float("inf")) <= self.loads(n) * self.unit_per_s

        low, high = self.unit_n, most
        if fills(low) or not fills(high):
            return low if fills(low) else float("inf")
        while low < (middle := (low + high) / 2) < high:
            low, high = (low, middle) if fills(middle) else (middle, high)
        return high

    def bottleneck(self, n: float) -> str:
        """The resource that is full at n; "load" where none is: more loads would give more."""
        limits = self.limits(n)
        if not limits:
            return "load"
        name = min(limits, key=lambda k: limits[k])
        return name if limits[name] <= self.loads(n) * self.unit_per_s else "load"


def fit_pipeline(loads: Sequence[SmallLoad], parts: Sequence[Part], pause_s: float = 0.0) -> Pipeline:
    """loads: at least one, of growing n; every one says how busy each part was. Two show drift, three show it well.

    pause_s: what one load pauses for each unit of work, by its schedule.
    """
    loads = sorted(loads, key=lambda load: load.n)
    first = loads[0]
    more = np.array([load.n / first.n - 1 for load in loads])
    per_s = np.array([load.per_s for load in loads])
    weights = np.array([load.runs for load in loads])
    left, demands, drifts = [], [], []
    for p in parts:
        busy = np.array([load.busy.get(p.name, 0.0) for load in loads])
        # Members beyond the first begin with the loads that they get, so what is there at any rate is none of all of them.
        fixed, demand_s = (0.0, 0.0) if p.members else background(per_s, busy, weights)
        # With a background the demand is that of all loads; without one that of the first, and it may grow.
        demands.append(demand_s if fixed > 0 else float(busy[0] / per_s[0]))
        drifts.append(0.0 if fixed > 0 else drift(more, busy / per_s, weights))
        left.append(replace(p, capacity=p.capacity - fixed) if p.parts == 1 and not p.members else p)
    plain = Pipeline(
        tuple(left), tuple(demands), tuple(drifts), float(first.n), float(first.per_s), pause_s=pause_s
    )  # fmt: skip
    plain = calibrated(plain)
    with_serial = calibrated(serial(plain, loads))
    return blended(with_serial, loads)


def drift(more: FloatArray, demand_s: FloatArray, weights: FloatArray) -> float:
    """Growth of a demand for each load more, as a share of the first: never negative, drawn to 0 by its own doubt.

    A line through the first load, weighted by runs; more: loads beyond the first, shape (k,).
    """
    if len(more) < 2 or demand_s[0] <= 0:
        return 0.0
    x, y, w = more[1:], demand_s[1:] / demand_s[0] - 1, weights[1:]
    b = float((w * x * y).sum() / (w * x * x).sum())
    if b <= 0:
        return 0.0
    left = len(x) - 1
    # One point alone has no residual: it is believed as far as a usual spread between runs lets it be.
    variance = float((w * (y - b * x) ** 2).sum()) / left if left else 0.03**2 * float(w.mean())
    se2 = variance / float((w * x * x).sum())
    return b * b * b / (b * b + se2)


def background(per_s: FloatArray, busy: FloatArray, weights: FloatArray) -> tuple[float, float]:
    """Servers busy at any rate, and demand of a unit: busy = background + demand * rate, in relative errors.

    Never negative, and drawn to 0 by its own doubt; with two loads or fewer it cannot be estimated.
    """
    if len(per_s) < 3 or busy.min() <= 0:
        return 0.0, float(busy[0] / per_s[0])
    w = weights / busy**2
    m, x = float((w * busy).sum() / w.sum()), float((w * per_s).sum() / w.sum())
    squares = float((w * (per_s - x) ** 2).sum())
    slope = float((w * (per_s - x) * (busy - m)).sum()) / squares if squares > 0 else 0.0
    fixed = float(m - slope * x)
    if fixed <= 0 or slope <= 0:
        return 0.0, float(busy[0] / per_s[0])
    misses = float((w * (busy - fixed - slope * per_s) ** 2).sum()) / (len(per_s) - 2)
    se2 = misses * (1 / w.sum() + x * x / squares)
    fixed = fixed * fixed * fixed / (fixed * fixed + se2)
    return float(fixed), float((w * per_s * (busy - fixed)).sum() / (w * per_s**2).sum())


def calibrated(p: Pipeline) -> Pipeline:
    """Units in flight of one load, so that the network gives what one load gave; inf where only the bound does."""
    limit = min(p.limits(p.unit_n).values(), default=float("inf"))
    if not np.isfinite(limit) or p.unit_per_s >= limit * (1 - 1e-9):
        return replace(p, in_flight=float("inf"), think_s=0.0)
    demanded_s = sum(p.demands_s) + p.serial_s
    if p.unit_per_s * demanded_s <= 1:
        return replace(p, in_flight=1.0, think_s=1 / p.unit_per_s - demanded_s)
    most = 64
    while most <= MOST_IN_FLIGHT:
        x = throughputs(p.stations(p.unit_n), most)
        if x[-1] >= p.unit_per_s:
            return replace(p, in_flight=in_flight_for(x, p.unit_per_s), think_s=0.0)
        most *= 4
    return replace(p, in_flight=float("inf"), think_s=0.0)


def serial(p: Pipeline, loads: Sequence[SmallLoad]) -> Pipeline:
    """With the serial stage that explains what the loads lack; as it was where they lack nothing."""
    last = loads[-1]
    if len(loads) < 2 or not lacking(blended(p, loads), loads[0], last):
        return p
    top = max(load.per_s for load in loads)
    falls = top > last.per_s * (1 + SERIAL_FROM)

    def with_stage(share: float) -> Pipeline:
        stage_s = share / top
        grown = 0.0
        if falls:  # the stage itself slows down: it takes all the time of the last load
            grown = max(0.0, (1 / (last.per_s * stage_s) - 1) / (p.loads(last.n) - 1))
        return calibrated(replace(p, serial_s=stage_s, serial_drift=grown))

    # A stage is held within the time under way of the first load, pauses left out. Shares above it are not tried.
    most = float(np.clip((1 / p.unit_per_s - p.pause_s) * top, 0.02, 1.0))
    # Nine shares, then nine around the best: the misfit is smooth and has one valley.
    shares = np.linspace(0.2 * most, most, 9)
    for _ in range(2):
        found = [misfit(with_stage(float(s)), loads) for s in shares]
        best = float(shares[int(np.argmin(found))])
        step = float(shares[1] - shares[0])
        shares = np.linspace(max(0.02 * most, best - step), min(most, best + step), 9)
    return with_stage(best)


def lacking(p: Pipeline, first: SmallLoad, load: SmallLoad) -> bool:
    """Whether a load gives less than the model by more than noise, and that for a reason.

    The model meets the first load whatever its noise was, so both loads' errors are in the difference.

    Loads that pause hide a queue: what waits twice as long is hardly slower. So it is the time under way that counts,
    a cycle less the pause; where nothing pauses that is the throughput again.
    """
    missing = float(np.log(p.at(load.n) / load.per_s))
    under_way_s = p.loads(load.n) * p.in_flight / load.per_s - p.think_s
    of_cycle = under_way_s / (under_way_s + p.think_s) if p.think_s > 0 and under_way_s > 0 else 1.0
    return missing >= max(SERIAL_FROM * of_cycle, SERIAL_ERRORS * float(np.hypot(first.error, load.error)))


def misfit(p: Pipeline, loads: Sequence[SmallLoad]) -> float:
    # A network is what takes the time here: that of each load is solved once, for theta and for what it gives.
    limits = limits_of(p, loads)
    theta = blend(loads, limits)
    of_each = zip(loads, limits, strict=True)
    return float(sum(load.runs * np.log(between(q, h, theta) / load.per_s) ** 2 for load, (q, h) in of_each))


def blended(p: Pipeline, loads: Sequence[SmallLoad]) -> Pipeline:
    return replace(p, theta=blend(loads, limits_of(p, loads)))


def limits_of(p: Pipeline, loads: Sequence[SmallLoad]) -> list[tuple[float, float]]:
    """Of each load Q, where everything queues, and H, where nothing does until something is full."""
    return [(p.queueing(load.n), p.bound(load.n)) for load in loads]


def between(q: float, h: float, theta: float) -> float:
    return float(q**theta * h ** (1 - theta))


def blend(loads: Sequence[SmallLoad], limits: Sequence[tuple[float, float]]) -> float:
    """theta from the loads beyond the first, drawn to one half where they do not report Q and H apart."""
    above, below = THETA_WEIGHT * 0.5, THETA_WEIGHT
    for load, (q, h) in zip(loads[1:], limits[1:], strict=True):
        apart = float(np.log(q / h))
        above += apart * float(np.log(load.per_s / h))
        below += apart * apart
    return float(np.clip(above / below, *THETA_RANGE))
