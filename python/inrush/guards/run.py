"""Guards: what could make a figure a lie, asked of every run and of the study. Pure; `docs/measuring.md` lists them.

A verdict is `pass`, `not checked` (there was nothing to check), `note` (read the figure with this in mind) or `invalid`
(the figures that it names are not of the engine, or not of the work). Every guard gives every run one verdict.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from inrush.analysis.points import Analysis
from inrush.analysis.verdicts import Figures, Verdict
from inrush.guards.ended import ENDED
from inrush.guards.guard import run_guards, study_guards
from inrush.guards.steps import guard_steps, of_steps
from inrush.stats.record import RunRecord
from inrush.stats.run_figures import StepFigures


def guard_study(analysis: Analysis) -> list[Verdict]:
    return [guard(analysis) for guard in study_guards()]


def guard_run(run: RunRecord, figures: Figures, steps: Mapping[str, StepFigures]) -> list[Verdict]:
    """The verdict of every guard on one run; of a run that failed, only that it did.

    What is true of a run is asked of it once; what is about the work, of every step. steps: `figures_by_step`.
    """
    end = ENDED(run, figures)
    if end.hides:
        return [end]
    found = [
        guard(run, figures) if guard.of_run else guard_steps(guard, steps, figures) for guard in run_guards()
    ]
    return [with_totals(verdict, run, figures) for verdict in found]


def with_totals(verdict: Verdict, run: RunRecord, figures: Figures) -> Verdict:
    """A figure over several steps stands on those of each of them."""
    if verdict.figures is None:
        return verdict
    touched = {name.partition(".")[0] for name in verdict.figures}
    shaken = [name for name, steps in run.labels.get("totals", {}).items() if touched & set(steps)]
    return replace(verdict, figures=(*verdict.figures, *of_steps(figures, shaken))) if shaken else verdict


def conditions_last(names: Iterable[str]) -> list[str]:
    """Names of guards in their order, those of the conditions of a whole study at the end."""
    of_conditions = {guard.name for guard in run_guards() if guard.of_conditions}
    return sorted(names, key=of_conditions.__contains__)
