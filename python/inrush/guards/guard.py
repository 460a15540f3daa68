"""A guard: a question to every run, with its name and what is said where a run has nothing to check it by. Pure."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from inrush.guards.verdicts import Figures, Verdict, not_checked
from inrush.stats.record import RunRecord


@dataclass(frozen=True)
class Guard:
    name: str
    #: None where the run has nothing to check it by, and `nothing` says what.
    check: Callable[[RunRecord, Figures], Verdict | None]
    nothing: str
    #: Of a run with steps it is asked once of all of it; every other guard is asked of each step.
    of_run: bool = False
    #: Of the conditions of a whole study: its notes are the same at every run and stand behind the others.
    of_conditions: bool = False

    def __call__(self, run: RunRecord, figures: Figures) -> Verdict:
        found = self.check(run, figures) or not_checked(self.name, self.nothing)
        assert found.guard == self.name, f"{found.guard} was given the name of {self.name}"
        return found
