"""Stop rules: where a point crosses all limits of one, larger values of its sweep are not run. Pure."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from inrush.study.parts import StopRule
from inrush.text import number

if TYPE_CHECKING:
    from inrush.plan.planned import Point, StudyPlan

#: Point -> its figures, `role.metric` -> value.
Figures = Mapping[str, Mapping[str, float]]


class Objection(Protocol):
    """What speaks against a decision by a figure (`analysis/deciding.py`)."""

    @property
    def why(self) -> str: ...
    @property
    def stands(self) -> bool:
        """The decision stands; `why` is said with it."""
        ...


class Objecting(Protocol):
    def __call__(self, point: str, figure: str, limit: float) -> Objection | None: ...


def none_objects(point: str, figure: str, limit: float) -> None:
    return None


@dataclass(frozen=True)
class Stopped:
    """A point that is not run because a smaller one of its sweep crossed every limit of a rule."""

    point: str
    engine: str
    factors: Mapping[str, object]
    reason: str


@dataclass(frozen=True)
class Crossed:
    """A point that crossed all limits of a rule."""

    point: Point
    rule: StopRule
    #: The figures and their limits, as words.
    limits: str
    #: Of its figures.
    objections: tuple[Objection, ...]

    @property
    def doubt(self) -> str | None:
        """Why nothing is stopped by it."""
        return next((o.why for o in self.objections if not o.stands), None)


def crossed(plan: StudyPlan, measured: Figures, objecting: Objecting = none_objects) -> Iterator[Crossed]:
    """Every crossing of a rule by the points measured so far. A figure that a point does not have crosses nothing."""
    by_id = {point.id: point for point in plan.points}
    for rule, (point, figures) in itertools.product(plan.study.stop, measured.items()):
        if point not in by_id or not all(
            figures.get(name, float("-inf")) > limit for name, limit in rule.above.items()
        ):
            continue
        limits = " and ".join(
            f"{name} = {number(figures[name], 3)} > {number(limit)}"
            for name, limit in sorted(rule.above.items())
        )
        found = [objecting(point, name, limit) for name, limit in rule.above.items()]
        yield Crossed(by_id[point], rule, limits, tuple(o for o in found if o is not None))


def stopped(plan: StudyPlan, measured: Figures, objecting: Objecting = none_objects) -> dict[str, Stopped]:
    """Point -> why it is stopped, by the figures of the points measured so far.

    objecting: what speaks against deciding by a figure; a crossing in doubt stops nothing. Apply it while the pilot
    ascends and after it.
    """
    stops: dict[str, Stopped] = {}
    for crossing in crossed(plan, measured, objecting):
        if crossing.doubt is not None:
            continue
        smaller, along = crossing.point, crossing.rule.along
        said = "".join(f"; {o.why}" for o in crossing.objections[:1])
        for point in plan.points:
            if same_sweep(smaller, point, along) and point.number(along) > smaller.number(along):
                reason = f"{crossing.limits} at {along} = {smaller.factors[along]}{said}"
                stops.setdefault(point.id, Stopped(point.id, point.engine, point.labels, reason))
    return stops


def same_sweep(a: Point, b: Point, along: str) -> bool:
    return a.engine == b.engine and all(a.factors[f] == b.factors[f] for f in a.factors if f != along)
