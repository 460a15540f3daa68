"""Waves that several runs of a point agree on, what causes them, and where they are gone. Pure.

One run alone may swing by chance: that is its own note.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

from inrush.analysis.points import Analysis, Point, headline, say, say_value
from inrush.stats import series
from inrush.stats.waves import RoleWave
from inrush.text import counted, percent

#: Of the runs of a point that were looked at, so many have the same period, and never fewer than AGREEING.
SHARE, AGREEING = 2 / 3, 2
#: Points that the first sentence speaks of; the guard names all.
MOST_SAID = 2
#: How the name of a cause begins that is another role.
CALLS_OF = "calls of "


@dataclass(frozen=True)
class PointWave:
    """A wave of a role at a point."""

    point: Point
    role: str
    agreed: Sequence[RoleWave]
    #: Runs that were looked at.
    looked: int

    @property
    def period_s(self) -> float:
        return median(w.period_s for w in self.agreed)

    @property
    def amplitude(self) -> float:
        return median(w.wave.amplitude for w in self.agreed)

    @property
    def cause(self) -> tuple[str, int]:
        """The cause that most of the runs name, and how many do; an empty name where none was found."""
        named = Counter(w.causes[0].name for w in self.agreed if w.causes)
        return named.most_common(1)[0] if named else ("", 0)


@dataclass(frozen=True)
class Cure:
    """A value of one factor at which the same role has no wave, all else equal."""

    factor: str
    value: object
    #: What would have been seen there.
    visible: float
    #: The cause is a role that is not there.
    without_cause: bool


def point_waves(analysis: Analysis) -> list[PointWave]:
    found = [
        point_wave(point, role, runs)
        for point, roles in analysis.waves.items()
        for role, runs in roles.items()
    ]
    return [w for w in found if w is not None]


def point_wave(point: Point, role: str, runs: Sequence[RoleWave]) -> PointWave | None:
    """runs: those of the point that were looked at."""
    agreed = agreement(runs)
    return PointWave(point, role, agreed, len(runs)) if agreed else None


def claimed_points(analysis: Analysis) -> list[Point]:
    """Points with a wave that their runs agree on."""
    return list(dict.fromkeys(w.point for w in point_waves(analysis)))


def agreement(runs: Sequence[RoleWave]) -> list[RoleWave]:
    """The waves of the largest group of runs with one period; empty where it is too small for a claim."""
    likely = [w for w in runs if w.likely]
    groups = [[w for w in likely if w.same_period(of)] for of in likely]
    best = max(groups, key=len, default=[])
    return best if len(best) >= AGREEING and len(best) >= SHARE * len(runs) else []


def cures(analysis: Analysis, wave: PointWave) -> list[Cure]:
    """Of each factor by itself. No run there has a wave of this period, and one half as large would have been seen."""
    found, here = [], dict(wave.point)
    for point, roles in analysis.waves.items():
        there = dict(point)
        differs = [name for name in here if there.get(name) != here[name]]
        runs = roles.get(wave.role, ())
        if len(differs) != 1 or "engine" in differs or len(runs) < AGREEING:
            continue
        if agreement(runs) or any(w.claimed and w.same_period(wave.agreed[0]) for w in runs):
            continue
        seen = [series.least_amplitude(w.of.rate, wave.period_s / w.of.dt_s) for w in runs]
        visible = max((a for a in seen if a is not None), default=1.0)
        if None not in seen and visible <= wave.amplitude / 2:
            gone = wave.cause[0].removeprefix(CALLS_OF)
            without = wave.cause[0].startswith(CALLS_OF) and not has_role(analysis, point, gone)
            found.append(Cure(differs[0], there[differs[0]], visible, without))
    return found


def has_role(analysis: Analysis, point: Point, role: str) -> bool:
    return any(f"{role}.ops" in m.figures for m in analysis.runs if m.point == point)


def said(wave: PointWave) -> str:
    cause, runs = wave.cause
    named = f"in the rhythm of {cause} ({counted(runs, 'run')})" if cause else "no cause found"
    return (
        f"{wave.role}: throughput swings by ±{percent(wave.amplitude)} every {wave.period_s:.3g} s in {len(wave.agreed)} of "
        f"{wave.looked} runs, {named}"
    )


def cures_said(wave: PointWave, found: Sequence[Cure]) -> str:
    if not found:
        return ""
    if all(c.without_cause for c in found):
        where = "without them"
    else:
        where = f"at {' and '.join(say_value(c.factor, c.value) for c in found)}"
    return (
        f"; {where} there is no wave (one of ±{percent(max(c.visible for c in found))} would have been seen)"
    )


def waves_said(analysis: Analysis) -> str:
    """What the first sentence says of waves in the throughput of the role that was asked for. Where it has none, a study that
    expects or excludes one says so; of any other it is empty."""
    asked = headline(analysis)
    waves = [w for w in point_waves(analysis) if asked and w.role == asked.rsplit(".", 1)[0]]
    claims = [f"{say(w.point)}, {said(w)}{cures_said(w, cures(analysis, w))}." for w in waves[:MOST_SAID]]
    more = len(waves) - MOST_SAID
    if asked and not waves and is_about_waves(analysis):
        return none_said(analysis, asked.rsplit(".", 1)[0])
    return " ".join([*claims, *([f"So it does at {counted(more, 'more point')}."] if more > 0 else [])])


def none_said(analysis: Analysis, role: str) -> str:
    """Of a role without a wave that the runs of a point agree on; empty where none of them could be looked at."""
    looked = [runs[role] for runs in analysis.waves.values() if role in runs]
    alone = sum(w.claimed for runs in looked for w in runs)
    lone = f"; {counted(alone, 'run')} alone had one" if alone else ""
    return f"The throughput of {role} has no wave in two of three runs of a point{lone}." if looked else ""


def is_about_waves(analysis: Analysis) -> bool:
    return any((of.get("rule") or {}).get("kind") == "wave" for of in analysis.study.get("expected") or ())
