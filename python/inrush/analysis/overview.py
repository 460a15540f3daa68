"""One row for each engine: what it did at the point that the study asks about, and which of it is invalid. Pure.

A question of a best value is about each engine's best point, a paced one about the heaviest load that every engine was
measured at. Where other factors vary too, all rows are of one condition: the first that most engines have, of a paced
study the last.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from math import isfinite
from typing import Any

from inrush.analysis.answer import DECIDE, PACED, Answer, groups_of, no_decision
from inrush.analysis.parts import Part, Try
from inrush.analysis.percentiles import merged_s, percentile_of
from inrush.analysis.points import Analysis, Measured, Point, roles, say
from inrush.analysis.run_facts import is_instrument, promised
from inrush.analysis.settled import Values
from inrush.analysis.verdicts import Outcome
from inrush.analysis.wording import centre, ordered, own_interval
from inrush.stats import stats
from inrush.stats.extremes import largest_said, why_without, without_value
from inrush.stats.growing import grew, growing_tables
from inrush.stats.headroom import client_share, idle_share
from inrush.stats.measures import scheduled_operations, whole, writing_roles
from inrush.stats.quantity import rate_of
from inrush.stats.record import RunRecord

#: Kinds of which an engine's point is chosen among several: an invalid one of them may have been the best.
CHOSEN = ("best", "comparison", "sustained", "levels_off")


@dataclass(frozen=True)
class Cell:
    """A figure of a row; `broken`: a guard makes it invalid."""

    figure: str
    value: float
    #: Of the runs' own values; of a percentile it only says how far they lie apart.
    interval: stats.Interval | None
    #: Each run's own.
    values: tuple[float, ...]
    broken: bool
    #: `max of 41`: of a percentile of the runs, above which no call of a run lies.
    few: str = ""
    #: Why it has no value, where it has none: in a word, and in a sentence.
    lacks: str = ""
    because: str = ""


@dataclass(frozen=True)
class EngineRow:
    engine: str
    #: None where no run of the engine counts.
    point: Point | None = None
    #: Where a value was chosen among several points, all of them.
    tried: tuple[Point, ...] = ()
    #: What is decided of this engine by itself.
    part: Part | None = None
    runs: int = 0
    #: Whether these are fresh repeats, made after the value was chosen.
    fresh: bool = False
    #: What the sentence states: the answer's figure, of a fixed job its rate.
    stated: Cell | None = None
    rate: Cell | None = None
    write: Cell | None = None
    read: Cell | None = None
    idle_share: float | None = None
    client_share: float | None = None
    survives: str = ""
    #: Figures that decide the row, or that it shows, and that are invalid.
    broken: tuple[str, ...] = ()
    #: Guards that say so.
    guards: tuple[str, ...] = ()
    #: Of an engine that was left out: why it has no run.
    absent: str = ""
    #: Whether a guard has a note on a run of the row, or on the study at its points.
    noted: bool = False
    #: Guards by which the figure that the sentence rests on stands, and no decision by it.
    open: tuple[str, ...] = ()
    #: Whether that figure is invalid, or nothing is decided by it; another one of `broken` leaves the row's answer as it is.
    undecided: bool = False
    #: What the answer's role read while another one wrote it: `Readers queried t while it grew from 0 to 50,000 rows …`.
    growing: str = ""

    @property
    def tries(self) -> tuple[Try, ...]:
        return self.part.tries if self.part is not None else ()

    @property
    def here(self) -> Try | None:
        """What is decided of its point."""
        return next((t for t in self.tries if t.point == self.point), None)


@dataclass(frozen=True)
class Overview:
    #: What all rows share beside `along`, and how many other conditions there are.
    condition: Point
    others: int
    #: Figure that the sentence states.
    stated: str
    #: Figures of the columns; None where no row has it.
    rate: str
    write: str | None
    read: str | None
    rows: Sequence[EngineRow]


def overview(analysis: Analysis, found: Answer | None, condition: Point | None = None) -> Overview | None:
    """None where nothing was asked and measured. condition: one of `by_condition`; None: the one that stands for all."""
    if found is None:
        return None
    asked = asked_points(analysis, found, condition)
    points = [point for point, _ in asked.points.values()]
    rate = rate_figure(analysis, found.figure)
    stated = rate if found.figure.endswith(".makespan_s") else found.figure
    write, read = write_figure(analysis, found, points), read_figure(analysis, found, points)
    rows = [
        engine_row(analysis, found, engine, *asked.points[engine], (stated, rate, write, read))
        if engine in asked.points
        else EngineRow(
            engine,
            runs=sum(m.counts and m.run.engine == engine for m in analysis.runs),
            absent=absent_words(analysis, engine),
        )
        for engine in engines(analysis)
    ]
    return Overview(asked.condition, asked.others, stated, rate, write, read, rows)


def absent_words(analysis: Analysis, engine: str) -> str:
    """Why an engine has no run at any point, each reason once; empty where it has runs, or nothing is known."""
    if any(m.run.engine == engine for m in analysis.runs):
        return ""
    reasons = [f"{a.why}: {a.reason}" for a in analysis.record.absent if a.point.get("engine") == engine]
    return "; ".join(dict.fromkeys(reasons))


def engines(analysis: Analysis) -> list[str]:
    """Those that were to run; engines that keep nothing are left out unless there are no others."""
    every = [str(e) for e in analysis.factors.get("engine", ())]
    return [e for e in every if not is_instrument(e)] or every


# --- which points


@dataclass(frozen=True)
class Asked:
    condition: Point
    others: int
    #: Engine -> its point, and what was decided of the points that it was chosen among.
    points: Mapping[str, tuple[Point, Part]]


def asked_points(analysis: Analysis, found: Answer, condition: Point | None = None) -> Asked:
    conditions = by_condition(analysis, found)
    if not conditions:
        return Asked((), 0, {})
    most = max(len(of) for of in conditions.values())
    widest = [rest for rest, of in conditions.items() if len(of) == most]
    if condition is None:
        condition = widest[-1 if found.kind in PACED else 0]
    held = conditions[condition]
    last = last_shared(held.values(), found.along)
    parts = {
        engine: replace(DECIDE[found.kind](analysis, found.figure, found.along, (), of), points=tuple(of))
        for engine, of in held.items()
    }
    return Asked(
        condition,
        len(conditions) - 1,
        {engine: (asked_point(found, part, last), part) for engine, part in parts.items()},
    )


def by_condition(analysis: Analysis, found: Answer) -> dict[Point, dict[str, Values]]:
    """What varies beside `along` and the engine -> engine -> its points."""
    per = tuple((analysis.study.get("answer") or {}).get("per") or ())
    known = set(engines(analysis))
    conditions: dict[Point, dict[str, Values]] = {}
    for group, of in groups_of(analysis, found.kind, found.figure, found.along, per).items():
        rest = tuple((k, v) for k, v in group if k != "engine")
        for point, values in of.items():
            if (engine := str(dict(point)["engine"])) in known:
                conditions.setdefault(rest, {}).setdefault(engine, {})[point] = values
    return conditions


def last_shared(held: Iterable[Values], along: str) -> Any:
    """The largest value of `along` that every engine was measured at; None where they share none."""
    values = [{dict(p).get(along) for p in of} for of in held]
    shared = reduce(set.intersection, values) - {None}
    return ordered(shared)[-1] if shared and all(isinstance(v, int | float) for v in shared) else None


def asked_point(found: Answer, part: Part, last: Any) -> Point:
    if found.kind in ("best", "comparison"):
        return part.tries[0].point
    by_value = {t.value: t.point for t in part.tries}
    if found.kind == "sustained":
        return by_value[part.best[0] if part.best else min(by_value)]
    if found.kind == "levels_off" and part.best:
        return by_value[part.best[0]]
    return by_value[last] if last in by_value else by_value[ordered(by_value)[-1]]


def fresh(analysis: Analysis, found: Answer, of: Iterable[Point], figure: str | None = None) -> Values:
    """Fresh repeats settle what is best; they enter no other answer."""
    if found.kind != "best":
        return {}
    made = analysis.fresh(figure or found.figure)
    return {p: made[p] for p in of if p in made}


# --- which figures


def rate_figure(analysis: Analysis, figure: str) -> str:
    """Rows or calls a second of the role that the answer is about, where they were measured; else the answer's own figure."""
    role = figure.rsplit(".", 1)[0]
    measured = {k for m in analysis.runs if m.counts for k, v in m.figures.items() if v > 0}
    return rate_of(figure, measured, any(role in writing_roles(m.run.plan) for m in analysis.runs))


def write_figure(analysis: Analysis, found: Answer, points: Sequence[Point]) -> str | None:
    """Percentile of the writing role: of its samples where it writes samples, else of its calls. The answer's role first."""
    mine = found.figure.rsplit(".", 1)[0]
    writing = {role for m in analysis.runs for role in writing_roles(m.run.plan) if role == whole(role)}
    for role in sorted(writing, key=lambda role: (role != mine, role)):
        for kind in ("sample", "latency"):
            if figure := percentile_of(analysis, points, role, kind):
                return figure
    return None


def read_figure(analysis: Analysis, found: Answer, points: Sequence[Point]) -> str | None:
    """Percentile of the calls of a role that reads: the answer's, else the first in the order of the plan."""
    mine = found.figure.rsplit(".", 1)[0]
    reads = dict.fromkeys(whole(role) for m in analysis.runs for role in reading_roles(m.run))
    reading = sorted(reads, key=lambda role: role != mine)
    known = set(roles(analysis))
    figures = (percentile_of(analysis, points, role, "latency") for role in reading if role in known)
    return next((figure for figure in figures if figure), None)


def reading_roles(run: RunRecord) -> list[str]:
    """Roles with no operation but queries."""
    kinds = {o["name"]: o["kind"] for o in run.plan.get("operations", ())}
    return [
        role
        for role, operations in scheduled_operations(run.plan).items()
        if operations and all(kinds.get(o) in READS for o in operations)
    ]


READS = ("query", "together", "extract")


# --- a row


def engine_row(
    analysis: Analysis,
    found: Answer,
    engine: str,
    point: Point,
    part: Part,
    figures: Sequence[str | None],
) -> EngineRow:
    counted = [m for m in analysis.runs if m.counts and m.point == point]
    again = fresh(analysis, found, [point])
    stated, rate, write, read = (cell(analysis, found, point, figure) for figure in figures)
    held = [found.figure, *(c.figure for c in (stated, rate, write, read) if c is not None)]
    behind = part.points if found.kind in CHOSEN else (point,)
    verdicts = [(f, v) for f in held for _, v in analysis.broken(f, point)]
    verdicts += [(found.figure, v) for p in behind for _, v in analysis.broken(found.figure, p)]
    broken = tuple(dict.fromkeys(f for f, _ in verdicts))
    answering = {found.figure, *([stated.figure] if stated is not None else [])}
    # A search takes a run by which nothing is decided as one that neither held nor failed.
    sure = found.kind == "sustained" or bool(answering & set(broken))
    open_ = [] if sure else [v.guard for v in no_decision(analysis, behind)]
    return EngineRow(
        engine,
        point,
        behind,
        part,
        len(again[point]) if point in again else len(counted),
        point in again,
        stated,
        rate,
        write,
        read,
        idle_share=least(idle_share(m.run) for m in counted),
        client_share=most(client_share(m.run, m.figures) for m in counted),
        survives=" or ".join(dict.fromkeys(promised(m.run) for m in counted)),
        broken=broken,
        open=tuple(open_),
        undecided=bool(answering & set(broken) or open_),
        growing=growing_read(counted, found.figure),
        guards=tuple(dict.fromkeys(v.guard for _, v in verdicts)),
        noted=any(
            v.outcome is Outcome.NOTE
            for v in [
                *(
                    v
                    for m in analysis.runs
                    if m.point in behind and (m.counts or m.run.confirms)
                    for v in m.verdicts
                ),
                *(v for v in analysis.study_verdicts if v.points is None or set(v.points) & set(behind)),
            ]
        ),
    )


def growing_read(counted: Sequence[Measured], figure: str) -> str:
    """What the figure's role read while it grew, in the run with the largest table; empty where all stood still."""
    role = whole(figure.rsplit(".", 1)[0])
    each = [growths for m in counted if (growths := growing_tables(m.run).get(role))]
    return grew(role, max(each, key=lambda of: max(g.end_rows for g in of))) if each else ""


def cell(analysis: Analysis, found: Answer, point: Point, figure: str | None) -> Cell | None:
    """The answer's figure is the `centre` of its runs; a percentile beside it is that of all calls of all runs."""
    if figure is None:
        return None
    of = fresh(analysis, found, [point], figure).get(point) or analysis.values(figure).get(point)
    if not of:
        return None
    merged = merged_s(analysis, point, figure) if figure != found.figure else None
    interval, value = own_interval(figure, of), merged
    if value is None:  # of kinds without histograms here: the largest of the runs' own
        largest = figure != found.figure and is_percentile(figure)
        value = max(of.values()) if largest else centre(of)
    broken = bool(analysis.broken(figure, point))
    runs = [m.figures for m in analysis.runs if m.point == point and (m.counts or m.run.confirms)]
    return Cell(
        figure,
        value,
        interval if isfinite(value) else None,
        tuple(of.values()),
        broken,
        few=largest_said(figure, runs) if merged is None else "",
        lacks=without_value(figure, runs),
        because=why_without(figure, runs),
    )


def is_percentile(figure: str) -> bool:
    return re.search(r"_p\d+_s$", figure) is not None


def least(values: Iterable[float | None]) -> float | None:
    return min((v for v in values if v is not None), default=None)


def most(values: Iterable[float | None]) -> float | None:
    return max((v for v in values if v is not None), default=None)


def where(row: EngineRow, seen: Overview, analysis: Analysis) -> str:
    """What is this engine's own of its point: the value that is best for it."""
    shared = {"engine", *dict(seen.condition)}
    return say(tuple((k, v) for k, v in row.point or () if k in analysis.factors and k not in shared))
