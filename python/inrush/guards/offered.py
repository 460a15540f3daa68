"""Is a rate or a makespan in the answer the engine's, or that of the schedule by which calls were due? Pure.

A role that keeps up with its schedule does what is due and no more: its rate is the study's, and a lower bound of the engine's.
"""

from __future__ import annotations

from inrush.analysis.answer import PACED
from inrush.analysis.lack import behind
from inrush.analysis.points import Analysis, say
from inrush.analysis.verdicts import Verdict, noted, passed
from inrush.guards.guard import About, StudyGuard
from inrush.metrics import slowed_alike
from inrush.stats.paced import paced_roles
from inrush.text import counted

NAME = "rates are the engine's"


def rates_are_the_engines(analysis: Analysis) -> Verdict | None:
    answer = analysis.study.get("answer") or {}
    figure = str(answer.get("of", ""))
    role, _, metric = figure.rpartition(".")
    # A load that is tried says itself up to which rate an engine keeps up.
    if answer.get("kind") in PACED or metric not in slowed_alike("rate", "work"):
        return None
    paced = [m for m in analysis.runs if m.enters(figure) and role in paced_roles(m.run)]
    if not paced:
        return None
    late = {
        m.point
        for m in paced
        if any(f.startswith((f"{role}.", f"{role}/")) for f in behind(m.run, m.figures))
    }
    in_time = [point for point in dict.fromkeys(m.point for m in paced) if point not in late]
    if not in_time:
        return passed(
            NAME, f"{role} fell behind its schedule at every point: its rate is what the engine did"
        )
    at = "; ".join(map(say, in_time[:3])) + (
        f"; {counted(len(in_time) - 3, 'more point')}" if len(in_time) > 3 else ""
    )
    return noted(
        NAME,
        f"At {at} {role} did all that was due in time, so {figure} is its schedule's, and the engine may do more. "
        'Raise the rate until it falls behind, ask kind = "sustained" of keeps_up, or drop the schedule',
    )


GUARDS = (
    StudyGuard(
        About.ANSWER, NAME, rates_are_the_engines, "No rate and no makespan of a paced role is asked for"
    ),
)
