"""What the roles of a run did over its time, in a bounded number of steps. Pure.

Where there are too many steps, neighbours become one: counts are added up and histograms merged. So a step of a day is as
exact as one of a second, and no percentile is averaged.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from inrush.results.histogram import Histogram, merge

#: A run of ten minutes has a step for each second.
MOST_STEPS = 600
FIRST_STEP_S = 1.0


@dataclass(frozen=True)
class RoleSlice:
    """What a role did within one step."""

    rows: int
    ops: int
    failed: int
    #: Of the calls that ended ok; None where no interval ended with one.
    latency: Histogram | None

    def with_later(self, later: RoleSlice) -> RoleSlice:
        known = [h for h in (self.latency, later.latency) if h is not None]
        return RoleSlice(
            self.rows + later.rows,
            self.ops + later.ops,
            self.failed + later.failed,
            merge(known) if known else None,
        )


@dataclass(frozen=True)
class Slice:
    #: By the wall clock: where a chart has it.
    end_s: float
    #: In which its roles worked, by the clock of the run: what lies between two segments is in none.
    seconds: float
    roles: Mapping[str, RoleSlice]
    #: Role -> seconds of a core that it was busy.
    busy_s: Mapping[str, float] = field(default_factory=dict)

    def with_later(self, later: Slice) -> Slice:
        names = dict.fromkeys([*self.roles, *later.roles])
        roles = {n: both(self.roles.get(n), later.roles.get(n)) for n in names}
        busy = dict.fromkeys([*self.busy_s, *later.busy_s])
        busy_s = {n: self.busy_s.get(n, 0.0) + later.busy_s.get(n, 0.0) for n in busy}
        return Slice(later.end_s, self.seconds + later.seconds, roles, busy_s)


def both(first: RoleSlice | None, later: RoleSlice | None) -> RoleSlice:
    if first is None or later is None:
        found = first or later
        assert found is not None, "a role of one of the two"
        return found
    return first.with_later(later)


class RunSeries:
    """Steps in their order. `version` changes where steps that were given out before became others."""

    def __init__(self, run: str = "", point: str = "", most: int = MOST_STEPS) -> None:
        """run, point: what it is of."""
        self.run, self.point, self.most = run, point, most
        self.steps: list[Slice] = []
        self.every_s = FIRST_STEP_S
        self.version = 0
        #: Not long enough yet to be a step.
        self.open: Slice | None = None

    def add(self, step: Slice) -> None:
        self.open = step if self.open is None else self.open.with_later(step)
        if self.open.seconds < self.every_s * NEARLY:
            return
        self.steps.append(self.open)
        self.open = None
        if len(self.steps) > self.most:
            self.halve()

    def halve(self) -> None:
        pairs = zip(self.steps[::2], self.steps[1::2], strict=False)
        left = self.steps[-1:] if len(self.steps) % 2 else []
        self.steps = [*(a.with_later(b) for a, b in pairs), *left]
        self.every_s *= 2
        self.version += 1


#: Two words of the core, half a second each, are a step although the first came a moment late.
NEARLY = 0.9
