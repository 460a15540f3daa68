"""A guard: a question to every run, or to a study as a whole. Pure.

A module of this folder with `GUARDS` is asked; nothing else lists it.
"""

from __future__ import annotations

import pkgutil
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING

import inrush.guards
from inrush.analysis.verdicts import Figures, Verdict, not_checked
from inrush.stats.record import RunRecord

if TYPE_CHECKING:
    from inrush.analysis.points import Analysis  # brings scipy, which a run does without


class About(Enum):
    """What a guard is about, in the order in which a page lists them."""

    END = "end of the run"
    ROWS = "rows"
    ANSWERS = "answers of the engine"
    CLIENT = "client"
    SERVER = "server"
    RUN = "how the run was made"
    LAWS = "what cannot be"
    COURSE = "the course of the run"
    MACHINE = "machine"
    ANSWER = "answer of the study"
    RUNS = "order of the runs"
    ENGINES = "engines beside each other"


@dataclass(frozen=True)
class Guard:
    about: About
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


@dataclass(frozen=True)
class StudyGuard:
    about: About
    name: str
    #: None where the study has nothing to check it by, and `nothing` says what.
    check: Callable[[Analysis], Verdict | None]
    nothing: str

    def __call__(self, analysis: Analysis) -> Verdict:
        return self.check(analysis) or not_checked(self.name, self.nothing)


@cache
def every_guard() -> tuple[Guard | StudyGuard, ...]:
    """Those of every module of this folder, by what they are about; of one subject in the order of the modules' names."""
    found: list[Guard | StudyGuard] = []
    for module in pkgutil.iter_modules(inrush.guards.__path__):
        found += getattr(import_module(f"inrush.guards.{module.name}"), "GUARDS", ())
    return tuple(sorted(found, key=lambda guard: list(About).index(guard.about)))


def run_guards() -> list[Guard]:
    return [guard for guard in every_guard() if isinstance(guard, Guard)]


def study_guards() -> list[StudyGuard]:
    return [guard for guard in every_guard() if isinstance(guard, StudyGuard)]
