"""Where each resource of a load is full, predicted from its small loads and compared with its larger ones. Pure.

Step 2 and 3 of "start small and predict" inside one study. A claim that was frozen before its run is stronger: that
is `inrush predict` and `inrush prove`; what stands here was fitted after all runs were made, from the small ones alone.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import isfinite

import numpy as np

from inrush.analysis.points import Analysis, Point
from inrush.errors import UsageError
from inrush.model.capacity import means
from inrush.model.pipeline import SERIAL, Part, Pipeline, SmallLoad, fit_pipeline
from inrush.predict.pipelines import FULL_SHARE
from inrush.predict.training import Training, as_measured, trainings

#: Loads up to so many times the smallest are the small ones, from which the others are predicted.
SMALL_REACH = 4.0
#: A resource is confirmed full from this share of the predicted load on, and confirmed not full up to it.
NEAR = 0.85
NOT_TRIED = "not tried so far"
#: What stands in place of a verdict on a serial stage: it was not watched, so no load confirms it.
SERIAL_FOUND = "found from what the small loads lack"


@dataclass(frozen=True)
class Resource:
    """One resource of one group."""

    name: str
    capacity: float
    #: Servers that the smallest load kept busy.
    used: float
    #: Load at which it is full by the small loads; inf: never.
    full_at: float
    #: Largest load that ran, and the share of its servers that were busy there.
    largest: float
    share: float
    verdict: str

    @property
    def seen_full(self) -> bool:
        """At the largest load that ran."""
        return self.share >= FULL_SHARE


@dataclass(frozen=True)
class ResourceForecast:
    """One group: the model of its small loads, and every resource: the one that they put first at the front, and of those
    that are full at the same load, or never, the busiest."""

    training: Training
    model: Pipeline
    small: tuple[float, ...]
    resources: Sequence[Resource]

    @property
    def group(self) -> Point:
        return self.training.group

    @property
    def serial_full_at(self) -> float:
        """Load at which a stage that was not watched is full; inf where the small loads lack nothing, or never."""
        return self.model.saturations().get(SERIAL, float("inf"))


def resource_forecasts(analysis: Analysis) -> list[ResourceForecast]:
    """Of every group with a factor that scales a load and with watched resources; none where nothing can be predicted."""
    try:
        found = trainings(analysis)
    except UsageError:
        return []
    return [forecast for t in found if t.kind == "load" and (forecast := forecast_of(t)) is not None]


def forecast_of(training: Training) -> ResourceForecast | None:
    runs = as_measured(training)
    parts = [p for p in training.parts if all(r.busy.get(p.name, 0.0) > 0 for r in runs)]
    loads = means(runs, parts)
    small = [load for load in loads if load.n <= SMALL_REACH * loads[0].n]
    if not parts or len(small) < 2:
        return None
    pause_s = min((r.pause_s for r in runs if r.n == loads[0].n), default=0.0)
    model = fit_pipeline(small, parts, pause_s)
    full = model.saturations()
    last = loads[-1]
    found = [resource(p, loads[0], full.get(p.name, float("inf")), last) for p in parts]
    return ResourceForecast(
        training, model, tuple(load.n for load in small), sorted(found, key=lambda r: (r.full_at, -r.share))
    )


def resource(part: Part, first: SmallLoad, full_at: float, last: SmallLoad) -> Resource:
    """Of what is dealt out the capacity is that which the smallest load had, and the share that of the fullest member."""
    share = last.busy[part.name] / part.usable(last.n)
    member = part.fullest(full_at if isfinite(full_at) else last.n)
    name = part.name if member is None else f"{part.name} ({member.name} first)"
    usable = part.usable(first.n)
    if not isfinite(usable):  # the first member is one of which nothing is known
        usable = min(of.capacity for of in part.members)
    return Resource(
        name, usable, first.busy[part.name], full_at, last.n, share, verdict(full_at, last.n, share)
    )  # fmt: skip


def verdict(full_at: float, largest: float, share: float) -> str:
    """The prediction against what was seen at the largest load.

    confirmed      full where predicted full, or not full where predicted not full
    rejected       the other way round
    not tried      no load came near enough to decide
    """
    is_full = share >= FULL_SHARE
    if largest >= full_at:
        return "confirmed: full" if is_full else "rejected: predicted to be full, and is not"
    if is_full:
        return "confirmed: full" if largest >= NEAR * full_at else "rejected: full earlier than predicted"
    return "confirmed: not full yet" if largest >= NEAR * full_at else NOT_TRIED


def curve(model: Pipeline, largest: float, points: int = 60) -> list[Mapping[str, float]]:
    """The model, its hard bound and proportion, from the smallest load to the largest."""
    return [
        {"n": float(n), "model": model.at(n), "bound": model.bound(n), "proportion": model.loads(n) * model.unit_per_s}
        for n in np.linspace(model.unit_n, max(largest, model.unit_n * 2), points)
    ]  # fmt: skip
