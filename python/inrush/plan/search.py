"""The highest load that is held, by bisection over values that the study names. Pure.

Rule. The candidates are the values of one factor, ascending. A candidate *holds* when the figure reached `at_least` in
every run of it, and fails when it did not in one. Between the highest candidate that holds below the first that fails,
and that one, the middle is tried next, until they are neighbours: log2(n + 1) runs of the pilot. The later blocks
repeat the two neighbours; one that held and then fails moves the bracket, and the middle is tried again. So every
planned run is known beforehand, as in any study; what was measured decides which of them are made.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

from inrush.study.parts import Search

if TYPE_CHECKING:
    from inrush.plan.plan import PlannedRun, Point, StudyPlan

T = TypeVar("T")


@dataclass(frozen=True)
class Bracket:
    """Places in the ascending candidates: -1 and their number stand for "below all" and "above all"."""

    holds: int
    fails: int

    @property
    def middle(self) -> int | None:
        """What is to be tried next; None when the two are neighbours."""
        return (self.holds + self.fails) // 2 if self.fails - self.holds > 1 else None


def bracket(held: Sequence[bool | None]) -> Bracket:
    """held: by candidate, ascending; None where it did not run. What holds above one that fails is not believed."""
    fails = next((i for i, h in enumerate(held) if h is False), len(held))
    holds = max((i for i, h in enumerate(held[:fails]) if h), default=-1)
    return Bracket(holds, fails)


def is_wanted(place: int, held: Sequence[bool | None], pilot: bool) -> bool:
    """Whether this candidate is run now."""
    found = bracket(held)
    return place == found.middle or (not pilot and place in (found.holds, found.fails))


def bisection_order(n: int) -> list[int]:
    """Places in an order in which one pass can bisect: the middle, then the middles of the halves, …"""
    order: list[int] = []
    level = [Bracket(-1, n)]
    while level:
        order += [b.middle for b in level if b.middle is not None]
        level = [
            half
            for b in level
            if b.middle is not None
            for half in (Bracket(b.holds, b.middle), Bracket(b.middle, b.fails))
        ]
    return order


def held_by(
    search: Search, candidates: Sequence[Any], measured: Sequence[tuple[Any, Mapping[str, float]]]
) -> list[bool | None]:
    """By candidate: whether every run of it held. measured: (value of the factor, figures) of each run; a run
    without the figure did not hold: nothing of it was stored."""
    found: list[bool | None] = [None] * len(candidates)
    for value, figures in measured:
        place = candidates.index(value)
        found[place] = found[place] is not False and figures.get(search.of, 0.0) >= search.at_least
    return found


def sweeps(points: Sequence[Point], along: str) -> list[list[Point]]:
    """Points that differ in one factor alone, ascending along it."""
    found: dict[str, list[Point]] = {}
    for point in points:
        others = {name: value for name, value in point.factors.items() if name != along}
        found.setdefault(f"{point.engine} {others}", []).append(point)
    return [sorted(sweep, key=lambda p: float(p.factors[along])) for sweep in found.values()]


def in_bisection_order(sweep: Sequence[T]) -> list[T]:
    return [sweep[place] for place in bisection_order(len(sweep))]


def not_searched(
    plan: StudyPlan, run: PlannedRun, measured: Sequence[tuple[str, Mapping[str, float]]]
) -> str | None:
    """Why a search need not make this run; None if it must, or the study does not search.

    measured: (point, figures) of every run made so far.
    """
    search = plan.study.search
    if search is None:
        return None
    planned = [point for point in plan.points if point.id in plan.planned]
    sweep = next((s for s in sweeps(planned, search.along) if run.point in {p.id for p in s}), None)
    if sweep is None:  # of no point: it prices the client's own work at points that were tried
        priced = {point for point, by in plan.calibrated_by.items() if by == run.run_id}
        return None if priced & {point for point, _ in measured} else "bisection: its points were not tried"
    values = {point.id: point.factors[search.along] for point in sweep}
    candidates = list(values.values())
    held = held_by(search, candidates, [(values[point], f) for point, f in measured if point in values])
    if is_wanted(candidates.index(values[run.point]), held, run.block == 0):
        return None
    found = bracket(held)
    told = [f"{candidates[found.holds]:,} held"] if found.holds >= 0 else []
    told += [f"{candidates[found.fails]:,} did not"] if found.fails < len(candidates) else []
    return f"bisection: {' and '.join(told) or 'another value is tried first'}"
