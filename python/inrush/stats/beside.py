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

from collections.abc import Mapping
from dataclasses import dataclass

from inrush.border.pipeline import roles_of
from inrush.border.plan import RolePlan
from inrush.stats.course import Course, courses_of
from inrush.stats.measures import scheduled_operations, whole
from inrush.stats.record import RunRecord
from inrush.study.step_kinds import Alter


@dataclass(frozen=True)
class Alteration:
    """A statement, and the roles that worked while it ran."""

    #: Its own role, of one call: the step's name.
    role: str
    segment: int
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
    took_ns = course_of(run, own["segment"], name).longest_ns.max(initial=0.0)
    begin_ns = own["end_ns"] - int(took_ns)
    return Alteration(name, own["segment"], own["start_ns"], begin_ns, own["end_ns"], failure, ends_ns)


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
        course = course_of(run, found.segment, role)
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


def course_of(run: RunRecord, segment: int, role: str, kind: str = "latency") -> Course:
    """Of a role with all its parts; members of a page do not count beside it. kind: `on_time` as if the client had been so."""
    scheduled = scheduled_operations(run.plan)
    calls = {(of, name): role for of, names in scheduled.items() if whole(of) == role for name in names}
    return courses_of(run, segment, calls, kind)[role]
