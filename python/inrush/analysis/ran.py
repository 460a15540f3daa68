"""What ran: the rate that was due, sessions and rows of the runs themselves, not what a study's file asks at full size. Pure."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from inrush.analysis.points import Analysis, Measured, Point
from inrush.border.pipeline import clients_of, each_role
from inrush.stats.measures import whole, writing_roles
from inrush.stats.record import RunRecord
from inrush.text import counted


@dataclass(frozen=True)
class Due:
    """What was due of a writing role, all its tables together."""

    rows_per_s: float
    #: Between two samples; None where every call is due by itself.
    every_s: float | None


def due(run: RunRecord, role: str) -> Due | None:
    """None for a closed role, and for one that writes no rows."""
    rates: list[float] = []
    every: set[float | None] = set()
    for part in measured_roles(run, role):
        how, work = part["schedule"], part.get("work", {})
        batch_rows = work.get("batch_rows")
        if how["kind"] == "closed" or not batch_rows:
            return None
        if how["kind"] == "samples":
            rates.append(batch_rows * how["parts"] / (how["every_ns"] / 1e9))
            every.add(how["every_ns"] / 1e9)
        else:
            rates.append(batch_rows * how["rate_per_s"])
            every.add(None)
    return Due(sum(rates), every.pop() if len(every) == 1 else None) if rates else None


def sessions(run: RunRecord, roles: Collection[str]) -> dict[str, int]:
    """Closed role of these -> its sessions, those of all its parts."""
    counts: dict[str, int] = {}
    for part in measured_roles(run):
        if part["name"] in roles and part["schedule"]["kind"] == "closed":
            counts[whole(part["name"])] = counts.get(whole(part["name"]), 0) + part["sessions"]
    return counts


def measured_roles(run: RunRecord, role: str | None = None) -> Iterator[Mapping[str, Any]]:
    """Roles of the measured segments, as planned: all, or those that are this role or a part of it. With the sessions of
    all client processes."""
    clients = clients_of(run.plan)
    for _, part in each_role(run.plan, "measure"):
        if role is None or role in (part["name"], whole(part["name"])):
            yield part if clients == 1 else {**part, "sessions": part["sessions"] * clients}


def ran_said(analysis: Analysis) -> str:
    """`at scale s: writers: 4 sessions, 20,000 rows/s due, 200,000 rows; readers: 0 to 4 sessions; 9 points, 3 runs each`.

    Over all counted runs; empty where there are none.
    """
    runs = [m for m in analysis.runs if m.counts]
    if not runs:
        return ""
    roles = dict.fromkeys(whole(part["name"]) for m in runs for part in measured_roles(m.run))
    alike: dict[str, list[str]] = {}
    for role in roles:
        alike.setdefault(", ".join(role_words(runs, role)), []).append(role)
    each = [f"{few(names)}: {words}{' each' * (len(names) > 1)}" for words, names in alike.items()]
    scale = analysis.study.get("scale")
    return (f"at scale {scale}: " if scale else "") + "; ".join([*each, runs_words(runs)])


def few(names: Sequence[str]) -> str:
    """`a, b, c`; of more than four the first two: `a, b and 9 others`"""
    return ", ".join(names) if len(names) <= 4 else f"{', '.join(names[:2])} and {len(names) - 2} others"


def role_words(runs: Sequence[Measured], role: str) -> list[str]:
    """Of one role over all runs: a run without it has no session of it."""
    planned = [list(measured_roles(m.run, role)) for m in runs]
    held = span([sum(part["sessions"] for part in parts) for parts in planned])
    writes = [m for m in runs if role in writing_roles(m.run.plan)]
    rates = [d.rows_per_s for m in writes if (d := due(m.run, role)) is not None]
    rows = [m.figures[f"{role}.rows"] / n for m in writes if (n := m.figures.get(f"{role}.repetitions"))]
    calls = [call_rate(parts) for parts in planned if parts and not writes]
    return [
        f"{held} session{'s' * (held != '1')}",
        *([f"{span(rates)} rows/s due"] if rates else []),
        *([f"{span(rows)} rows"] if rows else []),
        *([f"{span(calls)} calls/s due"] if any(calls) else []),
    ]


def call_rate(parts: Sequence[Mapping[str, Any]]) -> float:
    """Calls a second that were due of all parts of a role; 0 of a closed one."""
    return sum(float(part["schedule"].get("rate_per_s", 0.0)) for part in parts)


def runs_words(runs: Sequence[Measured]) -> str:
    held: dict[Point, int] = {}
    for m in runs:
        held[m.point] = held.get(m.point, 0) + 1
    each = span(list(held.values()))
    return f"{counted(len(held), 'point')}, {each} run{'s' * (each != '1')}{' each' * (len(held) > 1)}"


def span(values: Sequence[float]) -> str:
    """`4`, `0 to 16`, `0.4`"""
    low, high = (spelled(f(values)) for f in (min, max))
    return low if low == high else f"{low} to {high}"


def spelled(value: float) -> str:
    """A count whole, and so a large rate; of a small one what makes it another."""
    return f"{value:,.0f}" if value >= 100 or value == round(value) else f"{value:.3g}"
