"""What happened in each interval of a segment: calls that succeeded or failed, and how long they took. Pure."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
import pyarrow.compute as pc

from inrush.stats.record import FloatArray, RunRecord

#: A rate is of so many intervals at least.
LEAST_INTERVALS = 3

Counted = TypeVar("Counted", bound=Hashable)


@dataclass(frozen=True)
class Course:
    """Intervals in time order; arrays of one length."""

    t_ns: FloatArray
    dt_ns: FloatArray
    ok: FloatArray
    errors: FloatArray
    #: Latency of the calls that ended well in it, the longest and all together; 0 without any.
    longest_ns: FloatArray
    spent_ns: FloatArray

    @property
    def mean_ns(self) -> FloatArray:
        """Latency; infinite where nothing was answered."""
        return np.divide(self.spent_ns, self.ok, out=np.full_like(self.ok, np.inf), where=self.ok > 0)

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
        # What stood still at the end goes on in the first interval with calls.
        after = np.flatnonzero((self.t_ns >= end_ns) & (self.ok + self.errors > 0))[:1]
        seen = np.concatenate([np.flatnonzero(there), after])
        longest, empty = 0.0, 0.0
        for t_ns, dt_ns, ok in zip(self.t_ns[there], self.dt_ns[there], self.ok[there], strict=True):
            empty = 0.0 if ok else empty + min(t_ns + dt_ns, end_ns) - max(t_ns, begin_ns)
            longest = max(longest, empty)
        most = min(longest + 2 * float(self.dt_ns[there].max()), end_ns - begin_ns)
        # A call that failed has waited for an answer that never came.
        known = self.longest_ns[seen].max() > 0 and not self.errors[seen].any()
        return min(most, float(self.longest_ns[seen].max())) if known else most


def courses_of(
    run: RunRecord,
    segment: int,
    calls: Mapping[tuple[str, str], Counted],
    kind: str = "latency",
    from_ns: int = 0,
) -> dict[Counted, Course]:
    """calls: (role, operation) -> what they are counted in. kind: of latency. from_ns: intervals that begin earlier are left out."""
    cells: dict[Counted, dict[int, list[float]]] = {of: {} for of in calls.values()}

    def looked_at(name: str, columns: list[str]) -> list[dict[str, Any]]:
        table = run.tables.get(name)
        if table is None or not calls:
            return []
        # Tables of a long run are hundreds of MB: only rows that are asked for become Python's.
        wanted = pc.and_(pc.equal(table["segment"], segment), pc.greater_equal(table["t_ns"], from_ns))
        if "kind" in table.column_names:
            wanted = pc.and_(wanted, pc.equal(table["kind"], kind))
        found = table.select(["role", "op", "t_ns", *columns]).filter(wanted).to_pylist()
        return [row for row in found if (row["role"], row["op"]) in calls]

    for row in looked_at("intervals", ["dt_ns", "ops", "errors"]):
        cell = cells[calls[row["role"], row["op"]]].setdefault(row["t_ns"], [0.0] * 5)
        cell[0] = max(cell[0], row["dt_ns"])
        cell[1] += row["ops"] - row["errors"]
        cell[2] += row["errors"]
    for row in looked_at("hist", ["max_ns", "sum_ns"]):
        cell = cells[calls[row["role"], row["op"]]].get(row["t_ns"], [0.0] * 5)
        cell[3] = max(cell[3], row["max_ns"])
        cell[4] += row["sum_ns"]
    return {
        of: Course(*np.array([(t, *at[t]) for t in sorted(at)], np.float64).reshape(-1, 6).T)
        for of, at in cells.items()
    }
