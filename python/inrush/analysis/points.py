"""From sealed runs to points: what each was measured to be, and what must be known beside it. Pure.

StudyRecord ─ analyse ─▶ Analysis: runs with figures and verdicts ─▶ points ─▶ the answer
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from inrush.guards.run import guard_run
from inrush.guards.verdicts import Outcome, Verdict, worst
from inrush.results.histogram import Histogram, merge
from inrush.stats import stats
from inrush.stats.measures import RunRecord, StudyRecord, figures_of_run, measured_windows, role_histograms
from inrush.stats.own_share import own_share

Point = tuple[tuple[str, Any], ...]


@dataclass(frozen=True)
class Measured:
    """One run with its figures and its verdicts."""

    run: RunRecord
    figures: Mapping[str, float]
    verdicts: Sequence[Verdict]

    @property
    def point(self) -> Point:
        return point_key(self.run.point)

    @property
    def counts(self) -> bool:
        """Enters figures: not of the pilot, and its rows and answers are right."""
        return self.run.block > 0 and not self.run.confirms and not self.hidden

    @property
    def hidden(self) -> bool:
        return any(v.hides for v in self.verdicts)

    @property
    def outcome(self) -> Outcome:
        return worst(self.verdicts)


@dataclass(frozen=True)
class PointSummary:
    """A figure at a point: all its runs in one line of the report."""

    point: Point
    figure: str
    #: One value per counted run, in the order measured; blocks beside them.
    values: tuple[float, ...]
    blocks: tuple[int, ...]
    #: Of the geometric mean; None for fewer than two runs.
    interval: stats.Interval | None
    outliers: int
    outcome: Outcome

    @property
    def median(self) -> float:
        return float(np.median(self.values))


@dataclass(frozen=True)
class Analysis:
    record: StudyRecord
    runs: Sequence[Measured]

    @property
    def study(self) -> Mapping[str, Any]:
        return self.record.study

    @cached_property
    def points(self) -> list[Point]:
        """Every point with a sealed run: engine by engine, then factors in their order."""
        found = list(dict.fromkeys(m.point for m in self.runs))
        rank = {name: {value: i for i, value in enumerate(values)} for name, values in self.factors.items()}
        return sorted(found, key=lambda p: [rank[name][value] for name, value in p if name in rank])

    @cached_property
    def factors(self) -> dict[str, list[Any]]:
        """Factor -> the values that ran or were to run, numbers ascending; only those that vary, engine always."""
        found: dict[str, dict[Any, None]] = {}
        for point in [*(m.run.point for m in self.runs), *(dict(a.point) for a in self.record.absent)]:
            for name, value in point.items():
                found.setdefault(name, {})[freeze(value)] = None
        return {
            name: sorted(values) if all(is_number(v) for v in values) else list(values)
            for name, values in found.items()
            if len(values) > 1 or name == "engine"
        }

    def values(self, figure: str) -> dict[Point, dict[int, float]]:
        """Point -> block -> value, of the runs that count; points in the order planned."""
        found: dict[Point, dict[int, float]] = {}
        for m in self.runs:
            if m.counts and figure in m.figures:
                found.setdefault(m.point, {})[m.run.block] = m.figures[figure]
        return {point: found[point] for point in self.points if point in found}

    def fresh(self, figure: str) -> dict[Point, dict[int, float]]:
        """The same of the fresh repeats, which were made after the choice."""
        found: dict[Point, dict[int, float]] = {}
        for m in self.runs:
            if m.run.confirms and not m.hidden and figure in m.figures:
                found.setdefault(m.point, {})[m.run.block] = m.figures[figure]
        return found

    def summaries(self, figure: str, level: float = 0.95) -> list[PointSummary]:
        return [self.summary(point, of, figure, level) for point, of in self.values(figure).items()]

    def summary(self, point: Point, of: Mapping[int, float], figure: str, level: float) -> PointSummary:
        values = tuple(of[b] for b in sorted(of))
        positive = len(values) > 1 and min(values) > 0
        return PointSummary(
            point,
            figure,
            values,
            tuple(sorted(of)),
            stats.log_t(values, level) if positive else None,
            int(stats.outliers(values).sum()),
            worst(v for m in self.runs if m.point == point and m.counts for v in m.verdicts),
        )

    @cached_property
    def latencies(self) -> dict[tuple[Point, str], Histogram]:
        """(point, role) -> latency histogram of all its counted runs, merged."""
        parts: dict[tuple[Point, str], list[Histogram]] = {}
        for m in self.runs:
            if m.counts:
                for (role, kind), histogram in role_histograms(m.run, measured_windows(m.run)).items():
                    if kind == "latency" and histogram.n:
                        parts.setdefault((m.point, role), []).append(histogram)
        return {key: merge(found) for key, found in parts.items()}

    @cached_property
    def verdicts(self) -> list[tuple[str, Verdict]]:
        """(run id, verdict) of every run, and ("", verdict) of the study as a whole."""
        from inrush.analysis.study_guards import guard_study  # it reads an Analysis

        return [(m.run.run_id, v) for m in self.runs for v in m.verdicts] + [
            ("", v) for v in guard_study(self)
        ]

    @property
    def outcome(self) -> Outcome:
        return worst(v for _, v in self.verdicts)

    @property
    def valid(self) -> bool:
        return self.outcome is not Outcome.INVALID

    @cached_property
    def crossed(self) -> list[str]:
        """Limits of `[accept]` that a counted run crossed, as sentences."""
        found = []
        for figure, limit in (self.study.get("accept") or {}).items():
            over = [
                (m.figures[figure], m) for m in self.runs if m.counts and m.figures.get(figure, 0.0) > limit
            ]
            if over:
                value, m = max(over, key=lambda pair: pair[0])
                found.append(f"{figure} is {value:.4g} at {say(m.point)}; accepted is at most {limit:.4g}")
        return found


def analyse(record: StudyRecord) -> Analysis:
    measured = []
    for run in record.runs:
        figures = figures_of_run(run)
        calibration = record.calibrations.get(str(run.labels.get("point", "")))
        if calibration is not None:
            figures |= own_share(run, calibration)
        measured.append(Measured(run, figures, guard_run(run, figures)))
    return Analysis(record, measured)


def point_key(point: Mapping[str, Any]) -> Point:
    return tuple((name, freeze(value)) for name, value in point.items())


def freeze(value: Any) -> Any:
    """Factor values are plain; a list or table of them is told by its parts."""
    if isinstance(value, Mapping):
        return str(value.get("name", ", ".join(f"{k} {v}" for k, v in value.items())))
    if isinstance(value, list | tuple):
        return " + ".join(str(v) for v in value)
    return value


def is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def say(point: Point | Mapping[str, Any]) -> str:
    """`duckdb, batch_rows 10,000, port_errors, no process_per_file`"""
    return ", ".join(say_value(name, value) for name, value in dict(point).items())


def say_value(name: str, value: Any) -> str:
    if isinstance(value, bool):  # True alone says nothing
        return name if value else f"no {name}"
    return f"{name} {value:,}" if is_number(value) else str(value)


def lower_is_better(figure: str) -> bool:
    return not figure.endswith(("_per_s", "_share", ".ok", ".rows", ".ops", ".bytes"))
