"""A value that was not measured, as it is claimed before it is. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np

from inrush.errors import UsageError
from inrush.text import number, percent, show_s

#: Version of the rules and the laws; a prediction says which made it.
MODEL_VERSION = 6
LARGEST_RESIDUAL = 0.15
FARTHEST_REACH = 32.0

UNSEEN_LIMIT = "unknowable from throughput alone: a limit that no load has met does not show in it; measure busy resources"
UNCALIBRATED = (
    "uncalibrated: too few predictions of this reach have been scored; the width of the fit is doubled"
)


class Refused(UsageError):
    """A prediction that would be outside of what its model is valid for."""


@dataclass(frozen=True)
class Forecast:
    """What a figure will be at x, before it is measured."""

    x: float
    median: float
    lo: float
    hi: float
    level: float
    model: str
    #: Whether the width comes from scored predictions; else it is the doubled width of the fit.
    calibrated: bool
    #: x over the largest x that was measured.
    reach: float
    parameters: Mapping[str, float]
    #: The same from laws that compete: linear, hard bound, the universal scalability law.
    baselines: Mapping[str, float]
    #: Load at which the figure peaks or stops growing; None where it is not known.
    saturation: float | None
    why: tuple[str, ...] = ()
    #: The resource that limits at x; "load" where none is full yet; None where none was measured.
    bottleneck: str | None = None
    #: Resource -> load at which it is full.
    saturations: Mapping[str, float] = field(default_factory=dict)
    #: The figure is at least this: what more it is, is not known, and `hi` is what was measured to be too much, or endless.
    is_lower_bound: bool = False

    def document(self) -> dict[str, object]:
        """As JSON has it: no infinities, an end that is not known as null."""
        held: dict[str, object] = {
            k: list(v) if isinstance(v, tuple) else v for k, v in self.__dict__.items()
        }
        for name, values in (
            ("parameters", self.parameters),
            ("baselines", self.baselines),
            ("saturations", self.saturations),
        ):
            held[name] = {k: float(v) for k, v in values.items() if np.isfinite(v)}
        held["hi"] = self.hi if np.isfinite(self.hi) else None
        return held


def refuse_far(to: float, largest: float, each_s: float = 0.0, far: bool = False) -> None:
    """Raises Refused for loads that are none, or too far beyond what was measured. each_s: of a time, what one unit of the load
    took at the largest one; 0: not known. far: a load is never too far (`farther` widens its interval)."""
    if not (np.isfinite(to) and to > 0):
        raise Refused(f"--to {number(to)}: a load is positive")
    if to > FARTHEST_REACH * largest and not far:
        raise Refused(
            f"{number(to)} is {to / largest:.0f} times the largest point measured (limit {FARTHEST_REACH:g}): "
            f"measure at {number(to / FARTHEST_REACH)} or beyond first"
            + (
                f", which takes {show_s(each_s * to / FARTHEST_REACH)} at the pace of that point"
                if each_s
                else ""
            )
        )


def farther(made: Forecast) -> Forecast:
    """A forecast beyond FARTHEST_REACH: no prediction of such a reach was scored, and its interval is wider on logs by as much
    as the reach is."""
    if made.reach <= FARTHEST_REACH:
        return made
    times = float(np.log(made.reach) / np.log(FARTHEST_REACH))
    lo, hi = (made.median * float((end / made.median) ** times) for end in (made.lo, made.hi))
    why = f"far: {made.reach:.0f} times the largest point measured (limit {FARTHEST_REACH:g}); the interval is {times:.2f} times as wide"
    return replace(made, lo=lo, hi=hi, calibrated=False, why=(*made.why, why))


def refuse_misfit(log_error: float, law: str) -> None:
    """Raises Refused where a law misses what was measured last."""
    missed = float(np.exp(abs(log_error)) - 1)
    if missed > LARGEST_RESIDUAL:
        raise Refused(
            f"{law} misses the largest point measured by {percent(missed)} (limit {percent(LARGEST_RESIDUAL)}): no law here "
            "describes this curve. Measure at the target, or look for what changes on the way"
        )
