"""From sealed runs to points: what each was measured to be, and what must be known beside it. Pure.

StudyRecord ─ `analyse` ─▶ Analysis: runs with figures and verdicts ─▶ points ─▶ the answer
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from inrush.analysis.verdicts import Outcome, Verdict, worst
from inrush.metrics import counts_faults
from inrush.results.histogram import Histogram, merge
from inrush.stats import stats
from inrush.stats.brackets import brackets
from inrush.stats.extremes import largest_said, without_value
from inrush.stats.figure_names import grouped_figures
from inrush.stats.measures import measured_windows, role_histograms, writing_roles
from inrush.stats.paced import paced_roles
from inrush.stats.record import FloatArray, RunRecord, StudyRecord
from inrush.stats.samples import role_samples
from inrush.stats.waves import RoleWave, waves_of_run
from inrush.text import is_number as is_number

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

    def enters(self, figure: str) -> bool:
        """Whether the run's value of a figure counts. Wrong rows and answers take every time and rate of a run away, and not
        the counts that say how many were wrong."""
        repeated = self.run.block > 0 and not self.run.confirms
        return repeated and (not self.hidden or counts_faults(figure))

    @property
    def hidden(self) -> bool:
        return any(v.hides for v in self.verdicts)

    @property
    def outcome(self) -> Outcome:
        return worst(self.verdicts)

    def broken(self, figure: str) -> list[Verdict]:
        """Verdicts that make this figure of the run invalid."""
        return [v for v in self.verdicts if v.breaks(figure)]

    def on_time(self) -> Measured:
        """The same run as if its client had been on time: every bracketed figure at its other end."""
        other = {
            name: b.on_time for name, b in brackets(self.run, self.figures, paced_roles(self.run)).items()
        }
        return replace(self, figures={**self.figures, **other})


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
    #: `max of 41`: of a percentile above which no call of a run lies.
    few: str = ""
    #: Why it has no value in some runs: `failed`, `unsent`, …
    lacks: str = "failed"

    @property
    def failed(self) -> int:
        """Runs in which the figure has no value: so many of their calls failed, or were not sent."""
        return sum(not np.isfinite(v) for v in self.values)

    @property
    def centre(self) -> float:
        """The geometric mean, which the interval is of; the median where there is none."""
        return self.interval.value if self.interval is not None else float(np.median(self.values))


@dataclass(frozen=True)
class Analysis:
    record: StudyRecord
    runs: Sequence[Measured]
    #: The guards over the study as a whole. They read an Analysis and so stand above it: `analyse` names them.
    judge: Callable[[Analysis], list[Verdict]]

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
            if m.enters(figure) and figure in m.figures:
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
        runs = [m.figures for m in self.runs if m.point == point and m.enters(figure) and figure in m.figures]
        positive = len(values) > 1 and min(values) > 0 and bool(np.isfinite(values).all())
        return PointSummary(
            point,
            figure,
            values,
            tuple(sorted(of)),
            within_whole(figure, stats.log_t(values, level)) if positive else None,
            int(stats.outliers([v for v in values if np.isfinite(v)]).sum()),
            Outcome.INVALID if self.broken(figure, point) else Outcome.PASS,
            largest_said(figure, runs),
            without_value(figure, runs),
        )

    def broken(self, figure: str, point: Point) -> list[tuple[str, Verdict]]:
        """(run id, verdict) of what makes a figure invalid at a point; run id "" of the study's own verdicts."""
        return [(run, v) for run, v in self.invalid_at.get(point, ()) if v.breaks(figure)] + [
            ("", v) for v in self.study_verdicts if v.breaks(figure, point)
        ]

    @cached_property
    def invalid_at(self) -> dict[Point, list[tuple[str, Verdict]]]:
        """Point -> (run id, verdict) of the invalid verdicts on its runs that enter figures."""
        found: dict[Point, list[tuple[str, Verdict]]] = {}
        for m in self.runs:
            if m.counts or (m.run.confirms and not m.hidden):
                held = [(m.run.run_id, v) for v in m.verdicts if v.outcome is Outcome.INVALID]
                found.setdefault(m.point, []).extend(held)
        return found

    def broken_points(self, figure: str, points: Iterable[Point]) -> list[Point]:
        return [p for p in points if self.broken(figure, p)]

    @cached_property
    def on_time(self) -> Analysis:
        """The same study as if its client had been on time: what was decided is decided again with it."""
        found = Analysis(self.record, [m.on_time() for m in self.runs], self.judge)
        found.__dict__["on_time"] = found  # it is on time already: nothing is taken from it twice
        return found

    @cached_property
    def latencies(self) -> dict[tuple[Point, str], Histogram]:
        """(point, role) -> latency histogram of all its counted runs, merged."""
        parts: dict[tuple[Point, str], list[Histogram]] = {}
        for m in self.runs:
            if m.counts:
                for (role, kind), histogram in role_histograms(m.run, measured_windows(m.run)).items():
                    if kind == "latency" and histogram.calls:
                        parts.setdefault((m.point, role), []).append(histogram)
        return {key: merge(found) for key, found in parts.items()}

    @cached_property
    def sample_times(self) -> dict[tuple[Point, str], FloatArray]:
        """(point, role) -> seconds from due until stored of every sample of its counted runs, ascending; infinite where it
        never was stored."""
        parts: dict[tuple[Point, str], list[FloatArray]] = {}
        for m in self.runs:
            if m.counts:
                for role, sampled in role_samples(m.run, measured_windows(m.run)).items():
                    parts.setdefault((m.point, role), []).append(sampled.sample_s)
        return {key: np.sort(np.concatenate(found)) for key, found in parts.items()}

    @cached_property
    def waves(self) -> dict[Point, dict[str, list[RoleWave]]]:
        """Point -> role -> the strongest period of its throughput in each counted run that has intervals enough."""
        found: dict[Point, dict[str, list[RoleWave]]] = {}
        for m in self.runs:
            if m.counts:
                for w in waves_of_run(m.run):
                    found.setdefault(m.point, {}).setdefault(w.of.name, []).append(w)
        return found

    @cached_property
    def verdicts(self) -> list[tuple[str, Verdict]]:
        """(run id, verdict) of every run, and ("", verdict) of the study as a whole."""
        return [(m.run.run_id, v) for m in self.runs for v in m.verdicts] + [
            ("", v) for v in self.study_verdicts
        ]

    @cached_property
    def study_verdicts(self) -> list[Verdict]:
        return self.judge(self)

    @cached_property
    def decisive(self) -> list[str]:
        """Figures that the study's answer and its limits are made of."""
        asked = headline(self)
        return [*([asked] if asked else []), *(self.study.get("accept") or {})]

    @cached_property
    def invalidating(self) -> list[tuple[str, Verdict]]:
        """(run id, verdict) of what makes the study's result invalid: wrong as a whole, or in a figure that decides.

        Invalid figures that nothing was asked of stay invalid where they are shown, and the result stands.
        A pilot enters no figure: of its verdicts only those about the whole run count. A verdict of the study that names no
        figure at all is about the answer itself.
        """
        return [
            (m.run.run_id, v)
            for m in self.runs
            for v in m.verdicts
            if v.outcome is Outcome.INVALID
            and (
                v.figures is None
                or ((m.counts or m.run.confirms) and any(v.breaks(f) for f in self.decisive))
            )
        ] + [
            ("", v)
            for v in self.study_verdicts
            if v.outcome is Outcome.INVALID and (not v.figures or any(v.breaks(f) for f in self.decisive))
        ]

    @property
    def outcome(self) -> Outcome:
        """Of the study's result: an invalid figure that decides nothing is a note to it."""
        if self.invalidating:
            return Outcome.INVALID
        found = worst(v for _, v in self.verdicts)
        return Outcome.NOTE if found is Outcome.INVALID else found

    @property
    def valid(self) -> bool:
        return not self.invalidating

    @cached_property
    def answer_outcome(self) -> Outcome:
        """Of the answer alone: an invalid figure that only a limit rests on leaves it as it is."""
        asked = headline(self)
        if any(not v.figures or (asked is not None and v.breaks(asked)) for _, v in self.invalidating):
            return Outcome.INVALID
        return Outcome.NOTE if self.invalidating else self.outcome

    def undecided(self, verdicts: Iterable[Verdict]) -> str:
        """`latency p99 of readers`: of the figures that decide, those that these make invalid; empty where it is a whole run."""
        held = [v for v in verdicts if v.figures]
        return grouped_figures(dict.fromkeys(f for f in self.decisive if any(v.breaks(f) for v in held)))


def point_key(point: Mapping[str, Any]) -> Point:
    return tuple((name, freeze(value)) for name, value in point.items())


def freeze(value: Any) -> Any:
    """Factor values are plain; a list or table of them is shown by its parts."""
    if isinstance(value, Mapping):
        return str(value.get("name", ", ".join(f"{k} {v}" for k, v in value.items())))
    if isinstance(value, list | tuple):
        return " + ".join(str(v) for v in value)
    return value


def say(point: Point | Mapping[str, Any]) -> str:
    """`duckdb, batch_rows 10,000, port_errors, no process_per_file`"""
    return ", ".join(say_value(name, value) for name, value in dict(point).items())


def say_value(name: str, value: Any) -> str:
    if isinstance(value, bool):  # True alone says nothing
        return name if value else f"no {name}"
    return f"{name} {value:,}" if is_number(value) else str(value)


def headline(analysis: Analysis) -> str | None:
    """The figure that the study is about: that of its answer, else the first role's makespan or latency."""
    answer = analysis.study.get("answer")
    if answer:
        return str(answer["of"])
    measured = {name for m in analysis.runs for name in m.figures}
    for metric in ("makespan_s", "rows_per_s", "latency_p99_s"):
        for role in roles(analysis):
            if f"{role}.{metric}" in measured:
                return f"{role}.{metric}"
    return None


def roles(analysis: Analysis) -> list[str]:
    """Roles with repetitions, those that put rows in first; wholes only, not the parts of a split role."""
    found = dict.fromkeys(k.rsplit(".", 1)[0] for m in analysis.runs for k in m.figures if k.endswith(".ops"))
    writers = {role for m in analysis.runs for role in writing_roles(m.run.plan)}
    return sorted((r for r in found if "/" not in r), key=lambda r: r not in writers)


def within_whole(figure: str, found: stats.Interval) -> stats.Interval:
    """A share is at most 1: the law of its interval knows no such limit."""
    if not figure.endswith("_share") or found.value > 1:
        return found
    return replace(found, high=min(found.high, 1.0))
