"""May a figure of one run decide something: a stop rule, a search, what is sustained? Pure.

A decision is taken with the figure as measured and as if the client had been on time. Where both decide alike, lateness
decided nothing, however far the two ends lie apart. Every other cause that makes the figure invalid forbids a decision,
except one: a run that was cut at its time limit needed at least as long as it shows. A decision against a server that lacked
what other processes took is none (`analysis/lack.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import isfinite

from inrush.analysis.lack import Lack, lack_of, lacked
from inrush.analysis.points import Analysis, Measured, say
from inrush.analysis.verdicts import Verdict
from inrush.stats.extremes import largest_said, why_without
from inrush.stats.figure_names import kind_and_quantile
from inrush.stats.trials import Trial, Tried
from inrush.text import counted, number

#: Guards whose verdicts leave some decisions standing.
ENDED, CLIENT_ON_TIME = "ended as planned", "client on time"


@dataclass(frozen=True)
class Objection:
    """Why a decision by a figure is none; or, where it `stands`, what must be said with it."""

    why: str
    stands: bool = False


def objection(
    m: Measured, on_time: Measured, figure: str, decides: Callable[[float], bool], missing: float
) -> Objection | None:
    """None where the figure decides. on_time: the same run with a client on time; missing: in place of no figure."""
    value, other = (x.figures.get(figure, missing) for x in (m, on_time))
    if decides(value) != decides(other):
        return Objection(
            f"{figure} is {number(value, 4)}, with a client on time {number(other, 4)}: the client's lateness decides"
        )
    broken = [v for v in m.broken(figure) if not (v.guard == CLIENT_ON_TIME and value != other)]
    for v in broken:
        if not is_cut(m, v):
            return Objection(f"{figure} is invalid: {v.guard}: {v.sentence}")
    return (
        Objection("that run was cut at its time limit, and shows the least", stands=True) if broken else None
    )


def is_cut(m: Measured, verdict: Verdict) -> bool:
    """Cut at its time limit, and at nothing else."""
    ends = {s["ended_by"] for s in m.run.rows("segments")}
    return verdict.guard == ENDED and not verdict.hides and "limit" in ends and not ends & {"stop", "error"}


def cut_steps(analysis: Analysis) -> list[tuple[str, str]]:
    """Run and sentence of every run that went on although a step of it was cut: its answer may rest on other steps."""
    return [
        (m.run.run_id, v.sentence)
        for m in analysis.runs
        for v in m.verdicts
        if is_cut(m, v) and any(s.get("step") and s["ended_by"] == "limit" for s in m.run.rows("segments"))
    ]


def tried(m: Measured, on_time: Measured, figure: str, at_least: float) -> Tried:
    """Whether the run reached so much of a figure; without the figure it did not, nothing of it was stored."""

    def reaches(value: float) -> bool:
        return value >= at_least

    found = objection(m, on_time, figure, reaches, missing=0.0)
    reached = reaches(m.figures.get(figure, 0.0))
    if found is not None and (reached or not found.stands):
        return Tried(Trial.UNDECIDED, m.run.block, found.why)
    if not reached and (lack := lacked(m.run, m.figures, figure)) is not None:
        return Tried(Trial.UNDECIDED, m.run.block, lack.words)
    return Tried(Trial.HELD if reached else Trial.FAILED, m.run.block)


def above(m: Measured, on_time: Measured, figure: str, limit: float) -> Objection | None:
    """What speaks against a decision by this figure, which is above the limit."""
    found = objection(m, on_time, figure, lambda value: value > limit, missing=float("-inf"))
    if (found is None or found.stands) and (lack := lacked(m.run, m.figures, figure)) is not None:
        return Objection(f"{figure} is {number(m.figures.get(figure, float('-inf')), 4)}, and {lack.words}")
    return found


def crossings(analysis: Analysis, figure: str, limit: float) -> list[Measured]:
    """Counted runs in which a figure is above its limit of `[accept]`: those that decide it, else all."""
    over = [
        (m, above(m, on_time, figure, limit))
        for m, on_time in zip(analysis.runs, analysis.on_time.runs, strict=True)
        if m.enters(figure) and m.figures.get(figure, 0.0) > limit
    ]
    return [m for m, found in over if found is None or found.stands] or [m for m, _ in over]


def undecided_limits(analysis: Analysis) -> dict[str, list[tuple[Measured, Lack]]]:
    """Limits of `[accept]` that only runs crossed whose server lacked what others took."""
    found = {}
    for figure, limit in (analysis.study.get("accept") or {}).items():
        over = crossings(analysis, figure, limit)
        lacks = [(m, lack) for m in over if (lack := lacked(m.run, m.figures, figure)) is not None]
        if lacks and len(lacks) == len(over):
            found[figure] = lacks
    return found


def crossed(analysis: Analysis) -> list[str]:
    """Limits of `[accept]` that a counted run crossed, as sentences. A percentile without a value crosses every limit."""
    found, undecided = [], undecided_limits(analysis)
    for figure, limit in (analysis.study.get("accept") or {}).items():
        over = crossings(analysis, figure, limit)
        if not over:
            continue
        m = max(over, key=lambda m: m.figures[figure])
        entered = [m for m in analysis.runs if m.enters(figure) and figure in m.figures]
        lack = next((lack for of, lack in undecided.get(figure, ()) if of is m), None)
        doubt = "; the figure is INVALID" if analysis.broken(figure, m.point) else ""
        found.append(
            f"{crossing_said(figure, m.figures)} at {say(m.point)}; accepted is at most {number(limit, 4)}"
            f" (crossed in {sum(m.figures[figure] > limit for m in entered)} of {counted(len(entered), 'run')})"
            f"{doubt if lack is None else f'; not decided: {lack.words}'}"
        )
    return found


def crossing_said(figure: str, figures: Mapping[str, float]) -> str:
    """`writers.latency_p99_s is 2.1 (max of 41)`, `writers has no latency p99: 5 of 55 calls were not sent`."""
    if not isfinite(figures[figure]):
        role, metric = figure.rsplit(".", 1)
        return (
            f"{role} has no {' '.join(kind_and_quantile(metric)).strip()}: {why_without(figure, [figures])}"
        )
    few = largest_said(figure, [figures])
    return f"{figure} is {number(figures[figure], 4)}{f' ({few})' if few else ''}"


def undecided_by(late: Sequence[Measured], figure: str) -> str:
    """Which processes took what the server lacked, where that was so in every run that was late; empty where one run shows it by itself."""
    lacks = [lack for m in late if m.broken(figure) and (lack := lack_of(m.run)) is not None]
    return max(lacks, key=lambda lack: lack.others).words if lacks and len(lacks) == len(late) else ""
