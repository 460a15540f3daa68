"""The answer to a study's question, with its interval; decided from the points alone. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from inrush.analysis.comparability import EQUAL_DURABILITY, default_along, refused
from inrush.analysis.moved import moved_sentence
from inrush.analysis.parts import (
    Part,
    Try,
    best_part,
    comparison_part,
    curve_part,
    keeps_up_part,
    level_part,
    levels_off_part,
    scaling_part,
    spread,
    sustained_part,
)
from inrush.analysis.points import Analysis, Point, headline, say
from inrush.analysis.settled import Values, apart, ranked
from inrush.analysis.verdicts import Outcome, Verdict, by_guard, of_runs, worst_said
from inrush.analysis.wording import name
from inrush.metrics import counts_faults, lower_is_better

#: The best and its nearest contenders, that are made again with fresh rows.
MOST_CONFIRMED = 3


#: Kinds that ask whether a load is kept up with: of each value whether it is, or whether that is undecided.
PACED = ("keeps_up", "sustained")

#: Kinds in which points of one group compete; in the others every point of a group has a value of its own.
COMPETING = ("best", "comparison")


#: Kind -> what decides a group of points.
DECIDE = {
    "best": best_part,
    "curve": curve_part,
    "scaling": scaling_part,
    "comparison": comparison_part,
    "keeps_up": keeps_up_part,
    "sustained": sustained_part,
    "levels_off": levels_off_part,
}


@dataclass(frozen=True)
class Answer:
    kind: str
    figure: str
    along: str
    parts: Sequence[Part]
    #: Sentences that belong to no part: why engines are not compared, a trend, the spread of a curve.
    remarks: Sequence[str] = ()

    def try_of(self, point: Point) -> Try | None:
        return next((t for part in self.parts if (t := part.try_of(point)) is not None), None)


def answer(analysis: Analysis) -> Answer | None:
    """What was decided, and which parts of it are invalid; None when nothing was asked and nothing measured."""
    found = decided(analysis)
    if found is None:
        return None
    return replace(found, parts=[judged(analysis, found, part) for part in found.parts])


def decided(analysis: Analysis) -> Answer | None:
    """The answer by its figures alone, whatever the guards say of them."""
    figure = headline(analysis)
    if figure is None:
        return None
    asked: Mapping[str, Any] = analysis.study.get("answer") or {}
    along = asked.get("along") or default_along(analysis.factors)
    kind = str(asked.get("kind") or ("curve" if along else "comparison"))
    if along is None:
        along, kind = "engine", "comparison"
    per = tuple(asked.get("per") or ())
    found = groups_of(analysis, kind, figure, along, per)
    why = refused(analysis)
    remarks = [spread(found) if kind == "curve" else "", moved_sentence(analysis, figure) or ""]
    decide = DECIDE[kind]
    if why is not None and any(len(engines_of(of)) > 1 for of in found.values()):
        remarks = [
            f"No engine is held against another: acknowledged rows survive different things ({why})",
            remarks[1],
        ]
        found, decide = each_engine(found), level_part if along == "engine" else decide
    parts = [
        replace(decide(analysis, figure, along, group, of), points=tuple(of)) for group, of in found.items()
    ]
    return Answer(kind, figure, along, parts, [remark for remark in remarks if remark])


def groups_of(
    analysis: Analysis, kind: str, figure: str, along: str, per: Sequence[str]
) -> dict[Point, Values]:
    """The groups of an answer of this kind: one part each."""
    found = groups(analysis, figure, along, per)
    return found if kind in COMPETING else apart(analysis, found, along)


def judged(analysis: Analysis, found: Answer, part: Part) -> Part:
    """The part; where its figure is invalid at points that it speaks of, or nothing is decided between them, why that is so in
    place of what it has. Other parts stand.

    A load that is tried has of each value whether it is undecided, and why.
    """
    where = {p: broken for p in part.points if (broken := analysis.broken(found.figure, p))}
    open_ = no_decision(analysis, part.points)
    if where:
        guard, its = next(iter(by_guard([pair for broken in where.values() for pair in broken]).items()))
        point = next(p for p, broken in where.items() if its[0] in broken)
        runs = sum((m.counts or m.run.confirms) and m.point in part.points for m in analysis.runs)
        more = f" and {len(where) - 1} more of {len(part.points)} points" if len(where) > 1 else ""
        why = f"{name(found.figure)} at {say(point)}{more}: {guard}: {its[0][1].sentence}{of_runs(its, runs)}"
    elif open_:
        why = f"no decision by {name(found.figure)}: {worst_said(open_)}"
    else:
        return part
    if found.kind in PACED and all(run for broken in where.values() for run, _ in broken):
        return replace(part, invalid=why)
    return Part(part.group, (), points=part.points, invalid=why)


def no_decision(analysis: Analysis, points: Sequence[Point]) -> list[Verdict]:
    """Verdicts of the study by which the figures of these points stand and no decision between them does.

    Where rows survive different things the parts hold no engine against another.
    """
    return [
        v
        for v in analysis.study_verdicts
        if v.outcome is Outcome.INVALID
        and v.figures == ()
        and v.guard != EQUAL_DURABILITY
        and points
        and (v.points is None or not set(points).isdisjoint(v.points))
    ]


def contenders(analysis: Analysis) -> list[Point]:
    """What fresh repeats confirm: of every group its best point, and the nearest that cannot be distinguished from it."""
    asked: Mapping[str, Any] = analysis.study.get("answer") or {}
    figure, along = headline(analysis), asked.get("along")
    if figure is None or along is None or asked.get("kind") != "best":
        return []
    found = groups(analysis, figure, along, tuple(asked.get("per") or ()))
    if refused(analysis) is not None:
        found = each_engine(found)
    return [
        point
        for of in found.values()
        for point in [p for p, in_set in ranked(of, figure) if in_set][:MOST_CONFIRMED]
    ]


def groups(analysis: Analysis, figure: str, along: str, per: Sequence[str]) -> dict[Point, Values]:
    """Group -> its points. Without `per` everything that varies but `along` makes a group, so that a group
    has one point for each value of `along`; with it, what is in neither competes."""
    names = [n for n in per or analysis.factors if n != along]
    values_by_point: dict[Point, Values] = {}
    for point, of in analysis.values(figure).items():
        held = dict(point)
        group = tuple((n, held[n]) for n in names if n in held)
        # A rate of 0 is the worst there is, a count of faults the best. Another cost of 0 was not measured.
        values_by_point.setdefault(group, {})[point] = {
            b: v for b, v in of.items() if v > 0 or not lower_is_better(figure) or counts_faults(figure)
        }
    return {g: {p: of for p, of in v.items() if of} for g, v in values_by_point.items() if any(v.values())}


def each_engine(found: Mapping[Point, Values]) -> dict[Point, Values]:
    """The groups again, with one engine in each."""
    return {
        (("engine", engine), *(kv for kv in group if kv[0] != "engine")): {
            p: v for p, v in of.items() if dict(p)["engine"] == engine
        }
        for group, of in found.items()
        for engine in engines_of(of)
    }


def engines_of(of: Values) -> list[Any]:
    return list(dict.fromkeys(dict(p)["engine"] for p in of))
