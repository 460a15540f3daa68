"""The time of a run's sessions, and what their threads did in it, by role. Pure."""

from __future__ import annotations

from dataclasses import dataclass

from inrush.stats.gaps import gaps_of, worked_ns
from inrush.stats.measures import measured_windows, whole
from inrush.stats.record import RunRecord


@dataclass(frozen=True)
class SessionTime:
    """Of all threads together, ns."""

    #: What they had, without gaps of the run.
    had: float = 0.0
    computed: int = 0
    #: Ready to run, and waited for a processor; None where the kernel does not count it.
    queued: int | None = 0

    def __add__(self, other: SessionTime) -> SessionTime:
        known = self.queued is not None and other.queued is not None
        return SessionTime(
            self.had + other.had,
            self.computed + other.computed,
            (self.queued or 0) + (other.queued or 0) if known else None,
        )


def session_time(run: RunRecord) -> dict[str, SessionTime]:
    """Of each role with sessions in the measured segments. A page has none of its own: its first query's session leads it."""
    windows, idle, pages = measured_windows(run), gaps_of(run), pages_of(run)
    found: dict[str, SessionTime] = {}
    for r in run.rows("repetitions"):
        if r["segment"] in windows and r["role"] not in pages:
            had = r["sessions"] * worked_ns(r["start_ns"], r["end_ns"], idle)
            of = SessionTime(had, r["cpu_ns"], r["queued_ns"])
            found[r["role"]] = found.get(r["role"], SessionTime()) + of
    return {role: of for role, of in found.items() if of.had > 0}


def pages_of(run: RunRecord) -> set[str]:
    """Roles whose calls are pages: their queries stand beside them."""
    own = {r["role"] for r in run.rows("repetitions")}
    return {whole(role) for role in own if whole(role) != role} & own
