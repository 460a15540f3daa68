"""From sealed runs to an Analysis with the guards over the whole study. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from inrush.analysis.knees import knee_figures
from inrush.analysis.points import Analysis, Measured
from inrush.guards.run import guard_run, guard_study
from inrush.stats.client_overhead import client_overhead
from inrush.stats.measures import figures_of_run, step_figure
from inrush.stats.record import RunRecord, StudyRecord
from inrush.stats.steps import of_step, segments_of_steps


def analyse(record: StudyRecord) -> Analysis:
    measured = []
    for run in record.runs:
        figures = figures_of_run(run) | knee_figures(run)
        calibration = record.calibrations.get(str(run.labels.get("point", "")))
        if calibration is not None:
            figures |= overhead(run, calibration)
        measured.append(Measured(run, figures, guard_run(run, figures)))
    return analysis_of(record, measured)


def overhead(run: RunRecord, calibration: RunRecord) -> dict[str, float]:
    """The client overhead, of a run or of each of its steps."""
    steps = segments_of_steps(run)
    if not steps:
        return client_overhead(run, calibration)
    return {
        step_figure(step, name): value
        for step in steps
        for name, value in client_overhead(of_step(run, step), calibration).items()
    }


def analysis_of(record: StudyRecord, runs: Sequence[Measured]) -> Analysis:
    """With the guards that every study has."""
    return Analysis(record, runs, guard_study)
