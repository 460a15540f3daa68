"""Which run is drawn over time, and series of it, thinned to what a chart can show. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import inf
from typing import Any

import numpy as np

from inrush.analysis.points import Analysis, Measured, Point
from inrush.stats.hosts import hosts_of, on
from inrush.stats.measures import grouped, measured_windows
from inrush.stats.rates import no_faster, steps, worked
from inrush.stats.record import FloatArray, RunRecord
from inrush.stats.watched import cumulative
from inrush.study.files import INPUT

MOST_POINTS, MOST_RUNS = 240, 4
#: So few calls a second have no course over time.
FEW_PER_S = 2.0
#: Panels of what roles did.
THROUGHPUT = ("rows/s", "calls/s")
#: Looks at a counter that a step of its rate spans: CPU is counted in ticks, and two looks lie side by side.
LOOKS = 5


Rows = list[dict[str, Any]]
#: Begin and end, s of the run.
Span = tuple[float, float]


@dataclass(frozen=True)
class Panel:
    title: str
    rows: list[dict[str, Any]]
    #: Names of lines that are summed in one.
    others: tuple[str, ...] = ()

    @property
    def large(self) -> bool:
        """Figures that are shown in thousands."""
        return any(r["y"] >= 1000 for r in self.rows)


def typical_runs(analysis: Analysis, figure: str, points: Sequence[Point]) -> list[Measured]:
    """Per engine, the run at its shown point that lies nearest the median."""
    found: dict[str, Measured] = {}
    for point in points:
        runs = [m for m in analysis.runs if m.counts and m.point == point and figure in m.figures]
        if not runs:
            continue
        median = float(np.median([m.figures[figure] for m in runs]))
        found.setdefault(runs[0].run.engine, min(runs, key=lambda m: abs(m.figures[figure] - median)))
    return list(found.values())[:MOST_RUNS]


def drawn_panels(panels: Sequence[Panel], run: RunRecord) -> list[Panel]:
    """Panels without roles of few calls, and without panels of a single moment: neither has a course over time."""
    few = sparse_roles(run)
    kept = [
        replace(p, rows=[r for r in p.rows if r["series"] not in few] if p.title in THROUGHPUT else p.rows)
        for p in panels
    ]
    return [p for p in kept if len({r["t"] for r in p.rows}) > 1]


def sparse_roles(run: RunRecord) -> set[str]:
    """Roles that made at most FEW_PER_S calls a second of the time that they worked."""
    windows = measured_windows(run)
    repetitions = grouped(s for s in run.rows("repetitions") if s["segment"] in windows)
    calls = {role: sum(s["ops"] for s in mine) for role, mine in repetitions.items()}
    worked_s = {
        role: sum(end - start for start, end in of.values()) / 1e9 for role, of in worked(run).items()
    }
    return {role for role, s in worked_s.items() if calls[role] <= FEW_PER_S * s}


def until_the_end(begins: FloatArray, ends: FloatArray, last_s: Sequence[float]) -> FloatArray:
    """Ends of steps; of each repetition's last whole one the end of its work. The role did not pause in what was cut.

    last_s: ends of the work of each repetition.
    """
    drawn: FloatArray = ends.copy()
    for last in last_s:
        before = np.flatnonzero(begins < last)
        if len(before):
            drawn[before[-1]] = max(ends[before[-1]], last)
    return drawn


def with_pauses(t: FloatArray, dt: FloatArray, y: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Steps that fall to zero where an interval ends and the next has not begun, and at the end."""
    ends = t + dt
    pause = (
        np.append(t[1:] - ends[:-1] > 1e-3 * np.maximum(dt[:-1], 1e-9), True)
        if len(t)
        else np.zeros(0, np.bool_)
    )
    times, rates = np.concatenate([t, ends[pause]]), np.concatenate([y, np.zeros(int(pause.sum()))])
    order = np.argsort(times, kind="stable")
    return times[order], rates[order]


def every_device(run: RunRecord, metric: str) -> Mapping[str, tuple[FloatArray, FloatArray]]:
    """Series name -> cumulative series. Roles by name; devices of the host by theirs, idle ones left out.

    A device below input files that have a folder of their own is named so.
    """
    if metric == "cpu_s":
        return cumulative(run, metric)
    table = run.tables.get("resources")
    if table is None:
        return {}
    pairs = zip(table.column("metric").to_pylist(), table.column("device").to_pylist(), strict=True)
    devices = dict.fromkeys(d for m, d in pairs if m == metric and d != "lo")
    each = {d: cumulative(run, metric, d) for d in devices}
    hosts = hosts_of(run)
    held = {f"{d}{on(host)}": of.get(host.role) for host in hosts for d, of in each.items()}
    roles = {host.role for host in hosts}
    held |= {f"{INPUT} {d}": of[INPUT] for d, of in each.items() if INPUT in of and not roles & of.keys()}
    return {d: s for d, s in held.items() if s is not None and s[1][-1] - s[1][0] > 1e5}


def slopes(
    t_s: FloatArray, value: FloatArray, series: str, start_s: float, end_s: float, most_per_s: float = inf
) -> list[dict[str, Any]]:
    """A cumulative series as a rate, inside the measured time. most_per_s: no counter of this kind grows faster."""
    if len(t_s) < 2:
        return []
    begin_s, until_s = max(start_s, float(t_s[0])), min(end_s, float(t_s[-1]))
    width_s = max(LOOKS * float(np.median(np.diff(t_s))), (until_s - begin_s) / MOST_POINTS)
    spent = no_faster(t_s, value, most_per_s) if np.isfinite(most_per_s) else value
    t, dt, grown = steps(t_s, spent, begin_s, until_s, width_s)
    if not len(t):
        return []
    # The last rate holds until its step ends.
    return thinned(np.append(t, t[-1] + dt[-1]) - start_s, np.append(grown / dt, grown[-1] / dt[-1]), series)


def thinned(t: FloatArray, y: FloatArray, series: str) -> list[dict[str, Any]]:
    """At most MOST_POINTS rows: means over equal numbers of samples."""
    step = -(-len(t) // MOST_POINTS)
    edges = np.arange(0, len(t), max(1, step))
    means = np.add.reduceat(y, edges) / np.diff(np.append(edges, len(t)))
    return [
        {"t": round(float(a), 4), "y": float(b), "series": series}
        for a, b in zip(t[edges], means, strict=True)
    ]
