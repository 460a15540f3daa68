"""Waves that several runs of a point agree on. One run alone may swing by chance: that is its own note. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from statistics import median

from inrush.analysis.points import Analysis, Point, say
from inrush.guards.verdicts import Verdict, counted, noted, passed
from inrush.stats.waves import RoleWave, waves_of_run
from inrush.text import percent

NAME = "waves agree"
#: Of the runs of a point that were looked at, so many have the same period, and never fewer than AGREEING.
SHARE, AGREEING = 2 / 3, 2


def waves_agree(analysis: Analysis) -> Verdict | None:
    """A wave is claimed of a point where two of three of its runs have the same period."""
    claims, alone, looked = [], 0, 0
    for point, roles in looked_at(analysis).items():
        for runs in roles.values():
            looked += 1
            if agreed := agreement(runs):
                claims.append(f"{say(point)}, {said(agreed, len(runs))}")
            elif any(w.claimed for w in runs):
                alone += 1
    if claims:
        return noted(NAME, f"{'; '.join(claims)}. A mean of waves says nothing of another load")
    if not looked:
        return None
    lone = f"; {counted(alone, 'role')} with a wave in fewer: a note of those runs" if alone else ""
    return passed(NAME, f"No wave in two of three runs of a point{lone}")


def claimed_points(analysis: Analysis) -> list[Point]:
    """Points with a wave that their runs agree on."""
    return [point for point, roles in looked_at(analysis).items() if any(map(agreement, roles.values()))]


def looked_at(analysis: Analysis) -> dict[Point, dict[str, list[RoleWave]]]:
    """Point -> role -> what was found in each of its runs that count."""
    found: dict[Point, dict[str, list[RoleWave]]] = {}
    for m in analysis.runs:
        if m.counts:
            for w in waves_of_run(m.run):
                found.setdefault(m.point, {}).setdefault(w.of.name, []).append(w)
    return found


def agreement(runs: Sequence[RoleWave]) -> list[RoleWave]:
    """The waves of the largest group of runs with one period; empty where it is too small for a claim."""
    claimed = [w for w in runs if w.claimed]
    groups = [[w for w in claimed if w.same_period(of)] for of in claimed]
    best = max(groups, key=len, default=[])
    return best if len(best) >= AGREEING and len(best) >= SHARE * len(runs) else []


def said(agreed: Sequence[RoleWave], looked: int) -> str:
    period_s = median(w.period_s for w in agreed)
    swing = median(w.wave.amplitude for w in agreed)
    named = Counter(w.causes[0].name for w in agreed if w.causes)
    cause = (
        f"cause {named.most_common(1)[0][0]} in {named.most_common(1)[0][1]} of them"
        if named
        else "no cause found"
    )
    return (
        f"{agreed[0].of.name}: throughput swings by ±{percent(swing)} every {period_s:.3g} s in {len(agreed)} of "
        f"{looked} runs, {cause}"
    )
