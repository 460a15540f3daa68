"""The highest load that is held, by bisection over values that the study names. Pure.

Rule. The candidates are the values of one factor, ascending. A candidate *holds* when the figure reached `at_least` in
every run of it, and fails when it did not in one; what the pilot showed stands until a block has a run (`stats/trials.py`). Between the highest candidate that holds below the first that fails,
and that one, the middle is tried next, until they are neighbours: log2(n + 1) runs of the pilot. The later blocks
repeat the two neighbours; where one of them shows something else than before, the bracket moves and the middle is tried
again, in the same block (`run/ahead.py`). So every planned run is known beforehand, as in any study; what was measured
decides which of them are made.

A run with a figure that decides nothing (`analysis/deciding.py`) makes its candidate *undecided*: it is neither end of the
bracket, and the search goes on below it and above it, at most twice as many runs. The blocks repeat the lowest and the
highest that are undecided.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

from inrush.stats.record import SEARCHED
from inrush.stats.trials import Trial, Tried, standing

if TYPE_CHECKING:
    from inrush.plan.planned import PlannedRun, Point, StudyPlan

T = TypeVar("T")


@dataclass(frozen=True)
class RateBracket:
    """Places in the ascending candidates: -1 and their number stand for "below all" and "above all"."""

    holds: int
    fails: int
    #: Between the two, ascending: those that ran and decided nothing.
    undecided: tuple[int, ...] = ()

    @property
    def middles(self) -> tuple[int, ...]:
        """What is to be tried next, below and above what is undecided; empty when nothing is left between."""
        edges = (self.holds, *self.undecided, self.fails)
        sides = dict.fromkeys([edges[:2], edges[-2:]])
        return tuple((low + high) // 2 for low, high in sides if high - low > 1)

    @property
    def neighbours(self) -> set[int]:
        """What later blocks repeat."""
        return {self.holds, self.fails, *self.undecided[:1], *self.undecided[-1:]}


def bracket(trials: Sequence[Trial | None]) -> RateBracket:
    """trials: by candidate, ascending; None where it did not run. What holds above one that fails is not believed."""
    fails = next((i for i, trial in enumerate(trials) if trial is Trial.FAILED), len(trials))
    holds = max((i for i, trial in enumerate(trials[:fails]) if trial is Trial.HELD), default=-1)
    between = (i for i in range(holds + 1, fails) if trials[i] is Trial.UNDECIDED)
    return RateBracket(holds, fails, tuple(between))


def is_wanted(place: int, trials: Sequence[Trial | None], pilot: bool) -> bool:
    """Whether this candidate is run now."""
    now = bracket(trials)
    return place in now.middles or (not pilot and place in now.neighbours)


def bisection_order(n: int) -> list[int]:
    """Places in an order in which one pass can bisect: the middle, then the middles of the halves, …"""
    order: list[int] = []
    level = [(-1, n)]
    while level:
        halved = [(low, (low + high) // 2, high) for low, high in level if high - low > 1]
        order += [middle for _, middle, _ in halved]
        level = [half for low, middle, high in halved for half in ((low, middle), (middle, high))]
    return order


def standings(candidates: Sequence[object], tried: Sequence[tuple[object, Tried]]) -> list[Trial | None]:
    """By candidate: what its runs show together. tried: (value of the factor, what the run showed)."""
    runs: list[list[Tried]] = [[] for _ in candidates]
    for value, run in tried:
        runs[candidates.index(value)].append(run)
    return [standing(of) for of in runs]


def sweeps(points: Sequence[Point], along: str) -> list[list[Point]]:
    """Points that differ in one factor alone, ascending along it."""
    curves: dict[str, list[Point]] = {}
    for point in points:
        others = {name: value for name, value in point.factors.items() if name != along}
        curves.setdefault(f"{point.engine} {others}", []).append(point)
    return [sorted(sweep, key=lambda p: p.number(along)) for sweep in curves.values()]


def in_bisection_order(sweep: Sequence[T]) -> list[T]:
    return [sweep[place] for place in bisection_order(len(sweep))]


class Searching:
    """A study's search over its planned runs: which of them need not be made."""

    def __init__(self, plan: StudyPlan) -> None:
        search = plan.study.search
        assert search is not None, "the caller looked"
        self._along = search.along
        of_points = sweeps([point for point in plan.points if point.id in plan.planned], search.along)
        self._sweep_of = {point.id: sweep for sweep in of_points for point in sweep}
        #: Run that prices the client's own work -> the points that it prices.
        self._priced: dict[str, set[str]] = {}
        for point, by in plan.calibrated_by.items():
            self._priced.setdefault(by, set()).add(point)

    def left_out(self, run: PlannedRun, tried: Sequence[tuple[str, Tried]]) -> str | None:
        """Why this run need not be made; None if it must. tried: (point, what it showed) of every run made so far."""
        sweep = self._sweep_of.get(run.point)
        if sweep is None:  # of no point: it prices the client's own work at points that were tried
            priced = self._priced.get(run.run_id, set())
            return None if priced & {point for point, _ in tried} else f"{SEARCHED}its points were not tried"
        values = {point.id: point.factors[self._along] for point in sweep}
        if any(of.block > run.block for point, of in tried if point in values):
            # Of a study that goes on: what a later block showed is no reason to fill up an earlier one.
            return f"{SEARCHED}its block is over"
        candidates = list(values.values())
        found = standings(candidates, [(values[point], of) for point, of in tried if point in values])
        if is_wanted(candidates.index(values[run.point]), found, run.block == 0):
            return None
        now = bracket(found)
        ended = [f"{candidates[now.holds]:,} held"] if now.holds >= 0 else []
        ended += [f"{candidates[place]:,} is undecided" for place in now.undecided]
        ended += [f"{candidates[now.fails]:,} did not hold"] if now.fails < len(candidates) else []
        return f"{SEARCHED}{', '.join(ended) or 'another value is tried first'}"
