"""A statement that ran beside roles: how long it took, and what it cost each of them. Pure.

`statement_s`       from when it was sent until it had ended
`stall_s`           of a role: the longest time without a completed call while the statement ran. It is known from intervals to
                    two of them, and is never more than the longest latency of the calls that ended meanwhile or next: of a
                    role that stood still as a whole, that is the stall itself
`before_ops_per_s`  calls that succeeded, in the whole intervals before the statement
`kept_rate`        the same rate in the whole intervals while it ran, as a share of the one before

A statement that failed, or that went on when a role had ended, has none of them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from inrush.border.pipeline import roles_of
from inrush.border.plan import RolePlan
from inrush.border.tables import IntervalRow
from inrush.stats.measures import scheduled_operations, whole
from inrush.stats.record import FloatArray, RunRecord
from inrush.study.step_kinds import Alter

#: A rate is of so many intervals at least.
LEAST_INTERVALS = 3


@dataclass(frozen=True)
class Alteration:
    """A statement, and the roles that worked while it ran."""

    #: Its own role, of one call: the step's name.
    role: str
    #: When the roles began, when it was sent, and when it had ended, ns.
    start_ns: int
    begin_ns: int
    end_ns: int
    #: Why it did not succeed, by the server's words; empty: it did.
    failure: str
    #: Role (the whole) -> when the first of its parts ended, ns.
    ends_ns: Mapping[str, float]

    @property
    def left_by(self) -> list[str]:
        """Roles that ended before it."""
        return [role for role, end_ns in self.ends_ns.items() if end_ns < self.end_ns]


@dataclass(frozen=True)
class Course:
    """What a role did in the intervals of a step, in time order."""

    t_ns: FloatArray
    dt_ns: FloatArray
    ok: FloatArray
    errors: FloatArray
    #: The longest latency of the calls that ended well in it; 0 without any.
    latency_ns: FloatArray

    def rate_per_s(self, begin_ns: float, end_ns: float) -> float | None:
        """Of calls that succeeded, over the whole intervals; None of few."""
        within = (self.t_ns >= begin_ns) & (self.t_ns + self.dt_ns <= end_ns)
        if np.count_nonzero(within) < LEAST_INTERVALS:
            return None
        return float(self.ok[within].sum() / self.dt_ns[within].sum() * 1e9)

    def stall_ns(self, begin_ns: float, end_ns: float) -> float:
        """The longest time without a call that succeeded, and no less than it was; between begin and end."""
        there = (self.t_ns < end_ns) & (self.t_ns + self.dt_ns > begin_ns)
        if not there.any():
            return end_ns - begin_ns
        # What stood still when the statement ended goes on in the first interval with calls.
        after = np.flatnonzero((self.t_ns >= end_ns) & (self.ok + self.errors > 0))[:1]
        seen = np.concatenate([np.flatnonzero(there), after])
        longest, empty = 0.0, 0.0
        for t_ns, dt_ns, ok in zip(self.t_ns[there], self.dt_ns[there], self.ok[there], strict=True):
            empty = 0.0 if ok else empty + min(t_ns + dt_ns, end_ns) - max(t_ns, begin_ns)
            longest = max(longest, empty)
        most = min(longest + 2 * float(self.dt_ns[there].max()), end_ns - begin_ns)
        # A call that failed has waited for an answer that never came.
        known = self.latency_ns[seen].max() > 0 and not self.errors[seen].any()
        return min(most, float(self.latency_ns[seen].max())) if known else most


def beside_of(run: RunRecord) -> Alteration | None:
    """None of a run, or a step of one, without such a statement, and where it never came to it."""
    kinds, totals = run.labels.get("steps", {}), {r["role"]: r for r in run.rows("repetitions")}
    # The statement is the call of a role with the step's name.
    working = {
        role["name"]: roles for s in run.plan.get("segments", ()) for roles in [roles_of(s)] for role in roles
    }
    name = next((role for role in working if kinds.get(role) == Alter.do and role in totals), "")
    if not name:
        return None
    own, others = totals[name], [role for role in working[name] if role["name"] != name]
    failed = [f for f in run.rows("failures") if f["role"] == name]
    failure = "; ".join(f["first_message"] or f["outcome"] for f in failed)
    if not own["ok"] and not failure:
        failure = "it was never sent"
    ends_ns: dict[str, float] = {}
    for role in others:
        if (ended := totals.get(role["name"])) is not None:
            of, end_ns = whole(role["name"]), end_of(role, own["start_ns"], ended["end_ns"])
            ends_ns[of] = min(end_ns, ends_ns.get(of, end_ns))
    took_ns = course_of(run, name).latency_ns.max(initial=0.0)
    return Alteration(name, own["start_ns"], own["end_ns"] - int(took_ns), own["end_ns"], failure, ends_ns)


def end_of(role: RolePlan, start_ns: int, last_done_ns: int) -> float:
    """A role with an end in time works until then, whenever its last call was."""
    until = role["until"]
    return max(start_ns + until["ns"], last_done_ns) if until["kind"] == "time" else last_done_ns


def beside_figures(run: RunRecord) -> dict[str, float]:
    found = beside_of(run)
    if found is None or found.failure or found.left_by:
        return {}
    figures = {f"{found.role}.statement_s": (found.end_ns - found.begin_ns) / 1e9}
    for role in found.ends_ns:
        course = course_of(run, role)
        figures[f"{role}.stall_s"] = stall_s(course, found)
        before = course.rate_per_s(found.start_ns, found.begin_ns)
        if before is None or before <= 0:
            continue
        figures[f"{role}.before_ops_per_s"] = before
        beside = course.rate_per_s(found.begin_ns, found.end_ns)
        if beside is not None:
            figures[f"{role}.kept_rate"] = beside / before
    return figures


FIGURES = (beside_figures,)


def stall_s(course: Course, found: Alteration) -> float:
    return course.stall_ns(found.begin_ns, found.end_ns) / 1e9


def course_of(run: RunRecord, role: str, kind: str = "latency") -> Course:
    """Of a role with all its parts; members of a page do not count beside it. kind: `on_time` as if the client had been so."""
    operations = {of: names for of, names in scheduled_operations(run.plan).items() if whole(of) == role}
    rows = [r for r in run.rows("intervals") if r["op"] in operations.get(r["role"], ())]
    latency: dict[int, float] = {}
    if (held := run.tables.get("hist")) is not None:
        for h in held.select(["role", "op", "kind", "t_ns", "max_ns"]).to_pylist():
            if h["kind"] == kind and h["op"] in operations.get(h["role"], ()):
                latency[h["t_ns"]] = max(latency.get(h["t_ns"], 0.0), float(h["max_ns"]))
    times = sorted({r["t_ns"] for r in rows})
    return Course(
        np.array(times, np.float64),
        np.array([max(r["dt_ns"] for r in at) for at in by_time(rows, times)], np.float64),
        np.array([sum(r["ops"] - r["errors"] for r in at) for at in by_time(rows, times)], np.float64),
        np.array([sum(r["errors"] for r in at) for at in by_time(rows, times)], np.float64),
        np.array([latency.get(t_ns, 0.0) for t_ns in times]),
    )


def by_time(rows: Sequence[IntervalRow], times: Sequence[int]) -> list[list[IntervalRow]]:
    found: dict[int, list[IntervalRow]] = {t_ns: [] for t_ns in times}
    for row in rows:
        found[row["t_ns"]].append(row)
    return list(found.values())
