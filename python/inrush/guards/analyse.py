"""From sealed runs to an Analysis with the guards over the whole study. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from inrush.analysis.knees import knee_figures
from inrush.analysis.points import Analysis, Measured
from inrush.guards.run import guard_run, guard_study
from inrush.stats.record import RunRecord, StudyRecord
from inrush.stats.run_figures import figures_by_step, run_figures


def analyse(record: StudyRecord) -> Analysis:
    prices = record.calibrations
    return analysis_of(
        record, [measured_run(run, prices.get(str(run.labels.get("point", "")))) for run in record.runs]
    )


def measured_run(run: RunRecord, calibration: RunRecord | None = None) -> Measured:
    """A run with its figures and the verdicts of the guards. calibration: the same work on the null engine."""
    steps = figures_by_step(run, calibration)
    figures = run_figures(run, steps) | knee_figures(run)
    return Measured(run, figures, guard_run(run, figures, steps))


def analysis_of(record: StudyRecord, runs: Sequence[Measured]) -> Analysis:
    """With the guards that every study has."""
    return Analysis(record, runs, guard_study)
