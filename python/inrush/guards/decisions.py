"""Decisions taken twice: with the figures as measured, and as if the client had been on time. Pure.

Between the two lies what a client that was on time would have seen. Where both decide the same, lateness decided nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypedDict

from inrush.analysis.answer import Answer, decided
from inrush.analysis.deciding import above, undecided_limits
from inrush.analysis.parts import Part
from inrush.analysis.points import Analysis, Measured, say
from inrush.analysis.verdicts import Verdict, invalid, not_checked, noted, passed
from inrush.analysis.wording import plain
from inrush.guards.guard import About, StudyGuard
from inrush.stats.brackets import on_time_name
from inrush.text import counted, number

DECISIONS, LIMITS, STOP_RULES = "decisions hold on time", "limits were measured", "stop rules stand"


class StopLimits(TypedDict):
    """As a study has it: larger values of `along` are not run where all of these figures are above their limits."""

    along: str
    above: Mapping[str, float]


def decisions_hold(analysis: Analysis) -> Verdict | None:
    """The answer and every limit of `[accept]`, decided again; None where no decisive figure has another end."""
    moved = [
        f for f in analysis.decisive if any(m.figures.get(f) != t.figures.get(f) for m, t in pairs(analysis))
    ]
    if not any(bracketed(analysis, figure) for figure in analysis.decisive):
        return None
    if not moved:
        return passed(DECISIONS, "No lateness of the client is in a figure that decides")
    found, on_time = decided(analysis), decided(analysis.on_time)
    differing = differing_parts(found, on_time)
    limits = differing_limits(analysis)
    if differing:
        part, other = differing[0]
        return invalid(
            DECISIONS,
            f"The client's lateness decides it. As measured: {decision(found, part)}; with a client on time: "
            f"{decision(on_time, other)}. Lower the rate, or give the client more cores",
            figures=(),
            points=[point for part, _ in differing for point in part.points],
        )
    if limits:
        return invalid(
            DECISIONS,
            f"{worst_limit(limits)}: the client's lateness decides whether the limit is crossed. Lower the rate, or give the client "
            "more cores",
            figures=[figure for figure, _, _ in limits],
            points=[m.point for _, m, _ in limits],
        )
    return passed(DECISIONS, "The answer and every limit are the same with a client on time")


def decision(found: Answer | None, part: Part | None) -> str:
    """`postgresql, clickhouse: postgresql is best`: which value was chosen, or which ones kept up."""
    if found is None or part is None:
        return "nothing"
    chosen = f"{found.along} {' or '.join(map(plain, part.best))}" if part.best else f"no {found.along}"
    verb = {"keeps_up": "keeps up", "sustained": "holds", "levels_off": "levels off"}.get(
        found.kind, "is best"
    )
    group = f"{say(part.group)}: " if part.group else ""
    return f"{group}{chosen} {verb}"


def worst_limit(limits: Sequence[tuple[str, Measured, str]]) -> str:
    """The largest value of the first figure, and in how many runs there is one."""
    mine = [(m, said) for figure, m, said in limits if figure == limits[0][0]]
    m, said = max(mine, key=lambda of: of[0].figures.get(limits[0][0], 0.0))
    return said + (f" (in {len(mine)} runs, the worst {m.run.run_id})" if len(mine) > 1 else "")


def pairs(analysis: Analysis) -> list[tuple[Measured, Measured]]:
    """Each run as measured, and with a client on time."""
    return list(zip(analysis.runs, analysis.on_time.runs, strict=True))


def bracketed(analysis: Analysis, figure: str) -> bool:
    """Whether lateness of the client could show in this figure, and another end of it is known."""
    other = on_time_name(figure)
    return any(m.figures.get(figure) != t.figures.get(figure) for m, t in pairs(analysis)) or any(
        other in m.figures for m in analysis.runs if other is not None
    )


def differing_parts(found: Answer | None, on_time: Answer | None) -> list[tuple[Part, Part | None]]:
    """Of the parts that speak of points: sentences beside them (of a trend, of a refused comparison) decide nothing, nor does
    an answer that says how a figure changes."""
    if found is None or found.kind in ("curve", "scaling"):
        return []
    others = {p.group: p for p in on_time.parts if p.points} if on_time else {}
    return [
        (part, others.get(part.group))
        for part in found.parts
        if part.points and not same_decision(found.kind, part, others.get(part.group))
    ]


def same_decision(kind: str, part: Part, other: Part | None) -> bool:
    """Of points that cannot be distinguished from the best, which one looks best is no decision: it must be in the other's set.

    A comparison also says which values are worse than the best: the same ones must be.
    """
    if other is None:
        return False
    if kind in ("keeps_up", "sustained", "levels_off"):
        return part.best == other.best
    if kind == "best":
        return not part.best or (part.best[0] in other.best and other.best[0] in part.best)
    if kind == "comparison":
        return set(part.best) == set(other.best)
    return True


def differing_limits(analysis: Analysis) -> list[tuple[str, Measured, str]]:
    """Limits that are crossed by what was measured and not with a client on time, or the other way about: figure, run, sentence."""
    found = []
    for figure, limit in (analysis.study.get("accept") or {}).items():
        for m, on_time in pairs(analysis):
            value, other = m.figures.get(figure, 0.0), on_time.figures.get(figure, 0.0)
            if m.counts and (value > limit) != (other > limit):
                said = f"{figure} at {say(m.point)} is {number(value, 4)}, with a client on time {number(other, 4)}, accepted is at most {number(limit, 4)}"
                found.append((figure, m, said))
    return found


def limits_checked(analysis: Analysis) -> Verdict | None:
    """A limit on a figure that no counted run has is crossed by nothing: it was not checked. One that runs crossed beside
    other programs alone is not decided."""
    limits = analysis.study.get("accept") or {}
    if not limits:
        return None
    counted = {f: [m for m in analysis.runs if m.enters(f)] for f in limits}
    measured = {f: sum(f in m.figures for m in runs) for f, runs in counted.items()}
    missing = [f for f, n in measured.items() if not n]
    if missing:
        return not_checked(LIMITS, f"No counted run measured {', '.join(missing)}: the limit says nothing")
    if undecided := undecided_limits(analysis):
        lack = max((lack for over in undecided.values() for _, lack in over), key=lambda lack: lack.others)
        return invalid(
            LIMITS,
            f"It is not decided whether {', '.join(undecided)} crosses its limit: {lack.words}. Repeat without the others",
            figures=undecided,
            points=[m.point for over in undecided.values() for m, _ in over],
        )
    each = ", ".join(f"{f} in {n} of {len(counted[f])}" for f, n in measured.items())
    return passed(LIMITS, f"Counted runs that measured what [accept] limits: {each}")


def stop_rules_stand(analysis: Analysis) -> Verdict | None:
    """Every limit of a stop rule that the pilot crossed: was it crossed by figures that decide?"""
    rules: list[StopLimits] = list(analysis.study.get("stop") or ())
    if not rules:
        return None
    detail = [
        sentence
        for m, on_time in zip(analysis.runs, analysis.on_time.runs, strict=True)
        if m.run.block == 0 and not m.run.confirms
        for rule in rules
        if all(m.figures.get(f, float("-inf")) > limit for f, limit in rule["above"].items())
        for sentence in crossed_in_doubt(analysis, m, on_time, rule)
    ]
    if detail:
        return noted(STOP_RULES, "; ".join(detail))
    return passed(STOP_RULES, "No limit of a stop rule was crossed by a figure that is invalid")


def crossed_in_doubt(analysis: Analysis, m: Measured, on_time: Measured, rule: StopLimits) -> list[str]:
    objections = [above(m, on_time, figure, limit) for figure, limit in rule["above"].items()]
    doubts = [o.why for o in objections if o is not None and not o.stands]
    if not doubts:
        return []
    along, here = rule["along"], dict(m.point)
    larger = [
        a
        for a in analysis.record.absent
        if a.why == "stopped"
        and a.point.get(along, here[along]) > here[along]
        and all(a.point.get(name) == value for name, value in here.items() if name != along)
    ]
    what = (
        f"{counted(len(larger), 'larger value')} stopped by it, not shown to be beyond the limit"
        if larger
        else "no larger value was stopped"
    )
    return [f"{say(m.point)}: {doubts[0]}; {what}"]


ANSWERED = "answer measured"


def answer_measured(analysis: Analysis) -> Verdict | None:
    """A study that asks for a figure which none of its runs has ends without an answer, however right the runs are."""
    asked = (analysis.study.get("answer") or {}).get("of")
    counted = [m for m in analysis.runs if m.counts]
    if asked is None or not counted:
        return None
    measured = sum(asked in m.figures for m in counted)
    if measured:
        return passed(ANSWERED, f"{measured} of {len(counted)} counted runs measured {asked}")
    step = str(asked).partition(".")[0]
    reasons = dict.fromkeys(
        f"{m.run.engine}: {step} is left out: {reason}"
        for m in counted
        if (reason := m.run.labels.get("steps_left_out", {}).get(step))
    )
    why = f" ({'; '.join(reasons)})" if reasons else ""
    return invalid(
        ANSWERED,
        f"No counted run measured {asked}, which the answer is about{why}. Name a figure that the steps or roles of the study "
        "have in answer.of, or engines that can measure it",
        figures=(),
    )


GUARDS = (
    StudyGuard(About.ANSWER, ANSWERED, answer_measured, "Nothing was asked, or nothing has run"),
    StudyGuard(About.ANSWER, DECISIONS, decisions_hold, "No figure of a decision has a bracket"),
    StudyGuard(About.ANSWER, LIMITS, limits_checked, "The study accepts without limits"),
    StudyGuard(About.ANSWER, STOP_RULES, stop_rules_stand, "The study has no stop rule"),
)
