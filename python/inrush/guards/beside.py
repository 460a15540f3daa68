"""Did the statement of a step do its work while the roles beside it went on? Pure."""

from __future__ import annotations

from inrush.analysis.verdicts import Figures, Verdict, invalid, noted, passed
from inrush.guards.guard import About, Guard
from inrush.stats.beside import Alteration, beside_of, course_of, stall_s
from inrush.stats.brackets import WIDEST
from inrush.stats.course import LEAST_INTERVALS
from inrush.stats.quantity import show
from inrush.stats.record import RunRecord

NAME = "statement beside roles"
#: Figures of each role beside the statement.
OF_ROLE = ("stall_s", "before_ops_per_s", "kept_rate")


def statement_beside_roles(run: RunRecord, figures: Figures) -> Verdict | None:
    found = beside_of(run)
    if found is None:
        return None
    about = [f"{found.role}.statement_s", *(f"{role}.{of}" for role in found.ends_ns for of in OF_ROLE)]
    if found.failure:
        said = f"The statement failed, so nothing is known of its cost: {found.failure}"
        return invalid(NAME, said, figures=about)
    took_s = (found.end_ns - found.begin_ns) / 1e9
    if left := found.left_by:
        first_s = (min(found.ends_ns[role] for role in left) - found.begin_ns) / 1e9
        when = f"after {show(first_s, 'statement_s')}" if first_s > 0 else "when it was to begin"
        return invalid(
            NAME,
            f"The statement had not ended {when}, and {', '.join(left)} had: it took {show(took_s, 'statement_s')}. Give the roles "
            "more rows, calls or seconds",
            figures=about,
        )
    late = late_stalls(run, found, figures)
    if late:
        role, on_time_s = next(iter(late.items()))
        said = (
            f"The client itself was late: the longest stall of {role} is {show(figures[f'{role}.stall_s'], 'stall_s')}, and with a "
            f"client on time {show(on_time_s, 'stall_s')}. Lower its rate, or run nothing beside it"
        )
        return invalid(NAME, said, figures=[f"{role}.stall_s" for role in late])
    unknown = [role for role in found.ends_ns if f"{role}.kept_rate" not in figures]
    if unknown:
        return noted(
            NAME,
            f"The statement took {show(took_s, 'statement_s')}. A rate before it and beside it is of {LEAST_INTERVALS} whole intervals "
            f"at least, and {', '.join(unknown)} had no calls or fewer intervals: lower record.interval_s, or give it more rows",
        )
    return passed(NAME, f"It took {show(took_s, 'statement_s')}, and every role went on until it had ended")


def late_stalls(run: RunRecord, found: Alteration, figures: Figures) -> dict[str, float]:
    """Paced role -> its stall as if the client had been on time, of those of which that is another one."""
    late = {}
    for role in found.ends_ns:
        course = course_of(run, found.segment, role, "on_time")
        measured_s = figures.get(f"{role}.stall_s")
        if measured_s is not None and course.longest_ns.any():
            on_time_s = stall_s(course, found)
            if measured_s > WIDEST * on_time_s:
                late[role] = on_time_s
    return late


GUARDS = (Guard(About.COURSE, NAME, statement_beside_roles, "No statement runs beside roles"),)
