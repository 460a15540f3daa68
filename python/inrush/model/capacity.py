"""The forecast of a load from runs that say how busy each resource was; from throughput alone where they do not. Pure.

The rule: the calibrated network where resources were watched and it misses no small load by more than 15 %; else the
contention law of `curve`. Which of the two is decided by the small loads alone.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from inrush.model.curve import Curve, curve, forecast, linear
from inrush.model.forecast import (
    LARGEST_RESIDUAL,
    UNCALIBRATED,
    Forecast,
    refuse_far,
)
from inrush.model.intervals import LEVEL, Scored, Spread, parameter_spread, spread, width
from inrush.model.pipeline import Part, Pipeline, SmallLoad, fit_pipeline
from inrush.model.scaling import fit_usl
from inrush.text import percent

FloatArray = NDArray[np.float64]


@dataclass(frozen=True)
class Measured:
    """One run: its load, throughput, and how many servers of each resource it kept busy."""

    n: float
    per_s: float
    busy: Mapping[str, float]
    #: Of each unit of work, the seconds that its load paused by its schedule.
    pause_s: float = 0.0


def forecast_load(
    runs: Sequence[Measured],
    parts: Sequence[Part],
    to: float,
    archive: Sequence[Scored] = (),
    level: float = LEVEL,
) -> Forecast:
    """Throughput of `to` loads. Raises Refused outside of every model's validity."""
    of = curve([r.n for r in runs], [r.per_s for r in runs])
    network = network_of(runs, parts, of)
    if network is None:
        return forecast(of, to, archive=archive, level=level)
    if not network.holds:
        found = forecast(of, to, archive=archive, level=level)
        reason = f"the network of watched resources misses a small load by {percent(np.exp(network.missed) - 1)}: throughput alone decides"
        return Forecast(**{**found.__dict__, "why": (reason, *found.why)})
    refuse_far(to, float(of.x[-1]))
    return of_pipeline(network.fitted, network.loads, network.seen, of, to, archive, level)


def middle_of_load(runs: Sequence[Measured], parts: Sequence[Part]) -> Callable[[float], float]:
    """The median of `forecast_load` as a function of the load; raises Refused in the same cases.

    Without the interval, which takes seconds: for looking along many loads.
    """
    of = curve([r.n for r in runs], [r.per_s for r in runs])
    network = network_of(runs, parts, of)

    def at(to: float) -> float:
        if network is None or not network.holds:
            return forecast(of, to).median
        refuse_far(to, float(of.x[-1]))
        return network.fitted.at(to)

    return at


@dataclass(frozen=True)
class Network:
    """The calibrated network of the resources that were watched."""

    fitted: Pipeline
    loads: Sequence[SmallLoad]
    seen: Sequence[Part]
    #: |ln(measured / fitted)| of the small load that it misses most.
    missed: float

    @property
    def holds(self) -> bool:
        return self.missed <= float(np.log(1 + LARGEST_RESIDUAL))


def network_of(runs: Sequence[Measured], parts: Sequence[Part], of: Curve) -> Network | None:
    """None where no resource was watched in every run."""
    seen = [p for p in parts if all(r.busy.get(p.name, 0.0) > 0 for r in runs)]
    if not seen:
        return None
    loads = means(runs, seen)
    pause_s = min((r.pause_s for r in runs if r.n == of.x[0]), default=0.0)
    fitted = fit_pipeline(loads, seen, pause_s)
    missed = max(abs(float(np.log(load.per_s / fitted.at(load.n)))) for load in loads)
    return Network(fitted, loads, seen, missed)


def of_pipeline(
    fitted: Pipeline, loads: Sequence[SmallLoad], parts: Sequence[Part], of: Curve, to: float, archive: Sequence[Scored], level: float
) -> Forecast:  # fmt: skip
    reach = to / float(of.x[-1])
    run = run_spread(fitted, of)
    wide = width(
        doubt(fitted, loads, parts, of, run, to), run, float(np.median(of.runs)), archive, reach, level
    )
    median = fitted.at(to)
    saturations = fitted.saturations()
    at_limit = fitted.bottleneck(to)
    why = [f"network: {fitted.in_flight:.3g} units in flight a load, theta {fitted.theta:.2f}"]
    why += [f"{name}: full at {n:.3g}" for name, n in saturations.items()]
    if fitted.serial_s > 0:
        why.append(
            "a serial stage that no watched resource explains (a lock, a single thread) was found from what the small loads lack"
        )
    if not wide.calibrated:
        why.append(UNCALIBRATED)
    return Forecast(
        to, median, median * float(np.exp(-wide.half)), median * float(np.exp(wide.half)), level, "network", wide.calibrated, reach,
        {"in_flight": fitted.in_flight, "theta": fitted.theta, "serial_s": fitted.serial_s, **demands(fitted)},
        baselines(fitted, of, to), next(iter(saturations.values()), None), tuple(why), at_limit, saturations,
    )  # fmt: skip


def baselines(fitted: Pipeline, of: Curve, to: float) -> dict[str, float]:
    """What a claim is scored beside: proportion, the hard bound, and the USL on throughput alone."""
    found = {"linear": linear(of, to, "rate"), "hard bound": fitted.bound(to)}
    if len(of.x) >= 3:
        found["usl"] = float(fit_usl(of.x, of.y, True, of.runs).at(to))
    return found


def means(runs: Sequence[Measured], parts: Sequence[Part]) -> list[SmallLoad]:
    """A load for each n: geometric mean of throughput, and of busy servers."""
    of = curve([r.n for r in runs], [r.per_s for r in runs])
    # Two or three runs lie close together by luck: what they say of noise is drawn to what is usual.
    sd = spread(of.squares, of.df).sd
    found = []
    for n in sorted({r.n for r in runs}):
        mine = [r for r in runs if r.n == n]
        busy = {p.name: geometric([r.busy[p.name] for r in mine]) for p in parts}
        error = sd / float(np.sqrt(len(mine)))
        found.append(SmallLoad(n, geometric([r.per_s for r in mine]), busy, len(mine), error))
    return found


def doubt(
    fitted: Pipeline, loads: Sequence[SmallLoad], parts: Sequence[Part], of: Curve, run: Spread, to: float
) -> float:
    """sd of the log of the prediction, were the small loads measured again: their throughput and their demands."""
    k = len(loads)
    held = [
        *(load.per_s for load in loads),
        *(load.busy[p.name] / load.per_s for load in loads for p in parts),
    ]
    runs = np.array([load.runs for load in loads])
    sd = run.sd / np.sqrt(np.concatenate([runs, np.repeat(runs, len(parts))]))

    def again(values: FloatArray) -> FloatArray:
        per_s, demand_s = values[:k], values[k:].reshape(k, len(parts))
        redone = [
            SmallLoad(
                load.n,
                float(x),
                {p.name: float(d * x) for p, d in zip(parts, row, strict=True)},
                load.runs,
                load.error,
            )
            for load, x, row in zip(loads, per_s, demand_s, strict=True)
        ]
        return np.array([fit_pipeline(redone, parts, fitted.pause_s).at(to)])

    return float(parameter_spread(again, np.log(held), sd)[0])


def run_spread(fitted: Pipeline, of: Curve) -> Spread:
    """From repetitions, and from what the network leaves over beyond the first load, which it meets by construction."""
    errors = np.array([np.log(y / fitted.at(x)) for x, y in zip(of.x, of.y, strict=True)])
    left = max(0, len(of.x) - 2)
    return spread(of.squares + (float((of.runs * errors**2).sum()) if left else 0.0), of.df + left)


def demands(fitted: Pipeline) -> dict[str, float]:
    found = {}
    for part, d, grown in zip(fitted.parts, fitted.demands_s, fitted.drifts, strict=True):
        found[f"{part.name}_demand_s"], found[f"{part.name}_drift"] = d, grown
    return found


def geometric(values: Sequence[float]) -> float:
    return float(np.exp(np.mean(np.log(values))))
