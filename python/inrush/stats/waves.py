"""Waves in the throughput of a run: of which role, made by the generator or not, and what swings with them. Pure.

The generator is asked first. A paced role does what is due, so arrivals that swing make throughput swing, and the
engine has no part in it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from inrush.stats import periods, series
from inrush.stats.causes import LATENESS, WaveCause, causes, grown
from inrush.stats.measures import writing_roles
from inrush.stats.paced import paced_roles
from inrush.stats.rates import role_rates
from inrush.stats.record import FloatArray, RunRecord
from inrush.stats.role_series import counted_intervals, role_series
from inrush.stats.steps import steps_of

#: Arrivals that swing by this share of what throughput does explain it.
ARRIVED = 0.5
#: Below so many calls an interval a paced role is a comb of single calls: there is no throughput that could swing.
FEWEST_CALLS = 1.0


@dataclass(frozen=True)
class Throughput:
    """Steps of one length, and what was done in each."""

    role: str
    unit: str
    t_s: FloatArray
    dt_s: float
    rate: FloatArray
    #: Of a run with steps.
    step: str = ""

    @property
    def name(self) -> str:
        return self.role if self.step in ("", self.role) else f"{self.step}.{self.role}"


@dataclass(frozen=True)
class RoleWave:
    """The strongest period of a role's throughput; `wave.found` says whether it is one."""

    of: Throughput
    wave: series.Wave
    #: How the generator makes it, as a clause; None: it does not.
    artefact: str | None = None
    #: What swings with it, the likeliest cause first; empty: none found, or not looked for.
    causes: tuple[WaveCause, ...] = ()
    #: How many series were held against it.
    tried: int = 0

    @property
    def period_s(self) -> float:
        return self.wave.period * self.of.dt_s

    def same_period(self, other: RoleWave) -> bool:
        ratio = self.period_s / other.period_s
        return max(ratio, 1 / ratio) <= 1 + series.SAME_PERIOD

    @property
    def claimed(self) -> bool:
        """A wave, and of the engine."""
        return self.wave.found and self.artefact is None

    @property
    def likely(self) -> bool:
        """The same, if other runs have one of the same period."""
        return self.wave.likely and self.artefact is None


def waves_of_run(run: RunRecord) -> list[RoleWave]:
    """Those of each step by itself."""
    return [
        replace(w, of=replace(w.of, step=step)) for step, of in steps_of(run).items() for w in role_waves(of)
    ]


def role_waves(run: RunRecord) -> list[RoleWave]:
    """Of every role with a series that is long enough; the longest repetition, if there are several."""
    return [found for of in throughputs(run) if (found := judged(run, of)) is not None]


def throughputs(run: RunRecord) -> list[Throughput]:
    writers, found = writing_roles(run.plan), []
    paced = paced_roles(run)
    for role, steps in role_rates(run).items():
        if not len(steps.t_s):
            continue
        numbers, counts = np.unique(steps.repetition, return_counts=True)
        steps = steps.only(steps.repetition == numbers[counts.argmax()])
        if role in paced and steps.ops.mean() < FEWEST_CALLS:
            continue
        unit, amount = (
            ("rows/s", steps.rows) if role in writers and steps.rows.any() else ("calls/s", steps.ops)
        )
        if len(steps.t_s) >= series.LEAST_VALUES:
            found.append(Throughput(role, unit, steps.t_s, float(np.median(steps.dt_s)), amount / steps.dt_s))
    return found


def judged(run: RunRecord, of: Throughput) -> RoleWave | None:
    wave = series.wave(of.rate)
    if wave is None or not wave.likely:
        return None if wave is None else RoleWave(of, wave)
    if (artefact := arrivals_swing(run, of, wave)) is not None:
        return RoleWave(of, wave, artefact)
    found, tried = causes(run, of.role, of.t_s, of.dt_s, of.rate, wave.period)
    if found and found[0].kind == LATENESS:
        return RoleWave(of, wave, "the client was late in the same rhythm", found, tried)
    return RoleWave(of, wave, None, found, tried)


def arrivals_swing(run: RunRecord, of: Throughput, wave: series.Wave) -> str | None:
    """Whether what was due has the same wave: a clause, or None. Of a closed role nothing is due: it sends as it is served."""
    if of.role not in paced_roles(run):
        return None
    due = arrivals(run, of)
    if not len(due) or due.mean() <= 0:
        return None
    cycles = len(due) / wave.period
    swing = periods.amplitude_at(periods.level(due)[0], cycles) / float(due.mean())
    does = periods.amplitude_at(periods.level(of.rate)[0], cycles) / float(of.rate.mean())
    return "its calls were due in the same rhythm" if swing >= ARRIVED * does else None


def arrivals(run: RunRecord, of: Throughput) -> FloatArray:
    """Calls of a role that became due in each of its steps: those that ended, and by how many more waited or were under way."""
    ended = role_series(run)[of.role]
    waiting: dict[float, float] = {}
    for role, row in counted_intervals(run):
        if role == of.role:
            begin_s = row["t_ns"] / 1e9
            waiting[begin_s] = waiting.get(begin_s, 0.0) + row["in_flight"] + row["backlog"]
    total = np.cumsum(ended.ops) + np.array([waiting.get(t, 0.0) for t in ended.t_s.tolist()])
    edges = np.append(of.t_s, of.t_s[-1] + of.dt_s)
    return grown(edges, ended.t_s + ended.dt_s, total)
