"""Does a schedule of samples hold? From how long a sample takes, and how long there is for one. Pure.

A sample is rows that are due together; a writer keeps up while each is stored before the next is due. The time that one
takes, less what it waited behind others, is a cost: a fixed part and one for each unit of what is varied (rows, users
beside it), whether the writer keeps up or not. So it can be continued beyond the point where waiting has no end.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from inrush.analysis.points import Measured
from inrush.model.curve import curve, forecast
from inrush.model.forecast import Refused
from inrush.model.intervals import LEVEL, Scored
from inrush.stats import tails
from inrush.stats.record import RunRecord
from inrush.stats.samples import intervals_s


@dataclass(frozen=True)
class KeepsUp:
    """What is claimed of a schedule at one value of the factor."""

    #: Until the next sample is due, s; the slowest samples of a run are predicted to take `slowest_s`.
    limit_s: float
    slowest_s: float
    #: Probability that the slowest stay below the limit, by the interval of the prediction.
    sure: float
    #: Value of the factor from which they do not; None where it is not known.
    until: float | None

    @property
    def says(self) -> bool:
        return self.slowest_s < self.limit_s

    def document(self) -> dict[str, Any]:
        return {**asdict(self), "says": self.says}


def interval_s(run: RunRecord, role: str) -> float | None:
    """Seconds between the samples of a role; None for one that writes none."""
    return intervals_s(run).get(role)


def slowest_s(m: Measured, role: str) -> float:
    """99 % of the samples take no longer; what they waited behind others is not in it, for that depends on the run's length."""
    return m.figures.get(f"{role}.collect_p99_s", 0.0) + m.figures.get(f"{role}.insert_p99_s", 0.0)


def keeps_up(
    x: Sequence[float],
    slowest: Sequence[float],
    limit_s: float,
    to: float,
    archive: Sequence[Scored] = (),
    level: float = LEVEL,
) -> KeepsUp | None:
    """x, slowest: shape (k,), one entry a run. None where no law describes the slowest samples."""
    try:
        found = forecast(curve(x, slowest), to, "time", archive, level)
    except Refused:
        return None
    half = float(np.log(found.hi / found.median))
    sd = half / tails.normal_quantile(0.5 + level / 2)
    away = float(np.log(limit_s / found.median))
    sure = tails.normal_below(away / sd) if sd > 0 else float(away > 0)
    fixed_s, each_s = found.parameters.get("fixed_s"), found.parameters.get("per_unit_s", 0.0)
    until = max(0.0, (limit_s - fixed_s) / each_s) if fixed_s is not None and each_s > 0 else None
    return KeepsUp(limit_s, found.median, sure, until)
