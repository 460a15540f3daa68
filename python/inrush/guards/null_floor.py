"""Is the rate of an engine far from that of the client alone, where the study also ran null engines? Pure."""

from __future__ import annotations

from statistics import median

from inrush.analysis.comparability import (
    without_engine,
)
from inrush.analysis.points import Analysis, Point, roles, say
from inrush.analysis.run_facts import is_instrument, lives_in_client
from inrush.analysis.verdicts import Verdict, invalid, passed
from inrush.guards.guard import About, StudyGuard
from inrush.metrics import slowed_alike
from inrush.stats.measures import writing_roles
from inrush.text import counted, percent

NULL_SHARE = 0.7  # of the rate that the null engine reached on the same plan


def far_from_the_null_floor(analysis: Analysis) -> Verdict | None:
    """Where the study also ran null engines: rates against what the client alone reached.

    An engine in our process takes columns as they are, so bare `null` is its floor; a server is sent what an
    encoder wrote, so the slowest is.
    """
    writers = {role for m in analysis.runs for role in writing_roles(m.run.plan)}
    rates = {role: analysis.values(f"{role}.rows_per_s") for role in roles(analysis) if role in writers}
    near, compared = [], 0
    for role, of in rates.items():
        floors: dict[Point, list[float]] = {}
        for point, values in of.items():
            if is_instrument(engine_of(point)) and values:
                floors.setdefault(without_engine(point), []).append(max(values.values()))
        for point, values in of.items():
            if without_engine(point) not in floors or is_instrument(engine_of(point)):
                continue
            compared += 1
            fitting = max if lives_in_client(engine_of(point)) else min
            share = median(values.values()) / fitting(floors[without_engine(point)])
            if share > NULL_SHARE:
                near.append((role, point, share))
    if near:
        role, point, share = max(near, key=lambda one: one[2])
        return invalid(
            "client is not the bottleneck",
            f"{role} at {say(point)}: {percent(share)} of what the null engine takes in (limit {percent(NULL_SHARE)}): the client sets this figure. "
            "More client cores, or a cheaper method",
            figures=[f"{role}.{metric}" for role, _, _ in near for metric in slowed_alike("rate", "work")],
            points=[point for _, point, _ in near],
        )
    return (
        passed(
            "client is not the bottleneck",
            f"None of {counted(compared, 'rate')} is above {percent(NULL_SHARE)} of the null engine's",
        )
        if compared
        else None
    )


def engine_of(point: Point) -> str:
    return str(dict(point)["engine"])


GUARDS = (
    StudyGuard(
        About.ENGINES,
        "client is not the bottleneck",
        far_from_the_null_floor,
        "The null engine did not run the same plan",
    ),
)
